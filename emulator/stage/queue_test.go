package stage

import (
	"slices"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

const (
	ms   = link.Time(link.Millisecond)
	kbit = link.KilobitPerSecond
	mbit = link.MegabitPerSecond
)

// TestServiceTimes: 1000 B are 8,000 bits: 1 ms at 8 Mbit/s. At 7 Mbit/s they
// are 8,000,000,000/7 = 1,142,857,142 and 6/7 ns a thousand: the remainder
// carries, so packet 7 leaves at exactly 8 ms. Framing adds as it says: l1
// 24 B (1.024 ms), l3 -14 B (0.986 ms), 8 B of overhead (1.008 ms); 60 B
// count 84 B with l1 and minimum 84B (0.084 ms); 1000 B in ATM cells of 48 B
// are 21 cells of 53 B, 1113 B (1.113 ms).
func TestServiceTimes(t *testing.T) {
	frame := func(f FramingConfig) QueueConfig {
		return QueueConfig{Rate: 8 * mbit, FramingConfig: f, Limit: Limit{Packets: 100}}
	}
	for _, c := range []struct {
		name   string
		config QueueConfig
		size   uint16
		want   []link.Time
	}{
		{"8 Mbit/s", frame(FramingConfig{}), 1000, []link.Time{1 * ms, 2 * ms, 3 * ms}},
		{"l1", frame(FramingConfig{Framing: "l1"}), 1000, []link.Time{1024000, 2048000}},
		{"l2", frame(FramingConfig{Framing: "l2"}), 1000, []link.Time{1000000}},
		{"l3", frame(FramingConfig{Framing: "l3"}), 1000, []link.Time{986000, 1972000}},
		{"overhead", frame(FramingConfig{Overhead: 8}), 1000, []link.Time{1008000}},
		{"minimum", frame(FramingConfig{Framing: "l1", Minimum: 84}), 60, []link.Time{84000, 168000}},
		{"atm", frame(FramingConfig{Cell: 48, CellOverhead: 5}), 1000, []link.Time{1113000}},
		{"7 Mbit/s", QueueConfig{Rate: 7 * mbit, Limit: Limit{Packets: 100}}, 1000,
			[]link.Time{1142857, 2285714, 3428571, 4571428, 5714285, 6857142, 8 * ms}},
		{"unlimited", QueueConfig{}, 1000, []link.Time{0, 0, 0}},
	} {
		got := linktest.Through(NewQueue(c.config, draw("q")), linktest.Burst(len(c.want), c.size, 0)).Whens()
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: left at %v, want %v", c.name, got, c.want)
		}
	}
}

// TestNoDrift: a million packets of 1514 B at a rate that divides nothing
// evenly leave, to the nanosecond, when their bits are through. Without the
// remainder each would leave up to 1 ns early, the last by half a millisecond.
func TestNoDrift(t *testing.T) {
	const n, rate = 1_000_000, 64_000_007
	q := NewQueue(QueueConfig{Rate: rate, Limit: Limit{Packets: n}}, draw("q"))
	last := &lastSink{}
	for _, p := range linktest.Burst(n, 1514, 0) {
		q.Put(p, last)
	}
	q.Run(link.Never-1, last)
	// In two parts, since bits·1e9 is more than 64 bits hold.
	bits := int64(n * 1514 * 8)
	want := link.Time(bits/rate*1e9 + bits%rate*1e9/rate)
	if last.p.When != want {
		t.Errorf("last of %d left at %d, want %d", n, last.p.When, want)
	}
}

// lastSink keeps the last packet delivered.
type lastSink struct {
	linktest.Counter
	p link.Packet
}

func (s *lastSink) Deliver(p link.Packet) { s.p = p }

// TestIdleGivesNothing: a packet after an idle time takes its full service;
// one that comes while the server works starts where the other ends.
func TestIdleGivesNothing(t *testing.T) {
	q := NewQueue(QueueConfig{Rate: 8 * mbit, Limit: Limit{Packets: 9}}, draw("q"))
	in := []link.Packet{
		{When: 0, Seq: 0, Body: link.Body{Size: 1000}},          // 0..1 ms
		{When: ms / 2, Seq: 1, Body: link.Body{Size: 500}},      // 1..1.5 ms
		{When: 3600e3 * ms, Seq: 2, Body: link.Body{Size: 1e3}}, // an hour later: 1 ms
		{When: 3600e3*ms + 1, Seq: 3, Body: link.Body{Size: 1e3}},
	}
	want := []link.Time{ms, ms * 3 / 2, 3600e3*ms + ms, 3600e3*ms + 2*ms}
	if got := linktest.Through(q, in).Whens(); !slices.Equal(got, want) {
		t.Errorf("left at %v, want %v", got, want)
	}
	// Nor is a remainder carried over idle time: 1,142,857 and 1/7 ns at
	// 7 Mbit/s are 1,142,857 for each packet that comes alone.
	q = NewQueue(QueueConfig{Rate: 7 * mbit, Limit: Limit{Packets: 9}}, draw("q"))
	for i, at := range linktest.Through(q, linktest.Paced(20, 1000, 0, link.Second)).Whens() {
		if took := at - link.Time(i)*1000*ms; took != 1_142_857 {
			t.Errorf("packet %d alone took %d ns, want 1142857", i, took)
		}
	}
}

// TestLimits: ten packets of 1000 B at once. One is in service; what waits is
// limited: 3 packets; 3000 B; 3 ms at 8 Mbit/s, which is 3000 B on the line.
// Drop-head keeps the last three instead.
func TestLimits(t *testing.T) {
	first, last := []uint64{0, 1, 2, 3}, []uint64{0, 7, 8, 9}
	for _, c := range []struct {
		name, discipline string
		limit            Limit
		framing          string
		reason           link.Reason
		want             []uint64
	}{
		{"packets", "", Limit{Packets: 3}, "", link.QueueFull, first},
		{"bytes", "", Limit{Bytes: 3000}, "", link.QueueFull, first},
		{"not quite 4", "", Limit{Bytes: 3999}, "", link.QueueFull, first},
		{"time", "", Limit{Time: 3 * link.Millisecond}, "", link.QueueFull, first},
		{"time, l1: 3 ms hold two of 1.024 ms", "", Limit{Time: 3 * link.Millisecond}, "l1", link.QueueFull, []uint64{0, 1, 2}},
		{"drop-head packets", "drophead", Limit{Packets: 3}, "", link.HeadDropped, last},
		{"drop-head bytes", "drophead", Limit{Bytes: 3000}, "", link.HeadDropped, last},
		{"drop-head time", "drophead", Limit{Time: 3 * link.Millisecond}, "", link.HeadDropped, last},
		{"smaller than a packet", "drophead", Limit{Bytes: 999}, "", link.QueueFull, []uint64{0}},
	} {
		q := NewQueue(QueueConfig{Rate: 8 * mbit, Limit: c.limit, Discipline: c.discipline,
			FramingConfig: FramingConfig{Framing: c.framing}}, draw("q"))
		log := linktest.Through(q, linktest.Burst(10, 1000, 0))
		if got := log.Seqs(); !slices.Equal(got, c.want) {
			t.Errorf("%s: delivered %v, want %v", c.name, got, c.want)
		}
		if got := log.Lost(c.reason); got != 10-len(c.want) {
			t.Errorf("%s: %d lost as %v, want %d", c.name, got, c.reason, 10-len(c.want))
		}
	}
}

// TestSwapRate: three packets of 1000 B at 8 Mbit/s; at 0.5 ms the rate
// becomes 2 Mbit/s. The one in service leaves at 1 ms as it would have; the
// others take 4 ms each from there: 5 and 9 ms. One that comes after the swap
// leaves behind them, at 13 ms. Swapped to "unlimited", the waiting leave
// with the one in service, and the newcomer does not overtake them.
func TestSwapRate(t *testing.T) {
	for _, c := range []struct {
		rate link.Rate
		want []link.Time
	}{
		{2 * mbit, []link.Time{1 * ms, 5 * ms, 9 * ms, 13 * ms}},
		{0, []link.Time{1 * ms, 1 * ms, 1 * ms, 1 * ms}},
	} {
		old := NewQueue(QueueConfig{Rate: 8 * mbit, Limit: Limit{Packets: 9}}, draw("q"))
		var log linktest.Log
		for _, p := range linktest.Burst(3, 1000, 0) {
			old.Put(p, &log)
		}
		q := NewQueue(QueueConfig{Rate: c.rate, Limit: Limit{Packets: 3}}, draw("q"))
		linktest.Succeed(q, old, ms/2)
		if n, _ := old.Held(); n != 0 || old.Next() != link.Never {
			t.Errorf("%v: the old queue still holds %d", c.rate, n)
		}
		q.Put(link.Packet{When: ms / 2, Seq: 3, Body: link.Body{Size: 1000}}, &log)
		q.Run(100*ms, &log)
		if got := log.Whens(); !slices.Equal(got, c.want) {
			t.Errorf("%v: left at %v, want %v", c.rate, got, c.want)
		}
		linktest.Ordered(t, &log)
	}
}

// TestSwapOfBusyPast: a driver may have looked ahead to 10 ms before it swaps
// at 9: what is adopted is not served in a time that was given away.
func TestSwapOfBusyPast(t *testing.T) {
	config := QueueConfig{Rate: 8 * mbit, Limit: Limit{Packets: 9}}
	old, q := NewQueue(config, draw("q")), NewQueue(config, draw("q"))
	var log linktest.Log
	old.Put(link.Packet{When: 9 * ms, Body: link.Body{Size: 1000}}, &log)
	old.Run(10*ms, &log)
	q.Inherit(9*ms, old)
	q.Adopt(9*ms, link.Packet{When: 9 * ms, Seq: 1, Body: link.Body{Size: 1000}})
	q.Put(link.Packet{When: 9 * ms, Seq: 2, Body: link.Body{Size: 1000}}, &log)
	q.Run(100*ms, &log)
	if got, want := log.Whens(), []link.Time{10 * ms, 11 * ms, 12 * ms}; !slices.Equal(got, want) {
		t.Errorf("left at %v, want %v", got, want)
	}
}
