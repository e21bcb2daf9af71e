package air

import (
	"math"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// TestCorrupt: 3 % and 1-(1-1e-5)^8000 = 7.6884 % of the rest: 10.458 %.
func TestCorrupt(t *testing.T) {
	const n, want = 100_000, 1 - 0.97*(1-0.076884)
	log := linktest.Through(NewCorrupt(CorruptConfig{Probability: 0.03, BER: 1e-5}, draw("c")), linktest.Paced(n, 1000, 0, link.Millisecond))
	hurt := 0
	for _, p := range log.Delivered() {
		if p.Mark&link.Corrupted != 0 {
			hurt++
		}
	}
	if got := float64(hurt) / n; math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/n) {
		t.Errorf("%.5f damaged, want %.5f", got, want)
	}
	if len(log.Delivered()) != n {
		t.Errorf("%d of %d delivered: corruption loses nothing", len(log.Delivered()), n)
	}
}
