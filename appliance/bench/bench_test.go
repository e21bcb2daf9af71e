package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"farlink/emulator/link"
)

// Every case has a name of its own and a line that says what it measures.
func TestCasesAreListed(t *testing.T) {
	all := slices.Concat(Wire(), Models(), Multipath(), PEP())
	seen := map[string]bool{}
	for _, c := range all {
		if seen[c.Name] || aboutCase(c.Name) == "" || c.Run == nil {
			t.Errorf("case %q: twice, or without a line in list.go, or without a Run", c.Name)
		}
		seen[c.Name] = true
	}
	for name := range about {
		if !slices.ContainsFunc(all, func(c Case) bool { return aboutCase(c.Name) == about[name] }) {
			t.Errorf("a line for %q, which is no case", name)
		}
	}
}

func TestVerdicts(t *testing.T) {
	b := &Bench{}
	b.atMost("median 2 of 1, 2, 9", "us", []float64{9, 1, 2}, 2)
	b.atMost("no number", "us", []float64{math.NaN()}, 2)
	b.atLeast("median 2.5 of four", "us", []float64{1, 2, 3, 4}, 2.6)
	b.against("ratio 0.5", "Mbit/s", "bridge", []float64{50}, []float64{100}, 0.5)
	want := []string{Pass, Fail, Fail, Pass}
	for i, f := range b.Figures {
		if f.Verdict != want[i] {
			t.Errorf("%s: %s at %v, want %s", f.Name, f.Verdict, f.Value, want[i])
		}
	}
	if n := Failed(b.Figures); n != 2 {
		t.Errorf("%d failed, want 2", n)
	}
}

// Frames of 1000 bytes each millisecond are 8 Mbit/s; against 8.08 that is
// 0.99 % off, in each window of 100 ms.
func TestRateErrors(t *testing.T) {
	var stamps []int64
	for i := range int64(1001) {
		stamps = append(stamps, i*1e6)
	}
	got := rateErrors(stamps, 1000, 8080*link.KilobitPerSecond, 100*time.Millisecond)
	if len(got) != 10 || math.Abs(got[0]-0.990) > 0.001 {
		t.Errorf("%d windows, the first %.4f %% off; want 10 and 0.990", len(got), got[0])
	}
	if e := rateErrors(stamps[:5], 1000, 8*link.MegabitPerSecond, time.Second); !math.IsInf(e[0], 1) {
		t.Errorf("no whole window counts as %v, want infinitely wrong", e[0])
	}
}
