package emulator

import "farlink/emulator/link"

// Succeed takes over what old holds in way w at now: each stage adopts the
// packets of the one that stood in its place, numbering goes on, and so does
// the state of channels. Nothing is lost and nothing overtakes. Links are
// known by name; one that is no more keeps its packets until they are out.
// old's way w must not be used afterwards.
func (e *Emulator) Succeed(old *Emulator, w link.Way, now link.Time) {
	d, o := &e.ways[w], &old.ways[w]
	e.Begin(w, now)
	for i, was := range o.lines {
		if j := e.spec.index(old.spec.Links[i].Name); j >= 0 {
			d.lines[j].inherit(was, now)
			d.lines[j].succeed(was, changed(i, j), now)
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

// succeed moves what was's stages hold into those of l. index is that of the
// link if it has changed, else -1.
func (l *line) succeed(was *line, index int, now link.Time) {
	l.seq = was.seq
	l.settle(was, now)
	for at := places - 1; at >= 0; at-- {
		l.takeOver(at, was.stages[at], index, now)
	}
}

// takeOver lets the stage in a place go on where was stopped. Callers begin
// with the last place: where the place of a stage is empty now, its packets
// go to the next that holds any, behind those. Packets that are to have
// another index are taken out first, since an heir may take others whole.
func (l *line) takeOver(at place, was link.Stage, index int, now link.Time) {
	from, holds := was.(link.Holder)
	var marked link.FIFO
	if holds && index >= 0 {
		from.Drain(func(p link.Packet) {
			p.Mark = p.Mark.OnLink(index)
			marked.Push(p)
		})
	}
	if s, ok := l.stages[at].(link.Heir); ok {
		s.Inherit(now, was)
	}
	if !holds {
		return
	}
	to := l.holder(at)
	for marked.Len() > 0 {
		to.Adopt(now, marked.Pop())
	}
	from.Drain(func(p link.Packet) { to.Adopt(now, p) })
}

// holder returns the first stage from a place on that holds packets; the
// path, when none behind it does.
func (l *line) holder(at place) link.Holder {
	for _, s := range l.stages[at:] {
		if h, ok := s.(link.Holder); ok {
			return h
		}
	}
	return l.stages[path].(link.Holder)
}

// changed returns the index of a link now, or -1 if it had the same before.
func changed(was, now int) int {
	if was == now {
		return -1
	}
	return now
}
