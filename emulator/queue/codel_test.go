package queue

import (
	"slices"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// standing is a server that takes a packet of 1000 B each millisecond, from a
// room into which n came at once, of a kind that ECN can mark or not.
func standing(c Config, n int, mark link.Mark, until int) *linktest.Log {
	c.Rate = 8 * link.MegabitPerSecond
	s, log := &server{Room: NewRoom(c, link.NewDraw(1, "q"))}, &linktest.Log{}
	for i := range n {
		s.Join(link.Packet{Seq: uint64(i), Body: link.Body{Size: 1000, Mark: mark}}, log)
	}
	s.Run(link.Time(until)*link.Time(link.Millisecond), log)
	return log
}

// TestCoDel follows RFC 8289 by hand. The server takes a packet a
// millisecond; without drops, number k at k ms, having waited for k. The wait
// is above 5 ms from 5 ms on and has been for 100 ms at 105: number 105 goes,
// and the next signal is due 100 ms later, at 205: number 206, for one is
// gone. Then 100/sqrt(2) ms later, 275.71: the server next looks at 276, at
// number 276+2; 57.735 later, 333.45, at 334: number 337; 50 later, 383.45, at
// 384: 388; 44.72 later, 428.17, at 429: 434. Where a mark does instead, the
// packets stay, so the numbers are the instants.
func TestCoDel(t *testing.T) {
	const n, until = 2000, 440
	lost := standing(Config{Limit: Limit{Packets: n}, Discipline: "codel"}, n, 0, until)
	var got []uint64
	for _, f := range lost.Fates {
		if f.Lost() {
			got = append(got, f.Packet.Seq)
			if f.Cause.Reason != link.EarlyDropped {
				t.Errorf("packet %d lost as %v", f.Packet.Seq, f.Cause.Reason)
			}
		}
	}
	if want := []uint64{105, 206, 278, 337, 388, 434}; !slices.Equal(got, want) {
		t.Errorf("dropped %v, want %v", got, want)
	}
	marked := standing(Config{Limit: Limit{Packets: n}, Discipline: "codel", ECN: true}, n, link.ECT, until)
	got = nil
	for _, p := range marked.Delivered() {
		if p.Mark&link.CE != 0 {
			got = append(got, p.Seq)
		}
	}
	if want := []uint64{105, 205, 276, 334, 384, 429}; !slices.Equal(got, want) || marked.Lost(link.EarlyDropped) != 0 {
		t.Errorf("marked %v, want %v; %d lost", got, want, marked.Lost(link.EarlyDropped))
	}
	// Packets that cannot carry a mark are dropped all the same.
	if other := standing(Config{Limit: Limit{Packets: n}, Discipline: "codel", ECN: true}, n, 0, until); other.Lost(link.EarlyDropped) != 6 {
		t.Errorf("%d of 6 dropped without ECT", other.Lost(link.EarlyDropped))
	}
}

// TestCoDelSpares: a queue that is above target for less than an interval, or
// of one full frame, or in which packets wait less than target, loses nothing.
func TestCoDelSpares(t *testing.T) {
	for name, log := range map[string]*linktest.Log{
		"80 packets are gone in 80 ms": standing(Config{Limit: Limit{Packets: 99}, Discipline: "codel"}, 80, 0, 1000),
		"a target of 400 ms":           standing(Config{Limit: Limit{Packets: 500}, Discipline: "codel", CoDel: &CoDelConfig{Target: 4e8, Interval: 5e8}}, 399, 0, 1000),
		"an interval of 600 ms":        standing(Config{Limit: Limit{Packets: 800}, Discipline: "codel", CoDel: &CoDelConfig{Interval: 6e8}}, 600, 0, 1000),
	} {
		if n := log.Lost(link.EarlyDropped); n != 0 {
			t.Errorf("%s: %d dropped", name, n)
		}
	}
}

// TestCoDelSparesTheLast: behind a packet that waited for long, a full frame
// or less waits: no signal. Two do: one.
func TestCoDelSparesTheLast(t *testing.T) {
	for n, want := range map[int]int{1: 0, 2: 1} {
		room := NewRoom(Config{Rate: 8e6, Limit: Limit{Packets: 9}, Discipline: "codel"}, link.NewDraw(1, "q"))
		room.aqm.(*codel).firstAbove = 1
		room.Push(link.Packet{Body: link.Body{Size: 1514}})
		for range n {
			room.Push(link.Packet{Body: link.Body{Size: 1514}})
		}
		var log linktest.Log
		room.Take(link.Time(link.Second), &log)
		if got := log.Lost(link.EarlyDropped); got != want {
			t.Errorf("%d full frames behind: %d dropped, want %d", n, got, want)
		}
	}
}

// TestCoDelRemembers: on coming back into the dropping state within 16
// intervals the rate goes on from where it was; count is 1 anew else.
func TestCoDelRemembers(t *testing.T) {
	d := newCoDel(nil)
	d.count, d.lastCount, d.dropNext = 9, 1, 1e9
	if d.enter(link.Time(1e9 + 1599e6)); d.count != 8 {
		t.Errorf("count %d within 16 intervals, want 9-1", d.count)
	}
	d.count, d.lastCount, d.dropNext = 9, 1, 1e9
	if d.enter(link.Time(1e9 + 1600e6)); d.count != 1 {
		t.Errorf("count %d after 16 intervals, want 1", d.count)
	}
	next := newCoDel(&CoDelConfig{Interval: 2e8})
	next.inherit(d)
	if !next.dropping || next.count != 1 || next.interval != 2e8 || next.target != 1e7 {
		t.Errorf("inherited %+v", next)
	}
}
