package emulator

import (
	"farlink/emulator/air"
	"farlink/emulator/link"
	"farlink/emulator/stage"
	"farlink/profiles"
)

// Pace returns what link i promises of the rate at which frames leave it in
// way w: that of a queue with a rate of its own; of whatever else serves, that
// frames are not faster than the most it ever gives.
func (e *Emulator) Pace(w link.Way, i int) link.Pace {
	d := &e.ways[w]
	if i >= len(d.lines) {
		return link.Pace{}
	}
	return d.lines[i].pace()
}

// Promise returns the least time that a frame of link i spends in way w; 0
// where none is known.
func (e *Emulator) Promise(w link.Way, i int) link.Duration {
	d := &e.ways[w]
	if i >= len(d.lines) {
		return 0
	}
	return d.lines[i].promise
}

// Account returns how many packets ever were put into link i in way w, and
// how many it holds.
func (e *Emulator) Account(w link.Way, i int) (offered uint64, held int) {
	d := &e.ways[w]
	if i >= len(d.lines) {
		return 0, 0
	}
	held, _ = d.lines[i].chain.Held()
	return d.lines[i].seq, held
}

// pace is that of what serves, seen from behind the path.
func (l *line) pace() link.Pace {
	c, p := &l.now, link.Pace{}
	q, ok := l.stages[queue].(*stage.Queue)
	if ok && l.station.profile.LEO == nil {
		p = q.Pace()
	}
	if p.Most == 0 {
		p = l.ceiling
		p.Since = l.settled.Add(p.Slack)
		return p
	}
	p.Since = max(p.Since.Add(c.Path.Delay), l.settled)
	if p.Busy != link.Never {
		p.Busy = p.Busy.Add(c.Path.Delay)
	}
	if c.Loss != (air.LossConfig{}) || c.Middlebox != nil {
		p.Least = 0
	}
	if p.Slack = shuffle(&c.Way); c.Reorder != nil { // a frame that lets others past took its time before them
		p.Slack += 2 * p.Most.Time(largest)
	}
	if p.Slack > 0 {
		p.Least, p.Busy, p.Since = 0, link.Never, p.Since.Add(p.Slack)
	}
	return p
}

// largest is the size of the largest frame, in bytes.
const largest = 9216 + 22

// bunching is how far apart in time a model may bunch frames at most that it
// lets out in blocks: two superframes of a return link, or a HARQ process's
// whole course.
const bunching = 200 * link.Millisecond

// ceiling returns the pace of a way whose model promises no more than its
// most.
func ceiling(p *profiles.Profile, w link.Way) link.Pace {
	most, slack := link.Rate(0), bunching
	soonest, _ := least(p, w)
	for _, v := range p.Variants() {
		r, _ := v.Peak(w)
		// Rates may count less than the frame.
		if r == 0 || p.Of(w).Queue.FramingConfig != (stage.FramingConfig{}) {
			return link.Pace{}
		}
		most = max(most, r)
		slack = max(slack, shuffle(v.Of(w))+v.Longest(w)-min(v.Longest(w), soonest)+bunching)
	}
	return link.Pace{Most: most, Busy: link.Never, Slack: slack}
}

// shuffle returns by how much the delays of two frames may differ.
func shuffle(way *profiles.Way) (d link.Duration) {
	if j := way.Path.Jitter; j != nil {
		d = 8 * j.Spread
		if n := len(j.Table); n > 0 {
			d += j.Table[n-1] - j.Table[0]
		}
	}
	if way.Trace != nil {
		first, last := way.Path.Delay, way.Path.Delay
		for _, s := range way.Trace.Steps {
			if s.Delay != nil {
				first, last = min(first, *s.Delay), max(last, *s.Delay)
			}
		}
		d += last - first
	}
	if way.Reorder != nil {
		d += way.Reorder.Delay
	}
	return d
}

// settle notes that the stages took over from those of was at now: what was
// on its way then has left when the longer of both delays is over.
func (l *line) settle(was *line, now link.Time) {
	longest := max(was.station.profile.Longest(was.way), reach(&was.now.Way), reach(&l.now.Way))
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
