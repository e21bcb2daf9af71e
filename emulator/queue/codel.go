package queue

import (
	"math"

	"farlink/emulator/link"
)

// CoDelConfig is Controlled Delay (RFC 8289).
type CoDelConfig struct {
	// Target is the wait that may stand; default 5ms.
	Target link.Duration `toml:"target,omitempty"`
	// Interval is how long it may stand before the first signal, about the
	// longest usual round-trip time; default 100ms. A GEO link wants 600ms.
	Interval link.Duration `toml:"interval,omitempty"`
}

func (c CoDelConfig) check(report link.Report) {
	if c.Interval > 0 && c.Target >= c.Interval {
		report("target", c.Target.String(), "less than the interval, "+c.Interval.String())
	}
}

type codel struct {
	target, interval link.Duration
	firstAbove       link.Time // when the wait will have stood for an interval; 0: it does not stand
	dropNext         link.Time
	count, lastCount int
	dropping         bool
	after            aftermath
}

// aftermath is what codel still has to do with the packet behind one that it
// dropped: RFC 8289's deque looks at both in one call.
type aftermath uint8

const (
	nothing   aftermath = iota
	continued           // dropped in the dropping state
	entered             // dropped on entering it
)

func newCoDel(c *CoDelConfig) *codel {
	d := &codel{target: 5 * link.Millisecond, interval: 100 * link.Millisecond}
	if c != nil && c.Interval > 0 {
		d.interval = c.Interval
		d.target = c.Interval / 20
	}
	if c != nil && c.Target > 0 {
		d.target = c.Target
	}
	return d
}

func (d *codel) bears(rate link.Rate) int64 { return int64(rate.Bytes(d.target)) }

func (d *codel) arrive(link.Packet, *Room) verdict { return keep }

// leave is RFC 8289 section 5.5 packet by packet.
func (d *codel) leave(p link.Packet, now link.Time, q *Room) verdict {
	over := d.over(p, now, q)
	after := d.after
	d.after = nothing
	switch {
	case after == entered:
		return keep
	case d.dropping && !over:
		d.dropping = false
		return keep
	case after == continued:
		d.dropNext = d.law(d.dropNext)
	}
	switch {
	case d.dropping && now >= d.dropNext:
		d.count++
		if q.marks(p) {
			d.dropNext = d.law(d.dropNext)
		} else {
			d.after = continued
		}
		return signal
	case !d.dropping && over:
		d.enter(now)
		if !q.marks(p) {
			d.after = entered
		}
		return signal
	}
	return keep
}

// over reports whether the wait has been above target for an interval.
func (d *codel) over(p link.Packet, now link.Time, q *Room) bool {
	if now.Sub(p.When) < d.target || q.fifo.Bytes() <= fullFrame {
		d.firstAbove = 0
		return false
	}
	if d.firstAbove == 0 {
		d.firstAbove = now.Add(d.interval)
		return false
	}
	return now >= d.firstAbove
}

// enter begins to drop, at a rate near the last one's if that was lately.
func (d *codel) enter(now link.Time) {
	d.dropping = true
	delta := d.count - d.lastCount
	d.count = 1
	if delta > 1 && now.Sub(d.dropNext) < 16*d.interval {
		d.count = delta
	}
	d.dropNext = d.law(now)
	d.lastCount = d.count
}

// law sets the next signal so that the rate grows with the square root of
// their number.
func (d *codel) law(t link.Time) link.Time {
	return t.Add(link.Duration(float64(d.interval) / math.Sqrt(float64(d.count))))
}

func (d *codel) inherit(old discipline) {
	if o, ok := old.(*codel); ok {
		target, interval := d.target, d.interval
		*d = *o
		d.target, d.interval = target, interval
	}
}

func (d *codel) probes(yield func(link.Probe)) {
	dropping := 0.0
	if d.dropping {
		dropping = 1
	}
	yield(link.Probe{Name: "codel_dropping", Value: dropping})
	yield(link.Probe{Name: "codel_count", Value: float64(d.count)})
}
