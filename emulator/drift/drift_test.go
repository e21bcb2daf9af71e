package drift

import (
	"math"
	"testing"

	"farlink/emulator/link"
)

// fading is that of rain, P.1853-1.
const fading = 5000 * link.Second

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.6g, want %.6g ± %.2g", what, got, want, tolerance)
	}
}

// The process is stationary with mean 0 and variance 1, and its correlation
// at a lag of t is exp(-beta·t): R1853-4, 1/e at 5,000 s. Moments are taken
// over many seeds, so that 4 sigma is a known number.
func TestMoments(t *testing.T) {
	const n = 20000
	lags := []struct {
		slots uint64
		want  float64
	}{{0, 1}, {1, 0.99980002}, {250, math.Exp(-0.05)}, {5000, math.Exp(-1)}, {20000, math.Exp(-4)}}
	for _, base := range []uint64{0, 131071, 77777} { // a node, beside a node, anywhere
		var sum float64
		products := make([]float64, len(lags))
		for seed := range uint64(n) {
			w := New(link.Second, fading, link.NewDraw(seed, "sky"))
			x := w.At(base)
			sum += x
			for i, lag := range lags {
				products[i] += x * w.At(base+lag.slots)
			}
		}
		near(t, "mean", sum/n, 0, 4/math.Sqrt(n))
		for i, lag := range lags {
			// Var(xy) = 1 + rho² for a pair of correlation rho.
			near(t, "correlation", products[i]/n, lag.want, 4*math.Sqrt((1+lag.want*lag.want)/n))
		}
	}
}

// One step is rho·X + sqrt(1-rho²)·n with rho = 0.99980002, sqrt(1-rho²) =
// 0.019998 at 1 s: the innovations over a long run have that deviation.
func TestStep(t *testing.T) {
	w := New(link.Second, fading, link.NewDraw(7, "sky"))
	const n, rho = 200000, 0.99980002
	var sum float64
	x := w.At(1000)
	for k := uint64(1001); k <= 1000+n; k++ {
		y := w.At(k)
		sum += (y - rho*x) * (y - rho*x)
		x = y
	}
	near(t, "innovation", math.Sqrt(sum/n), 0.01999800, 4*0.02/math.Sqrt(2*n))
}

// The correlation in time of one long run, 2e7 s in steps of 100 s.
func TestAutocorrelation(t *testing.T) {
	w := New(100*link.Second, fading, link.NewDraw(1, "sky"))
	const n, lag = 200000, 50
	xs := make([]float64, n+lag)
	for k := range xs {
		xs[k] = w.At(uint64(k))
	}
	var r0, r1 float64
	for k := range n {
		r0, r1 = r0+xs[k]*xs[k], r1+xs[k]*xs[k+lag]
	}
	near(t, "R1853-4", r1/r0, 0.368, 0.08)
}

// Finer slots see the same law: the levels follow the slot length.
func TestLevels(t *testing.T) {
	for _, v := range []struct {
		slot   link.Duration
		levels int
	}{
		{link.Second, 17},            // 2^17 s = 131,072 s > 26/beta = 130,000 s
		{100 * link.Millisecond, 21}, // 2^21 · 0.1 s = 209,715 s
		{200000 * link.Second, 0},    // every slot its own
		{65000 * link.Second, 1},     // 13 time constants, halved once
	} {
		if got := New(v.slot, fading, link.Draw{}).levels; got != v.levels {
			t.Errorf("slot %v: %d levels, want %d", v.slot, got, v.levels)
		}
	}
}
