package stage

import (
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// TestGateMTU: a payload of 1500 B makes a frame of 1514 B.
func TestGateMTU(t *testing.T) {
	for _, c := range []struct {
		mtu  link.Size
		size uint16
		lost bool
	}{
		{1500, 1514, false}, {1500, 1515, true}, {1500, 60, false},
		{576, 590, false}, {576, 591, true}, {9202, 9216, false}, {0, 65535, false},
	} {
		var log linktest.Log
		NewGate(GateConfig{MTU: c.mtu}).Put(link.Packet{Body: link.Body{Size: c.size}}, &log)
		if got := log.Lost(link.TooBig) == 1; got != c.lost {
			t.Errorf("MTU %d, frame of %d B: lost %v", c.mtu, c.size, got)
		}
	}
}

// TestGateCuts: cut from 10 to 30 ms; flapping from 100 ms on with a period of
// 50 ms, the last 10 of which are down.
func TestGateCuts(t *testing.T) {
	g := NewGate(GateConfig{
		Cut:  []CutConfig{{At: 10 * link.Millisecond, For: 20 * link.Millisecond}},
		Flap: &FlapConfig{Start: 100 * link.Millisecond, Period: 50 * link.Millisecond, Down: 10 * link.Millisecond},
	})
	for _, c := range []struct {
		at     link.Time
		closed bool
	}{
		{0, false}, {10*ms - 1, false}, {10 * ms, true}, {30*ms - 1, true}, {30 * ms, false},
		{99 * ms, false}, {139 * ms, false}, {140 * ms, true}, {150*ms - 1, true}, {150 * ms, false}, {190 * ms, true},
	} {
		var log linktest.Log
		g.Put(link.Packet{When: c.at, Body: link.Body{Size: 100}}, &log)
		if got := log.Lost(link.Cut) == 1; got != c.closed {
			t.Errorf("at %d: lost %v, want %v", c.at, got, c.closed)
		}
	}
}

// TestGateLiveCut: a cut asked for while running lasts over a swap, and ends
// when told or when its time is up.
func TestGateLiveCut(t *testing.T) {
	g := NewGate(GateConfig{})
	g.Cut(5*ms, 9*ms)
	if g.Closed(4*ms) || !g.Closed(5*ms) || g.Closed(9*ms) {
		t.Error("cut from 5 to 9 ms: not what the gate does")
	}
	g.Cut(20*ms, link.Never)
	next := NewGate(GateConfig{})
	next.Inherit(30*ms, g)
	if !next.Closed(1000 * ms) {
		t.Error("the cut ended with a change of profile")
	}
	next.Cut(0, 0)
	if next.Closed(1000 * ms) {
		t.Error("the cut did not end when told")
	}
}
