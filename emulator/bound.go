package emulator

import "farlink/emulator/link"

// Bound returns the most bytes of frames that way w may hold, when frames
// come in at up to the rate line: what the queues hold and what is on the
// way meanwhile. A box refuses a spec whose bound is past its memory.
func (e *Emulator) Bound(w link.Way, line link.Rate) link.Size {
	var sum link.Size
	for i := range e.spec.Links {
		way := e.spec.Links[i].Profile.Effective(w)
		rate := way.Queue.Rate
		if rate == 0 || rate > line {
			rate = line
		}
		sum += rate.Bytes(way.Path.Delay)
		if way.Queue.Rate != 0 && way.Queue.Rate < line {
			sum += way.Queue.Limit.Holds(way.Queue.Rate)
		}
	}
	return sum
}

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
			return c, c.Rate > 0
		}
	}
	return c, false
}
