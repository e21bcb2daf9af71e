package pep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/need"
	"farlink/pep/congestion"
)

// TestFault: what is believed of a rate that steps from 8 to 2 Mbit/s after
// 100 ms, looked at each ms.
func TestFault(t *testing.T) {
	cases := []struct {
		name  string
		fault Fault
		at    int // ms
		want  link.Rate
	}{
		{"nothing but the factor", Fault{Factor: 1.5}, 50, 12e6},
		{"the factor after the step", Fault{Factor: 0.5}, 150, 1e6},
		{"not yet heard", Fault{Delay: 30 * link.Millisecond}, 129, 8e6},
		{"heard", Fault{Delay: 30 * link.Millisecond}, 130, 2e6},
		{"never heard", Fault{Stale: true}, 500, 8e6},
		{"late and wrong", Fault{Delay: 30 * link.Millisecond, Factor: 2}, 131, 4e6},
	}
	for _, c := range cases {
		var past []heard
		for ms := range c.at + 1 {
			rate := 8 * link.MegabitPerSecond
			if ms >= 100 {
				rate = 2 * link.MegabitPerSecond
			}
			past = c.fault.step(past, heard{int64(ms) * 1e6, rate})
		}
		if got := c.fault.rate(past); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if len(past) > 40 {
			t.Errorf("%s: keeps %d of the past", c.name, len(past))
		}
	}
}

// TestOracle: the mean of few samples is theirs; of many it follows the last
// hundred.
func TestOracle(t *testing.T) {
	var o oracle
	o.add(0.1)
	o.add(0.3)
	if mean, n := o.read(); math.Abs(mean-0.2) > 1e-9 || n != 2 {
		t.Errorf("%v of %d, want 0.2 of 2", mean, n)
	}
	for range 1000 {
		o.add(0.5)
	}
	if mean, _ := o.read(); math.Abs(mean-0.5) > 0.001 {
		t.Errorf("%v, want 0.5", mean)
	}
}

// TestShortLink: nothing new is split over a link of 4 ms, nor over one of
// none at all, and again over one of 500; a proxy that does not know its link,
// or its round trip, splits.
func TestShortLink(t *testing.T) {
	pin := filepath.Join("/sys/fs/bpf", fmt.Sprintf("farlink-test-%x", rand.Uint64()))
	need.Root(t)
	feed, err := congestion.CreateFeed(pin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		feed.Close()
		os.Remove(pin)
	})
	r := newRigOf(t, splitAll(), Place{Feed: pin})
	split := func(want int) {
		t.Helper()
		time.Sleep(100 * time.Millisecond) // until the proxy has looked
		a, b := r.connect(t, false)
		exchange(t, a, b, "here")
		if s, err := r.proxy.Status(); err != nil || s.Flows != want {
			t.Errorf("%d connections are split, %v; want %d", s.Flows, err, want)
		}
	}
	split(1)
	for i, c := range []struct {
		rtt  link.Duration
		want int
	}{{4 * link.Millisecond, 1}, {500 * link.Millisecond, 2}, {0, 2}, {-1, 3}, {4 * link.Millisecond, 3}} {
		feed.Tell(0, link.Down, int64(i+1), math.MaxInt64, link.Capacity{Rate: 8 * link.MegabitPerSecond, RTT: c.rtt})
		split(c.want)
	}
}
