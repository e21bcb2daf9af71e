package congestion

import (
	"fmt"

	"farlink/emulator/link"
)

// SavedPath is what resume has saved of a link in one way, and what became of
// the jumps of flows that resumed.
type SavedPath struct {
	Bytes  uint64 // used and acknowledged within a round; half of it is jumped to
	MinRTT link.Duration
	At     int64 // CLOCK_MONOTONIC ns when it was saved; 0 is never, or withdrawn by a retreat

	Jumps, Validated, Retreats uint32
}

// Saved reads what resume has saved of a path; nothing where the law is not
// loaded.
func (s *Shelf) Saved(path uint32) (p SavedPath, err error) {
	l, ok := s.law("resume")
	if !ok {
		return p, nil
	}
	var v resumeSaved
	if err := l.collection.Maps["paths"].Lookup(path, &v); err != nil {
		return p, fmt.Errorf("saved path %d: %w", path, err)
	}
	return SavedPath{v.Bytes, link.Duration(v.RttUs) * link.Microsecond, int64(v.At), v.Jumps, v.Validated, v.Retreats}, nil
}
