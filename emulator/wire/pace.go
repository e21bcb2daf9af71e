package wire

import "farlink/emulator/link"

const (
	slack     = 0.005 // of a promised rate
	tickSlack = 1000  // ns of a span: emulators round departures to ns
	stallMost = 1_000_000
)

// pacer holds the rate at which frames leave a way against what its emulator
// promises, one interval of publication after the other: from the last
// departure of one to the last of the next, so that no frame is counted in
// part. It reckons with intended departures; how late real ones are is the
// book's matter.
type pacer struct {
	em    Paced // nil: nothing is promised
	begun bool
	from  link.Time // the departure that the span begins with
	last  link.Time
	bits  int64 // of the frames that left after from
}

// promised asks the present emulator what it promises.
func (l *loop) promised() {
	l.promise, l.pace = 0, pacer{}
	if p, ok := l.em.(Promised); ok {
		l.promise = int64(p.Promise(l.way))
	}
	l.pace.em, _ = l.em.(Paced)
}

// left counts a frame that leaves.
func (p *pacer) left(k link.Packet) {
	if !p.begun {
		p.begun, p.from, p.last = true, k.When, k.When
		return
	}
	p.bits += int64(k.Size) * 8
	p.last = k.When
}

// pause forgets the span: frames were dropped that should have left.
func (p *pacer) pause() { p.begun, p.bits = false, 0 }

// judge closes the span at now and writes into v what it shows.
func (p *pacer) judge(v *wayView, w link.Way, now link.Time) {
	if p.em == nil {
		return
	}
	k := p.em.Pace(w)
	switch {
	case k.Most == 0:
		p.pause()
	case p.bits == 0:
		p.silent(v, k, now)
	default:
		p.close(v, k)
	}
}

// silent judges an interval in which no frame left: where frames wait, the
// largest should have by now.
func (p *pacer) silent(v *wayView, k link.Pace, now link.Time) {
	from := max(k.Since, k.Busy)
	if p.begun {
		from = max(from, p.from)
	}
	if k.Least == 0 || k.Busy == link.Never || now.Sub(from) <= k.Least.Time(maxFrame)+stallMost {
		return
	}
	v.Paced++
	v.Slow++
	v.MissBps, v.AskedBps = 0, int64(k.Least)
}

// close judges an interval in which frames left, and begins the next.
func (p *pacer) close(v *wayView, k link.Pace) {
	span, bits, from := float64(p.last-p.from), float64(p.bits)*1e9, p.from
	p.from, p.bits = p.last, 0
	if from < k.Since {
		return
	}
	v.Paced++
	asked := link.Rate(0)
	switch {
	case bits > float64(k.Most)*(1+slack)*(span+tickSlack):
		v.Fast++
		asked = k.Most
	case k.Busy <= from && bits < float64(k.Least)*(1-slack)*(span-tickSlack):
		v.Slow++
		asked = k.Least
	}
	if asked > 0 {
		v.MissBps, v.AskedBps = int64(bits/max(span, 1)), int64(asked)
	}
}
