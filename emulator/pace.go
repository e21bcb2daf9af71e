package emulator

import (
	"slices"

	"farlink/emulator/air"
	"farlink/emulator/link"
	"farlink/emulator/stage"
	"farlink/profiles"
)

// Pace returns what way w promises of the rate at which frames leave it. It
// promises something where one link of a constant rate and a constant delay
// takes all frames; where its air loses some, only that they are not faster.
func (e *Emulator) Pace(w link.Way) link.Pace {
	d := &e.ways[w]
	if len(d.lines) != 1 || len(d.retired) > 0 || e.passes() {
		return link.Pace{}
	}
	return d.lines[0].pace()
}

// passes reports whether frames may pass all links.
func (e *Emulator) passes() bool {
	return e.fallback == Passed || slices.Contains(e.targets, Passed)
}

// pace is that of the queue, seen from behind the path.
func (l *line) pace() link.Pace {
	q, ok := l.stages[queue].(*stage.Queue)
	c := &l.now
	if !ok || c.Path.Jitter != nil || c.Trace != nil || c.Reorder != nil ||
		c.Duplicate != (stage.DuplicateConfig{}) || l.station.profile.LEO != nil {
		return link.Pace{}
	}
	p := q.Pace()
	p.Since = max(p.Since.Add(c.Path.Delay), l.settled)
	if p.Busy != link.Never {
		p.Busy = p.Busy.Add(c.Path.Delay)
	}
	if c.Loss != (air.LossConfig{}) {
		p.Least = 0
	}
	return p
}

// settle notes that the stages took over from those of was at now: what was
// on its way then has left when the longer of both delays is over.
func (l *line) settle(was *line, now link.Time) {
	longest := max(was.station.profile.Longest(was.way), reach(&was.now), reach(&l.now))
	l.settled = max(l.settled, was.settled, now.Add(longest))
}

// reach returns the longest that a packet may travel.
func reach(way *profiles.Way) link.Duration {
	d := way.Path.Delay + way.Duplicate.Delay
	if j := way.Path.Jitter; j != nil {
		d += 4 * j.Spread
	}
	if way.Reorder != nil {
		d += way.Reorder.Delay
	}
	return d
}
