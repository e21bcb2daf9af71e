package schedule

import "math"

// ECF completes earliest first (Lim, Nahum, Towsley, Gibbens, "ECF: an MPTCP
// path scheduler to manage heterogeneous paths", 2017): it leaves the slow
// path idle when the fast one would have sent all that is left before the
// slow one delivered.
type ECF struct {
	Beta float64 // hysteresis of waiting; the paper's 0.25

	waits bool
}

// Next chooses.
func (e *ECF) Next(s *Snapshot) Choice {
	if !s.fits() {
		return wait
	}
	fast, slow := s.least(s.usable), s.least(s.Available)
	if slow == Wait || slow == fast {
		return Choice{Path: slow}
	}
	f, p := &s.Paths[fast], &s.Paths[slow]
	k := float64(s.Unsent)
	d := math.Max(f.RTTVar.Seconds(), p.RTTVar.Seconds())
	n := 1 + math.Max(k/f.window(), 1)
	bias := 1.0
	if e.waits {
		bias += e.Beta
	}
	if n*f.seconds() >= bias*(p.seconds()+d) {
		e.waits = false
		return Choice{Path: slow}
	}
	if math.Max(k/p.window(), 1)*p.seconds() >= 2*f.seconds()+d {
		e.waits = true
		return wait
	}
	return Choice{Path: slow}
}
