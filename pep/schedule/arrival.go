package schedule

import "math"

// Arrival is farlink's own: the path on which the chunk arrives first, by the
// rates that paths were seen to deliver. It waits in two cases only: faster
// paths would deliver all that is left before this one delivers the chunk (as
// ECF, for any number of paths, by rate), or the chunk would hold the
// connection's window while faster paths need it (as BLEST, but only up to
// what they deliver, and never past a window that is ample). What the relay
// has read of its source is bounded, so the first rule holds only when the end
// is in sight: else a path of 600 ms would idle beside any that can send the
// relay's whole buffer in 300.
type Arrival struct{}

// Next chooses.
func (Arrival) Next(s *Snapshot) Choice {
	if !s.fits() {
		return wait
	}
	best, when := Wait, math.Inf(1)
	for i := range s.Paths {
		if !s.Available(i) {
			continue
		}
		if t := s.arrival(i); t < when {
			best, when = i, t
		}
	}
	if best == Wait {
		return wait
	}
	faster, first := s.faster(best, when)
	switch {
	case faster == 0:
	case !s.More && first+float64(s.Unsent)/faster < when:
		return wait // the tail is quicker without this path
	case float64(s.Left-s.Chunk) < faster*(when-first) && float64(s.Window) < 2*faster*s.Paths[best].seconds():
		return wait // the window is short, and others need it
	}
	return Choice{Path: best}
}

// arrival is in how many seconds a chunk given to path i now is there: half a
// round trip after all that waits in its socket, and of what its window does
// not hold yet after as much was acknowledged.
func (s *Snapshot) arrival(i int) float64 {
	p := &s.Paths[i]
	before := p.NotSent + s.Chunk
	return p.seconds()/2 + float64(max(before, before+(p.Inflight-p.Cwnd)*p.MSS))/p.rate()
}

// faster sums the rates of the other paths on which a chunk would arrive
// sooner, and says when the first of them would deliver.
func (s *Snapshot) faster(than int, when float64) (rate, first float64) {
	first = when
	for i := range s.Paths {
		if i == than || !s.usable(i) {
			continue
		}
		if t := s.arrival(i); t < when {
			rate += s.Paths[i].rate()
			first = math.Min(first, t)
		}
	}
	return rate, first
}
