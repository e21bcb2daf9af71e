package schedule

// RoundRobin gives each path a turn of some segments. With Strict (the old
// kernel's cwnd_limited=false) it waits for the path whose turn it is; else
// it passes over paths that are not available.
type RoundRobin struct {
	Segments int // per turn
	Strict   bool

	turn, given int // whose turn it is, segments given in it
}

// Next chooses.
func (r *RoundRobin) Next(s *Snapshot) Choice {
	if !s.fits() || len(s.Paths) == 0 {
		return wait
	}
	r.turn %= len(s.Paths)
	for range len(s.Paths) {
		switch {
		case s.Available(r.turn):
			return r.give(s)
		case r.Strict && s.usable(r.turn):
			return wait
		}
		r.pass(len(s.Paths))
	}
	return wait
}

// give takes a chunk's segments off the turn.
func (r *RoundRobin) give(s *Snapshot) Choice {
	path := r.turn
	mss := max(s.Paths[path].MSS, 1)
	r.given += (s.Chunk + mss - 1) / mss
	if r.given >= r.Segments {
		r.pass(len(s.Paths))
	}
	return Choice{Path: path}
}

func (r *RoundRobin) pass(paths int) { r.turn, r.given = (r.turn+1)%paths, 0 }
