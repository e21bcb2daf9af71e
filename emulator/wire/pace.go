package wire

import "farlink/emulator/link"

const (
	slack     = 0.005 // of a promised rate
	tickSlack = 1000  // ns of a span: emulators round departures to ns
	stallMost = 1_000_000
	// spanLeast is how many times the slack of a pace a span is to be long,
	// so that bunched frames weigh little in it.
	spanLeast = 10
)

// pacer holds the rate at which frames leave a link against what its emulator
// promises, one interval of publication (or some, where frames may be bunched)
// after the other: from the last departure of one to the last of the next, so
// that no frame is counted in part. It reckons with intended departures; how
// late real ones are is the book's matter. Copies do not count: a rate is of
// what was served.
type pacer struct {
	begun bool
	from  link.Time // the departure that the span begins with
	last  link.Time
	bits  int64 // of the frames that left after from
}

// left counts a frame that leaves.
func (p *pacer) left(k link.Packet) {
	if !p.begun {
		p.begun, p.from, p.last = true, k.When, k.When
		return
	}
	if k.Mark&link.Duplicate == 0 {
		p.bits += int64(k.Size) * 8
		p.last = k.When
	}
}

// pause forgets the span: frames were dropped that should have left.
func (p *pacer) pause() { p.begun, p.bits = false, 0 }

// judge closes the span at now and writes into v what it shows.
func (p *pacer) judge(v *checkView, k link.Pace, now link.Time) {
	switch {
	case k.Most == 0:
		p.pause()
	case p.bits == 0:
		p.silent(v, k, now)
	case k.Slack == 0 || p.last.Sub(p.from) >= spanLeast*k.Slack:
		p.close(v, k)
	}
}

// silent judges an interval in which no frame left: where frames wait, the
// largest should have by now.
func (p *pacer) silent(v *checkView, k link.Pace, now link.Time) {
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
func (p *pacer) close(v *checkView, k link.Pace) {
	span, bits, from := float64(p.last-p.from), float64(p.bits)*1e9, p.from
	p.from, p.bits = p.last, 0
	if from < k.Since {
		return
	}
	v.Paced++
	asked := link.Rate(0)
	switch {
	case bits > float64(k.Most)*(1+slack)*(span+tickSlack+float64(k.Slack)):
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
