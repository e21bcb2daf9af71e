package emulator

import (
	"farlink/emulator/link"
)

// line is one way of one link.
type line struct {
	chain *link.Chain
	names []string  // of the stages
	flips link.Draw // where corrupted frames are hurt
	seq   uint64    // of the next packet
}

// slot is a place in the fixed order of stages, and what stands there.
type slot struct {
	name  string
	stage link.Stage
}

// newLine returns one way of a link. Draws carry the way and the slot in
// their name, so that no two share one.
func newLine(w link.Way, s LinkSpec) *line {
	draw := link.NewDraw(s.Seed, "link").Sub(w.String())
	l := &line{flips: draw.Sub("flip")}
	var stages []link.Stage
	for _, s := range slots(w, s, draw) {
		l.names = append(l.names, s.name)
		stages = append(stages, s.stage)
	}
	l.chain = link.NewChain(stages...)
	return l
}

// build makes both ways of link i.
func (e *Emulator) build(i int) {
	for _, w := range link.Ways {
		d := &e.ways[w]
		d.lines = append(d.lines, newLine(w, e.spec.Links[i]))
	}
}
