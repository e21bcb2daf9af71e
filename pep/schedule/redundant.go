package schedule

// Redundant sends everything on every path; what arrives first counts. A path
// that is behind copies what others have in flight before anything new.
type Redundant struct{}

// Next chooses.
func (Redundant) Next(s *Snapshot) Choice {
	best := s.least(func(i int) bool {
		return s.Available(i) && (s.Paths[i].Behind > 0 || s.fits())
	})
	if best == Wait {
		return wait
	}
	return Choice{Path: best, Copy: s.Paths[best].Behind > 0}
}
