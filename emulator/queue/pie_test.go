package queue

import (
	"math"
	"testing"

	"farlink/emulator/link"
)

// TestPIEReckons follows RFC 8033 section 4.2 by hand. Alpha 0.125 and beta
// 1.25 per second; target 15 ms. From p = 0, a first update with a wait of
// 100 ms: (0.125·0.085 + 1.25·0.1)/2048 = 6.6223e-5. Again 100 ms, no
// growth: 0.125·0.085/128 more = 1.49231e-4. Again, by 32: 4.81262e-4. A fall
// to 0: (0.125·-0.015 + 1.25·-0.1)/32 < -p: 0.
func TestPIEReckons(t *testing.T) {
	d := newPIE(nil, link.NewDraw(1, "pie"))
	for i, c := range []struct{ waits, want float64 }{
		{0.1, 6.62231e-5}, {0.1, 1.492309e-4}, {0.1, 4.812622e-4}, {0, 0},
	} {
		if d.reckon(c.waits); math.Abs(d.probability-c.want) > 1e-9 {
			t.Errorf("update %d: probability %.6g, want %.6g", i, d.probability, c.want)
		}
	}
	// From 0.1 on no step is more than 0.02; in idleness a fiftieth goes.
	d.probability, d.oldDelay = 0.3, 0.1
	if d.reckon(0.5); math.Abs(d.probability-0.32) > 1e-12 {
		t.Errorf("capped: %.4g, want 0.32", d.probability)
	}
	d.probability, d.oldDelay = 0.3, 0
	if d.reckon(0); math.Abs(d.probability-(0.3-0.125*0.015)*0.98) > 1e-12 {
		t.Errorf("idle: %.6g, want %.6g", d.probability, (0.3-0.125*0.015)*0.98)
	}
}

// TestPIEBurst: nothing is signalled for the first 150 ms, nor in a queue of
// two full frames, nor while the wait is short and the probability small; a
// mark does up to a probability of 0.1.
func TestPIEBurst(t *testing.T) {
	room := NewRoom(Config{Rate: 8e6, Limit: Limit{Packets: 999}, Discipline: "pie", ECN: true}, link.NewDraw(1, "q"))
	for i := range 100 {
		room.Push(link.Packet{Seq: uint64(i), Body: link.Body{Size: 1000}})
	}
	d := newPIE(nil, link.NewDraw(1, "pie"))
	d.update = link.Never // no updates in between
	for _, c := range []struct {
		name                  string
		probability, oldDelay float64
		allowance             link.Duration
		want                  verdict
	}{
		{"burst", 1, 0.1, 1, keep},
		{"certain", 1, 0.1, 0, drop},
		{"short wait, small probability", 0.19, 0.007, 0, keep},
		{"short wait, large probability", 1, 0.007, 0, drop},
		{"no probability", 0, 0.1, 0, keep},
	} {
		d.probability, d.oldDelay, d.allowance = c.probability, c.oldDelay, c.allowance
		if got := d.arrive(link.Packet{Body: link.Body{Size: 1000}}, &room); got != c.want {
			t.Errorf("%s: verdict %d, want %d", c.name, got, c.want)
		}
	}
	d.probability, d.oldDelay = 0.1, 0.1
	signals := 0
	for i := range uint64(10_000) {
		switch d.arrive(link.Packet{Seq: i, Body: link.Body{Size: 1000}}, &room) {
		case signal:
			signals++
		case drop:
			t.Fatal("dropped at a probability of 0.1")
		}
	}
	if signals < 880 || signals > 1120 { // 1000 ± 4 deviations of 30
		t.Errorf("%d of 10000 signalled at 0.1", signals)
	}
	short := NewRoom(Config{Rate: 8e6, Limit: Limit{Packets: 999}, Discipline: "pie"}, link.NewDraw(1, "q"))
	short.Push(link.Packet{Body: link.Body{Size: 3028}})
	d.probability = 1
	if got := d.arrive(link.Packet{Body: link.Body{Size: 1000}}, &short); got != keep {
		t.Error("dropped from a queue of two full frames")
	}
}

// TestPIESettles: at twice the rate a queue of PIE settles at its target,
// half of the packets dropped, and forgets when idle.
func TestPIESettles(t *testing.T) {
	s := &server{Room: NewRoom(Config{Rate: 8e6, Limit: Limit{Packets: 10_000}, Discipline: "pie"}, link.NewDraw(1, "q"))}
	sink := &sojourn{from: link.Time(20 * link.Second)}
	p := link.Packet{Body: link.Body{Size: 1000}}
	for range 100_000 {
		s.Put(p, sink)
		p.Seq++
		p.When += 500_000
	}
	if mean := sink.sum / float64(sink.n); math.Abs(mean-15) > 3 {
		t.Errorf("packets wait %.1f ms, want 15 within a fifth", mean)
	}
	if got := float64(s.early) / 100_000; math.Abs(got-0.5) > 0.1 || s.full > 0 {
		t.Errorf("%.3f dropped early, %d for want of room, want a half and none", got, s.full)
	}
	s.Run(p.When.Add(10*link.Second), sink)
	s.Put(link.Packet{When: p.When.Add(10 * link.Second), Body: link.Body{Size: 1000}}, sink)
	if d := s.aqm.(*pie); d.probability > 1e-6 {
		t.Errorf("probability %g after 10 s of idleness", d.probability)
	}
}

// sojourn sums how long packets that arrive each 0.5 ms waited, ms.
type sojourn struct {
	from link.Time
	n    int
	sum  float64
}

func (s *sojourn) Deliver(p link.Packet) {
	if p.When > s.from {
		s.n++
		s.sum += float64(p.When-link.Time(p.Seq)*500_000) / 1e6
	}
}
func (s *sojourn) Lose(link.Packet, link.Cause) {}
func (s *sojourn) Copy(link.Packet)             {}
