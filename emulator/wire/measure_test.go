package wire

import (
	"os"
	"slices"
	"testing"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/netlab"
	"farlink/emulator/wire/steer"
)

// needMeasure skips what takes long and judges a machine rather than code.
func needMeasure(t *testing.T) {
	if os.Getenv("FARLINK_MEASURE") == "" {
		t.Skip("set FARLINK_MEASURE=1 to measure")
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	if len(v) == 0 {
		return 0
	}
	return v[len(v)/2]
}

// TestMeasureThroughput compares, interleaved on the same veths, a kernel
// bridge, the bare wire and the bypass, native and generic.
func TestMeasureThroughput(t *testing.T) {
	needMeasure(t)
	l := newLab(t, netlab.Options{})
	got := map[string][]float64{}
	measure := func(name string) {
		tr, err := netlab.TCP(l.A, l.B, time.Second)
		if err != nil {
			t.Logf("%s: %v", name, err)
		}
		f, err := netlab.Flood(l.A, l.B, netlab.FloodOptions{For: 500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		got[name+" tcp"] = append(got[name+" tcp"], tr.Mbits())
		got[name+" kpps"] = append(got[name+" kpps"], f.PerSecond()/1e3)
		got[name+" sent"] = append(got[name+" sent"], float64(f.Sent)/f.For.Seconds()/1e3)
	}
	for range 5 {
		if err := l.Bridge(); err != nil {
			t.Fatal(err)
		}
		measure("bridge")
		if err := l.Unbridge(); err != nil {
			t.Fatal(err)
		}
		for _, how := range []steer.Attach{steer.Native, steer.Generic} {
			c := Config{Pair: l.Box, A: l.PortA, B: l.PortB, Netns: l.Box, Attach: how}
			e, err := Start(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			measure("bare " + string(how))
			s := e.Stats()
			t.Logf("%s %v %s, up %+v", how, s.Verdict, s.Reason, s.Ways[link.Up].Book.Engine)
			if err := e.SetMode(steer.Bypass); err != nil {
				t.Fatal(err)
			}
			measure("bypass " + string(how))
			e.Close()
			if err := Remove(c.Pair); err != nil {
				t.Fatal(err)
			}
		}
	}
	names := []string{}
	for n := range got {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		t.Logf("%-22s %7.0f  %.0f", n, median(got[n]), got[n])
	}
}

// TestMeasureDelay compares the delay asked for with what the kernel's stamps
// at the endpoints say, and that with the engine's own book.
func TestMeasureDelay(t *testing.T) {
	needMeasure(t)
	for _, attach := range []steer.Attach{steer.Generic, steer.Native} {
		r := newRig(t, netlab.Options{}, Config{Attach: attach})
		for _, c := range []struct {
			delay link.Duration
			load  bool
		}{{0, false}, {10 * link.Millisecond, false}, {10 * link.Millisecond, true}, {300 * link.Millisecond, false}, {300 * link.Millisecond, true}} {
			var p50, p99, own50, own99, low []float64
			for range 3 {
				if _, err := r.Run((&plain{Delay: c.delay}).doc()); err != nil {
					t.Fatal(err)
				}
				stop := background(t, r, c.load)
				d, err := netlab.Probe(r.A, r.B, netlab.ProbeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				stop()
				time.Sleep(120 * time.Millisecond)
				b := r.Stats().Ways[link.Up].Book
				us := func(x time.Duration) float64 { return float64(x-time.Duration(c.delay)) / 1e3 }
				p50, p99, low = append(p50, us(d.Quantile(.5))), append(p99, us(d.Quantile(.99))), append(low, us(d.Quantile(0)))
				own50, own99 = append(own50, float64(b.Lateness.Quantile(.5))/1e3), append(own99, float64(b.Lateness.Quantile(.99))/1e3)
			}
			t.Logf("%-8s %6v load %-5v: witness min %.1f p50 %.1f p99 %.1f us; ledger p50 %.1f p99 %.1f us; %v", attach, c.delay, c.load, median(low), median(p50), median(p99), median(own50), median(own99), r.Stats().Reason)
		}
		r.Engine.Close()
		Remove(r.config.Pair)
	}
}

// background sends 100 Mbit/s of 1250-byte frames from A until the returned
// function is called, or nothing.
func background(t *testing.T, r *rig, load bool) (stop func()) {
	if !load {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := netlab.Flood(r.A, r.B, netlab.FloodOptions{Size: 1250, Rate: 10000, For: 1100 * time.Millisecond}); err != nil {
			t.Error(err)
		}
	}()
	time.Sleep(20 * time.Millisecond)
	return func() { <-done }
}
