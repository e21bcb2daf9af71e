package link

import "testing"

// delay holds each packet for a time; it loses those of size 0.
type delay struct {
	FIFO
	d Duration
}

func (s *delay) Put(p Packet, out Sink) {
	s.Run(p.When, out)
	if p.Size == 0 {
		out.Lose(p, Cause{Reason: Random})
		return
	}
	if p.Size == 2 {
		out.Copy(p)
	}
	p.When = p.When.Add(s.d)
	s.Push(p)
}

func (s *delay) Next() Time {
	if s.Len() == 0 {
		return Never
	}
	return s.Front().When
}

func (s *delay) Run(now Time, out Sink) {
	for s.Next() <= now {
		out.Deliver(s.Pop())
	}
}

func (s *delay) Held() (int, int)   { return s.Len(), s.Bytes() }
func (s *delay) Drain(func(Packet)) {}
func (s *delay) Adopt(Time, Packet) {}

// fates is a Sink that keeps all it is told.
type fates struct {
	got    []Fate
	copies int
}

func (f *fates) Deliver(p Packet)       { f.got = append(f.got, Fate{Packet: p}) }
func (f *fates) Lose(p Packet, c Cause) { f.got = append(f.got, Fate{p, c}) }
func (f *fates) Copy(Packet)            { f.copies++ }

// TestChain: delays of 10, 20 and 30 ns add up; a packet is inside one stage
// after the other; a loss says in which; a copy is announced through all.
func TestChain(t *testing.T) {
	a, b, c := &delay{d: 10}, &delay{d: 20}, &delay{d: 30}
	chain := NewChain(a, b, c)
	var out fates
	chain.Put(Packet{When: 100, Seq: 1, Body: Body{Size: 1}}, &out)
	chain.Put(Packet{When: 105, Seq: 2, Body: Body{Size: 2}}, &out)
	if next := chain.Next(); next != 110 {
		t.Errorf("next %d, want 110", next)
	}
	chain.Run(112, &out)
	if a.Len() != 1 || b.Len() != 1 || chain.Next() != 115 {
		t.Errorf("at 112: %d and %d inside, next %d", a.Len(), b.Len(), chain.Next())
	}
	if n, bytes := chain.Held(); n != 2 || bytes != 3 {
		t.Errorf("held %d, %d B, want 2, 3", n, bytes)
	}
	chain.Run(1000, &out)
	want := []Fate{{Packet: Packet{When: 160, Seq: 1, Body: Body{Size: 1}}}, {Packet: Packet{When: 165, Seq: 2, Body: Body{Size: 2}}}}
	if len(out.got) != 2 || out.got[0] != want[0] || out.got[1] != want[1] {
		t.Errorf("fates %+v, want %+v", out.got, want)
	}
	if out.copies != 3 || chain.Next() != Never || len(chain.Stages()) != 3 {
		t.Errorf("%d copies of 3, next %d", out.copies, chain.Next())
	}
}

// TestChainNamesTheStage: what the stage at place 1 loses has 1 in its cause.
func TestChainNamesTheStage(t *testing.T) {
	for place := range 3 {
		stages := []Stage{&delay{d: 1}, &delay{d: 1}, &delay{d: 1}}
		stages[place] = loser{}
		var out fates
		chain := NewChain(stages...)
		chain.Put(Packet{Body: Body{Size: 1}}, &out)
		chain.Run(100, &out)
		if len(out.got) != 1 || out.got[0].Cause != (Cause{Outage, uint8(place)}) || !out.got[0].Lost() {
			t.Errorf("place %d: %+v", place, out.got)
		}
	}
}

type loser struct{}

func (loser) Put(p Packet, out Sink) { out.Lose(p, Cause{Reason: Outage}) }
func (loser) Next() Time             { return Never }
func (loser) Run(Time, Sink)         {}

// TestChainTakesTheSinkOfTheCall: each call may bring another sink.
func TestChainTakesTheSinkOfTheCall(t *testing.T) {
	chain := NewChain(&delay{d: 10}, &delay{d: 10})
	var first, second fates
	chain.Put(Packet{Body: Body{Size: 1}}, &first)
	chain.Run(50, &second)
	if len(first.got) != 0 || len(second.got) != 1 {
		t.Errorf("%d fates in the sink of Put and %d in that of Run", len(first.got), len(second.got))
	}
}

func TestEmptyChain(t *testing.T) {
	var out fates
	chain := NewChain()
	chain.Put(Packet{When: 5, Body: Body{Size: 1}}, &out)
	chain.Run(10, &out)
	if len(out.got) != 1 || out.got[0].Packet.When != 5 || chain.Next() != Never {
		t.Errorf("an empty chain: %+v, next %d", out.got, chain.Next())
	}
}
