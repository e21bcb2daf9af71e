package cwnd

import (
	"math"

	"farlink/emulator/link"
)

// Hybla gives a long path the growth of a terrestrial one (Caini, Firrincieli,
// "TCP Hybla: a TCP enhancement for heterogeneous networks", 2004): with
// rho = RTT/RTT0, +2^rho - 1 per acknowledgement in slow start, +rho²/cwnd
// beyond.
type Hybla struct {
	// RTT0 is the reference round-trip time; 0 is 25 ms.
	RTT0 link.Duration
}

// hyblaMaxRho bounds rho, so that 2^rho stays within a window's range.
const hyblaMaxRho = 16

// Rho is the normalised round-trip time, 1..16.
func (h Hybla) Rho(f *Flow) float64 {
	rtt0 := h.RTT0
	if rtt0 == 0 {
		rtt0 = 25 * link.Millisecond
	}
	return min(max(float64(f.MinRTT)/float64(rtt0), 1), hyblaMaxRho)
}

// Acked grows the window.
func (h Hybla) Acked(f *Flow, n int) {
	rho := h.Rho(f)
	for range n {
		if f.SlowStart() {
			f.Cwnd = math.Min(f.Cwnd+math.Exp2(rho)-1, math.Max(f.Ssthresh, f.Cwnd))
			continue
		}
		f.Cwnd += rho * rho / f.Cwnd
	}
}

// Lost halves it.
func (Hybla) Lost(f *Flow) { halve(f) }
