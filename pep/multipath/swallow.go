package multipath

import (
	"errors"
	"time"

	"farlink/pep/framing"
)

// swallowing watches the chunk that the peer waits for. Acknowledgements of
// TCP say that some kernel has it, and not whose: a middlebox that splits the
// connection acknowledges for the peer. What the peer itself says decides.
type swallowing struct {
	head  uint64    // number of the chunk
	path  int       // that has it, acknowledged by TCP
	since time.Time // when that was seen first; zero if it was not
}

// errSwallowed ends a path.
var errSwallowed = errors.New("what was acknowledged on this path never reached the other relay")

// swallowLeast is the least time that the peer may take to acknowledge what
// its kernel has: on a busy machine a reader may sleep for a while.
const swallowLeast = 500 * time.Millisecond

// suspect finds the path that swallowed the chunk that the peer waits for.
func (s *session) suspect(now time.Time) *subflow {
	head := s.book.Head()
	if head == nil {
		s.swallowing = swallowing{}
		return nil
	}
	for i, f := range s.flows {
		if f == nil || !head.On(i) || !f.has(head) {
			continue
		}
		if w := &s.swallowing; w.since.IsZero() || w.head != head.DSN || w.path != i {
			*w = swallowing{head.DSN, i, now}
		}
		if now.Sub(s.swallowing.since) > max(2*time.Duration(f.path.SRTT+4*f.path.RTTVar), swallowLeast) {
			return f
		}
		return nil
	}
	s.swallowing = swallowing{}
	return nil
}

// has reports whether TCP has acknowledged the chunk on this path.
func (f *subflow) has(c *framing.Chunk) bool {
	return f.quiet || c.Only(f.index) && f.acked > c.Mark
}

// expel ends a path that swallows. Whoever joins in its place is a backup for
// a while, for longer each time.
func (s *session) expel(f *subflow) {
	s.swallowing = swallowing{}
	s.end.log.Warn("multipath: path left", "carrier", f.carrier, "error", errSwallowed)
	s.expelled[f.index]++
	s.leave(f)
	abort(f.conn)
}

// trial is until when a new path is a backup.
func (s *session) trial(path int, now time.Time) time.Time {
	n := s.expelled[path]
	if n == 0 {
		return now
	}
	return now.Add(min(time.Second<<min(n, 10), time.Minute))
}
