package tally

import (
	"math"
	"testing"

	"farlink/emulator/link"
)

// TestCells: every duration falls into a cell whose middle is within 0.2 %.
func TestCells(t *testing.T) {
	for _, d := range []link.Duration{0, 1, 255, 256, 257, 511, 512, 1000, 999_999, 250_003_000, 1 << 40, math.MaxInt64} {
		o, i := cell(d)
		if m := middle(o, i); math.Abs(float64(m-d)) > math.Max(0.5, float64(d)/500) {
			t.Errorf("%d ns is counted as %d", d, m)
		}
	}
	if o, i := cell(-5); o != 0 || i != 0 {
		t.Errorf("a negative duration is in cell %d, %d", o, i)
	}
}

// TestQuantiles of 1..1000 ms.
func TestQuantiles(t *testing.T) {
	var h Histogram
	for i := 1000; i >= 1; i-- {
		h.Add(link.Duration(i) * link.Millisecond)
	}
	d := h.Distribution()
	if d.Count != 1000 || d.Min != 1 || d.Max != 1000 || d.Mean != 500.5 {
		t.Errorf("%+v", d)
	}
	for got, want := range map[float64]float64{d.P50: 500, d.P90: 900, d.P99: 990, d.P999: 999} {
		if math.Abs(got/want-1) > 0.002 {
			t.Errorf("quantile %v, want %v", got, want)
		}
	}
	if (&Histogram{}).Distribution() != (Distribution{}) {
		t.Error("nothing has a distribution")
	}
}
