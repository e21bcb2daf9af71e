package emulator

import "farlink/emulator/link"

// heir is a stage whose model goes on when another takes its place: the
// channel's state, what was reckoned so far.
type heir interface {
	Inherit(now link.Time, old link.Stage)
}

// Succeed takes over what old holds in way w at now: each stage adopts the
// packets of the one that stood in its place, numbering goes on, and so does
// the state of channels. Nothing is lost and nothing overtakes. Links are
// known by name; one that is no more keeps its packets until they are out.
// old's way w must not be used afterwards.
func (e *Emulator) Succeed(old *Emulator, w link.Way, now link.Time) {
	d, o := &e.ways[w], &old.ways[w]
	for i, was := range o.lines {
		if j := e.spec.index(old.spec.Links[i].Name); j >= 0 {
			d.lines[j].succeed(was, j, now)
		} else if n, _ := was.chain.Held(); n > 0 {
			d.retired = append(d.retired, was)
		}
	}
	d.retired = append(d.retired, o.retired...)
	d.passed = o.passed
	for i := range e.spec.Rules {
		for j := range old.spec.Rules {
			if e.spec.Rules[i] == old.spec.Rules[j] {
				d.hits[i] = o.hits[j]
			}
		}
	}
}

// succeed moves what was's stages hold into those of l, which is link i.
func (l *line) succeed(was *line, i int, now link.Time) {
	l.seq = was.seq
	before, after := was.chain.Stages(), l.chain.Stages()
	for k := range min(len(before), len(after)) {
		if s, ok := after[k].(heir); ok {
			s.Inherit(now, before[k])
		}
		from, ok := before[k].(link.Holder)
		if !ok {
			continue
		}
		to := after[k].(link.Holder)
		from.Drain(func(p link.Packet) {
			p.Mark = p.Mark.OnLink(i)
			to.Adopt(now, p)
		})
	}
}
