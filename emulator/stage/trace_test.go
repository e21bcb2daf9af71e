package stage

import (
	"slices"
	"testing"

	"farlink/emulator/air"
	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

func steps(end string, period link.Duration, s ...course.Step) *course.Course {
	return course.New(course.Config{Steps: s, End: end, Period: period})
}

// TestTraceRate: 1000 B are 8,000 bits. At 8 Mbit/s from 0, at 2 from 1.5 ms
// and at 4 from 4.5 ms, packet 0 takes 1 ms; half of packet 1 is served by
// 1.5 ms, the other 4,000 bits take 2 ms: 3.5 ms; of packet 2, 2,000 bits by
// 4.5 ms, 6,000 at 4 Mbit/s take 1.5 ms: 6 ms; packet 3: 8 ms.
func TestTraceRate(t *testing.T) {
	varied := []course.Step{
		{At: 0, Rate: ptr(8 * mbit)},
		{At: 1500 * link.Microsecond, Rate: ptr(2 * mbit)},
		{At: 4500 * link.Microsecond, Rate: ptr(4 * mbit)},
	}
	for _, c := range []struct {
		name  string
		trace *course.Course
		n     int
		want  []link.Time
	}{
		{"hold", steps("", 0, varied...), 5, []link.Time{1 * ms, 3500000, 6 * ms, 8 * ms, 10 * ms}},
		// From 7 ms on the profile's 1 Mbit/s: 4,000 bits of packet 3 are
		// served, the rest takes 4 ms.
		{"clear", steps("clear", 7*link.Millisecond, varied...), 5, []link.Time{1 * ms, 3500000, 6 * ms, 11 * ms, 19 * ms}},
		// From 7 ms on 8 Mbit/s again: half of packet 3 takes 0.5 ms,
		// packet 4 1 ms: 8.5 ms, where the 2 Mbit/s begin; they do 6,000 bits
		// of packet 5 by 11.5 ms, the rest takes 0.5 ms.
		{"loop", steps("loop", 7*link.Millisecond, varied...), 6, []link.Time{1 * ms, 3500000, 6 * ms, 7500000, 8500000, 12 * ms}},
		// Half of packet 0 by 0.5 ms; it stands still until 9 ms.
		{"outage", steps("", 0, course.Step{At: 0, Rate: ptr(8 * mbit)}, course.Step{At: 500 * link.Microsecond, Outage: true},
			course.Step{At: 9 * link.Millisecond, Rate: ptr(8 * mbit)}), 2, []link.Time{9500000, 10500000}},
		// What ends at the instant of the step has ended: packet 0 at 1 ms.
		{"end at a step", steps("", 0, course.Step{At: 0, Rate: ptr(8 * mbit)}, course.Step{At: link.Millisecond, Outage: true},
			course.Step{At: 5 * link.Millisecond, Rate: ptr(8 * mbit)}), 2, []link.Time{1 * ms, 6 * ms}},
		// In a loop the last step lasts until the first of the next round.
		// 8 ms for packet 0 at 1 Mbit/s; 1,000 bits of packet 1 by 9 ms, the
		// other 7,000 at 8 Mbit/s, which hold through the start of the next
		// round at 10 ms and until its first step at 12: 9.875 ms, and 1 ms
		// each for packets 2 and 3.
		{"loop with a late start", steps("loop", 10*link.Millisecond,
			course.Step{At: 2 * link.Millisecond, Rate: ptr(mbit)}, course.Step{At: 9 * link.Millisecond, Rate: ptr(8 * mbit)}), 4,
			[]link.Time{8 * ms, 9_875_000, 10_875_000, 11_875_000}},
		// The remainder of a division is not lost at a step: of 8,000 bits,
		// 999.999 are served at 7 Mbit/s by 142,857 ns; 7,000.001 take
		// 7,000,001 ns at 1 Mbit/s.
		{"remainder", steps("", 0, course.Step{At: 0, Rate: ptr(7 * mbit)}, course.Step{At: 142_857, Rate: ptr(mbit)}), 1, []link.Time{7_142_858}},
		// Before the first step the profile's 1 Mbit/s: 4,000 bits by 4 ms;
		// then without limit.
		{"unlimited", steps("", 0, course.Step{At: 4 * link.Millisecond, Rate: ptr(link.Rate(0))}), 2, []link.Time{4 * ms, 4 * ms}},
	} {
		q := NewQueue(QueueConfig{Rate: mbit, Limit: Limit{Packets: 100}}, draw("q"))
		q.Follow(c.trace)
		if got := linktest.Through(q, linktest.Burst(c.n, 1000, 0)).Whens(); !slices.Equal(got, c.want) {
			t.Errorf("%s: left at %v, want %v", c.name, got, c.want)
		}
	}
}

// TestTraceSwap: a profile applied at 5 s whose course has been going on for
// as long is where it would be then: packets at 5 s find the third second's
// rate of a loop of 4, 2 Mbit/s, 4 ms for 1000 B.
func TestTraceSwap(t *testing.T) {
	q := NewQueue(QueueConfig{Rate: mbit, Limit: Limit{Packets: 100}}, draw("q"))
	q.Follow(steps("loop", 4*link.Second,
		course.Step{At: 0, Rate: ptr(8 * mbit)}, course.Step{At: link.Second, Rate: ptr(2 * mbit)}, course.Step{At: 2 * link.Second, Rate: ptr(mbit)}))
	old := NewQueue(QueueConfig{Rate: 8 * mbit, Limit: Limit{Packets: 100}}, draw("q"))
	now := 5000 * ms
	for _, p := range linktest.Burst(3, 1000, now) {
		old.Put(p, nil)
	}
	linktest.Succeed(q, old, now)
	if got, want := linktest.Through(q, []link.Packet{{When: now, Seq: 3, Body: link.Body{Size: 1000}}}).Whens(),
		[]link.Time{now + ms, now + 5*ms, now + 9*ms, now + 13*ms}; !slices.Equal(got, want) {
		t.Errorf("left at %v, want %v", got, want)
	}
}

// TestTraceDelayAndLoss: 30 ms from 10 ms on, 5 ms from 20 ms on: a packet at
// 19 ms is due at 49, and nothing that follows is there before it.
func TestTraceDelayAndLoss(t *testing.T) {
	trace := steps("", 0,
		course.Step{At: 10 * link.Millisecond, Delay: ptr(30 * link.Millisecond), Loss: ptr(1.0)},
		course.Step{At: 20 * link.Millisecond, Delay: ptr(5 * link.Millisecond)})
	path := NewPath(PathConfig{Delay: link.Millisecond}, draw("p"))
	path.Follow(trace)
	in := []link.Packet{{When: 9 * ms}, {When: 10 * ms, Seq: 1}, {When: 19 * ms, Seq: 2}, {When: 20 * ms, Seq: 3}, {When: 60 * ms, Seq: 4}}
	if got, want := linktest.Through(path, in).Whens(), []link.Time{10 * ms, 40 * ms, 49 * ms, 49 * ms, 65 * ms}; !slices.Equal(got, want) {
		t.Errorf("arrived at %v, want %v", got, want)
	}
	loss := air.NewLoss(air.LossConfig{}, draw("l"))
	loss.Follow(trace, draw("t"))
	if got, want := linktest.Through(loss, in).Seqs(), []uint64{0, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("got through %v, want %v", got, want)
	}
}

// TestTraceCapacity: a follower of the link hears what comes next, and when.
func TestTraceCapacity(t *testing.T) {
	q := NewQueue(QueueConfig{Rate: mbit, Limit: Limit{Packets: 100}}, draw("q"))
	q.Follow(steps("", 0, course.Step{At: 0, Rate: ptr(8 * mbit)}, course.Step{At: 10 * link.Millisecond, Rate: ptr(2 * mbit)}))
	q.Put(link.Packet{Body: link.Body{Size: 1000}}, nil)
	c := q.Capacity(0)
	if c.Rate != 8*mbit || c.NextAt != 10*ms || c.NextRate != 2*mbit || c.Queue != 1000 {
		t.Errorf("capacity %+v", c)
	}
	q.Put(link.Packet{When: 10 * ms, Seq: 1, Body: link.Body{Size: 1000}}, &lastSink{})
	if d := q.Capacity(10 * ms); d.Rate != 2*mbit || d.NextAt != link.Never || d.Version <= c.Version {
		t.Errorf("capacity %+v after %+v", d, c)
	}
}
