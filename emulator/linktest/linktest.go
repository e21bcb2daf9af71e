// Package linktest checks what every stage must keep: independence of its
// driver, conservation, order, and no allocation per packet. Tests of stages
// and of whole links call it; nothing else does.
package linktest

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"farlink/emulator/link"
)

// Log is a Sink that keeps all it is told.
type Log struct {
	Fates  []link.Fate
	Copies int
}

func (l *Log) Deliver(p link.Packet) { l.Fates = append(l.Fates, link.Fate{Packet: p}) }
func (l *Log) Lose(p link.Packet, c link.Cause) {
	l.Fates = append(l.Fates, link.Fate{Packet: p, Cause: c})
}
func (l *Log) Copy(link.Packet) { l.Copies++ }

// Delivered returns the packets that got through, in the order in which they
// were delivered.
func (l *Log) Delivered() []link.Packet {
	var out []link.Packet
	for _, f := range l.Fates {
		if !f.Lost() {
			out = append(out, f.Packet)
		}
	}
	return out
}

// Lost counts the losses for reason r.
func (l *Log) Lost(r link.Reason) int {
	n := 0
	for _, f := range l.Fates {
		if f.Lost() && f.Cause.Reason == r {
			n++
		}
	}
	return n
}

// Digest is equal for equal fates, in whatever order they were told.
func (l *Log) Digest() uint64 {
	lines := make([]string, len(l.Fates))
	for i, f := range l.Fates {
		lines[i] = fmt.Sprint(f.Packet.Seq, f.Packet.When, f.Packet.Size, f.Packet.Mark, f.Cause)
	}
	slices.Sort(lines)
	h := fnv.New64a()
	for _, s := range lines {
		h.Write([]byte(s))
		h.Write([]byte{'\n'})
	}
	return h.Sum64()
}

// Arrivals returns n packets with sizes 64..1514 and gaps up to twice mean,
// some of them zero, seeded.
func Arrivals(seed uint64, n int, mean link.Duration) []link.Packet {
	size, gap := link.NewDraw(seed, "size"), link.NewDraw(seed, "gap")
	out := make([]link.Packet, n)
	var now link.Time
	for i := range out {
		if gap.Uint64(uint64(i))%5 != 0 {
			now = now.Add(link.Duration(gap.Float(uint64(i)) * 2 * float64(mean)))
		}
		out[i] = link.Packet{When: now, Seq: uint64(i), Ref: uint32(i), Body: link.Body{Size: uint16(64 + size.Uint64(uint64(i))%1451)}}
	}
	return out
}

// Wake says when a driver looks at a stage: the instant after now.
type Wake func(now link.Time) link.Time

// EventByEvent wakes exactly when the stage asks to be woken.
func EventByEvent(s link.Stage) Wake {
	return func(now link.Time) link.Time { return max(s.Next(), now+1) }
}

// Every wakes at a fixed interval.
func Every(d link.Duration) Wake {
	return func(now link.Time) link.Time { return now.Add(d) }
}

// AtRandom wakes at seeded random intervals of up to d.
func AtRandom(seed uint64, d link.Duration) Wake {
	draw, n := link.NewDraw(seed, "wake"), uint64(0)
	return func(now link.Time) link.Time {
		n++
		return now.Add(1 + link.Duration(draw.Float(n)*float64(d)))
	}
}

// Drive runs the arrivals through s, looking at it as wake says, until the
// time end.
func Drive(s link.Stage, arrivals []link.Packet, wake Wake, end link.Time) *Log {
	log := &Log{}
	now := link.Time(0)
	next := wake(now)
	for _, p := range arrivals {
		for next < p.When {
			now = next
			s.Run(now, log)
			next = wake(now)
		}
		s.Put(p, log)
	}
	for next < end {
		now = next
		s.Run(now, log)
		next = wake(now)
	}
	s.Run(end, log)
	return log
}

// Independent checks that the fates do not depend on the driver: event by
// event, every microsecond (over the first milliseconds), at random, and
// every 10 s give the same digest. build must return a fresh, equal stage at
// each call. All packets must have met their fate by end.
func Independent(t *testing.T, build func() link.Stage, arrivals []link.Packet, end link.Time) *Log {
	t.Helper()
	first := build()
	reference := Drive(first, arrivals, EventByEvent(first), end)
	want := reference.Digest()
	for name, wake := range map[string]Wake{
		"at random up to 3 ms": AtRandom(1, 3*link.Millisecond),
		"every 10 s":           Every(10 * link.Second),
		"in growing steps":     fine(),
	} {
		if got := Drive(build(), arrivals, wake, end).Digest(); got != want {
			t.Errorf("woken %s: fates differ from those event by event", name)
		}
	}
	Conserved(t, reference, len(arrivals), first)
	return reference
}

// fine wakes each microsecond for 20 ms, then each 0.7 ms.
func fine() Wake {
	return func(now link.Time) link.Time {
		if now < link.Time(20*link.Millisecond) {
			return now.Add(link.Microsecond)
		}
		return now.Add(700 * link.Microsecond)
	}
}

// Conserved checks that in + copies = delivered + lost + held.
func Conserved(t *testing.T, l *Log, in int, s link.Stage) {
	t.Helper()
	held := 0
	if h, ok := s.(interface{ Held() (int, int) }); ok {
		held, _ = h.Held()
	}
	if in+l.Copies != len(l.Fates)+held {
		t.Errorf("conservation: %d in + %d copies != %d fates + %d held", in, l.Copies, len(l.Fates), held)
	}
}

// Ordered checks that no packet was delivered before one that it followed,
// in time or in number.
func Ordered(t *testing.T, l *Log) {
	t.Helper()
	var last link.Packet
	for i, p := range l.Delivered() {
		if i > 0 && (p.When < last.When || p.Seq < last.Seq) {
			t.Fatalf("packet %d at %d after packet %d at %d", p.Seq, p.When, last.Seq, last.When)
		}
		last = p
	}
}

// Counter is a Sink that counts and allocates nothing.
type Counter struct{ Delivered, Lost, Copies int }

func (c *Counter) Deliver(link.Packet)          { c.Delivered++ }
func (c *Counter) Lose(link.Packet, link.Cause) { c.Lost++ }
func (c *Counter) Copy(link.Packet)             { c.Copies++ }

// NoAllocs checks that packets go through s without an allocation once it
// has run for a while. gap is the distance of arrivals.
func NoAllocs(t *testing.T, s link.Stage, gap link.Duration) {
	t.Helper()
	var sink Counter
	p := link.Packet{Body: link.Body{Size: 1000}}
	step := func() {
		p.When = p.When.Add(gap)
		p.Seq++
		s.Put(p, &sink)
		s.Run(p.When, &sink)
	}
	for range 20000 {
		step()
	}
	if n := testing.AllocsPerRun(5000, step); n != 0 {
		t.Errorf("%v allocations per packet, want 0", n)
	}
}

// Benchmark measures one packet through s, arrivals gap apart.
func Benchmark(b *testing.B, s link.Stage, gap link.Duration) {
	var sink Counter
	p := link.Packet{Body: link.Body{Size: 1000}}
	b.ReportAllocs()
	for b.Loop() {
		p.When = p.When.Add(gap)
		p.Seq++
		s.Put(p, &sink)
		if s.Next() <= p.When {
			s.Run(p.When, &sink)
		}
	}
}
