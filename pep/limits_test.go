package pep

import (
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/need"
	"farlink/pep/congestion"
)

// TestMany: connections opened and closed, many at a time, leave no flow and
// no descriptor behind.
func TestMany(t *testing.T) {
	r := newRig(t, splitAll())
	x := &trial{a: r.A, b: r.B}
	if got := x.many(50, true); got != "50 good" { // what the process keeps for good
		t.Fatal(got)
	}
	time.Sleep(2500 * time.Millisecond) // until its pipes are closed
	before := openFiles(t, r.proxy.PID())
	const n = 1000
	if got := x.many(n, true); got != fmt.Sprintf("%d good", n) {
		t.Errorf("%s of %d", got, n)
	}
	waitFor(t, func() bool { s, err := r.proxy.Status(); return err == nil && s.Flows == 0 })
	// Pipes are pooled, until nothing is split for a second.
	waitFor(t, func() bool { return openFiles(t, r.proxy.PID()) <= before })
}

func openFiles(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestOverLimit: beyond the limit connections cross unsplit, and are counted.
func TestOverLimit(t *testing.T) {
	c := splitAll()
	c.Flows = 3
	r := newRig(t, c)
	for range 3 {
		r.connect(t, false)
	}
	waitFor(t, func() bool { s, err := r.proxy.Status(); return err == nil && s.Flows == 3 })
	time.Sleep(50 * time.Millisecond) // until the programs are told
	client, server := r.connect(t, false)
	exchange(t, client, server, "unsplit")
	s, err := r.proxy.Status()
	if err != nil || s.Flows != 3 || s.Intercept.OverLimit == 0 {
		t.Errorf("%+v, %v; want 3 flows and one over the limit", s, err)
	}
}

// TestSpacing: 20 Mbit/s of frames of 1514 bytes are 20·1448/1514 = 19.128
// Mbit/s of payload.
func TestSpacing(t *testing.T) {
	need.Root(t)
	feed, err := congestion.NewFeed()
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	p := &Proxy{feed: feed, way: link.Down}
	if got := p.spacing("hybla", Leg{}); got != 0 {
		t.Errorf("over a link that told nothing: %v", got)
	}
	feed.Tell(0, link.Down, 1, math.MaxInt64, link.Capacity{Rate: 10 * link.MegabitPerSecond, Most: 20 * link.MegabitPerSecond})
	for _, c := range []struct {
		used string
		leg  Leg
		want link.Rate
	}{{"hybla", Leg{}, 19128137}, {"hybla", Leg{away: true}, 0}, {"hybla", Leg{Link: 1}, 0}, {"cubic", Leg{}, 0}} {
		if got := p.spacing(c.used, c.leg); got != c.want {
			t.Errorf("%s over %+v: %v, want %v", c.used, c.leg, got, c.want)
		}
	}
}
