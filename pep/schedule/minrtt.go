package schedule

// MinRTT takes the available path with the least smoothed round-trip time:
// the default of MPTCP v0 in Linux.
type MinRTT struct{}

// Next chooses.
func (MinRTT) Next(s *Snapshot) Choice {
	if !s.fits() {
		return wait
	}
	return Choice{Path: s.least(s.Available)}
}
