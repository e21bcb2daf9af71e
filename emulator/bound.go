package emulator

import (
	"farlink/emulator/link"
	"farlink/profiles"
)

// fastest is the rate of ports that nobody told.
const fastest = 10 * link.GigabitPerSecond

// Bound returns the most bytes of frames that way w may hold: what the
// queues hold, and what is on the way meanwhile, when frames come in at the
// rate of the ports. A box refuses a spec whose bound is past its memory.
func (e *Emulator) Bound(w link.Way) link.Size {
	line := e.spec.Line
	if line == 0 {
		line = fastest
	}
	var sum link.Size
	for i := range e.spec.Links {
		sum += bound(e.spec.Links[i].Profile, w, line)
	}
	return sum
}

// bound returns what one link may hold: the greatest rate, delay and queue
// that it ever has, whether or not they come together.
func bound(p *profiles.Profile, w link.Way, line link.Rate) link.Size {
	var rate link.Rate
	var delay link.Duration
	var waiting link.Size
	for _, v := range p.Variants() {
		r, holds := v.Peak(w)
		if v.Rate(w) > 0 {
			waiting = max(waiting, holds)
		}
		if r == 0 || r > line {
			r = line
		}
		rate, delay = max(rate, r), max(delay, v.Longest(w))
	}
	return rate.Bytes(delay) + waiting
}

// Size is how many links there are.
func (e *Emulator) Size() int { return len(e.spec.Links) }

// Capacity returns what link i can carry in way w at now; ok is false when
// nothing limits it.
func (e *Emulator) Capacity(w link.Way, i int, now link.Time) (c link.Capacity, ok bool) {
	if i < 0 || i >= len(e.ways[w].lines) {
		return c, false
	}
	for _, s := range e.ways[w].lines[i].chain.Stages() {
		if g, is := s.(link.Granter); is {
			c = g.Capacity(now)
			c.RTT += e.spec.Links[i].Profile.RTT()
			c.Most, _ = e.spec.Links[i].Profile.Peak(w)
			return c, c.Rate > 0 || e.spec.Links[i].Profile.Rate(w) > 0 // 0 now, in an outage
		}
	}
	return c, false
}
