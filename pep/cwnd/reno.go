package cwnd

// Reno is RFC 5681: one packet per acknowledged packet in slow start, one per
// window in congestion avoidance, half at a loss.
type Reno struct{}

// Acked grows the window.
func (Reno) Acked(f *Flow, n int) {
	for range slowStart(f, n) {
		f.Cwnd += 1 / f.Cwnd
	}
}

// Lost halves it.
func (Reno) Lost(f *Flow) { halve(f) }
