package stage

import (
	"math"

	"farlink/emulator/course"
	"farlink/emulator/link"
)

// PathConfig is how long packets travel.
type PathConfig struct {
	// Delay is the propagation delay one way; with jitter, its mean.
	Delay link.Duration `toml:"delay,omitempty"`
	// Jitter is how it varies; nothing: not at all.
	Jitter *JitterConfig `toml:"jitter,omitempty"`
}

// Check reports what is wrong with c.
func (c PathConfig) Check(report link.Report) {
	report.Delay("delay", c.Delay)
	if c.Jitter != nil {
		c.Jitter.check(c.Delay, report.Under("jitter"))
	}
}

// Path is the way through space or fibre: a delay line that keeps order. A
// packet never arrives before one that left earlier, so the delay realised
// is the running maximum of the delays drawn.
//
// That makes delays longer than asked where packets follow each other more
// closely than the jitter is wide. With a half-life h and a deviation s the
// mean grows by at most s²·ln2/h however close they come (the supremum of a
// Brownian motion with that variance rate and drift -1); without one it grows
// without such a bound. Asked and realised stand side by side in the probes.
type Path struct {
	fifo   link.FIFO // each packet with the When at which it arrives
	due    link.Time // the front's; Never when empty
	last   link.Time // the latest due so far
	delay  link.Duration
	jitter *jitter       // nil: none
	cursor course.Cursor // the course that the delay follows, if any
	sum    moments
}

// NewPath returns the path that c describes.
func NewPath(c PathConfig, draw link.Draw) *Path {
	l := &Path{due: link.Never, last: -link.Never, delay: c.Delay}
	if c.Jitter != nil {
		l.jitter = newJitter(*c.Jitter, draw)
	}
	return l
}

// Follow lets the delay of the path follow the course of t: a packet travels
// as long as the step says in which it set out, or longer to keep its order.
func (l *Path) Follow(t *course.Course) { l.cursor = course.NewCursor(t) }

// Put sends p on its way.
func (l *Path) Put(p link.Packet, out link.Sink) {
	if l.due <= p.When {
		l.Run(p.When, out)
	}
	travel := l.travel(p.When)
	if l.jitter != nil { // rounded; never less than no time
		travel = link.Duration(max(0, float64(travel)+l.jitter.deviate(p)+0.5))
	}
	due := max(p.When+link.Time(travel), l.last)
	l.last = due
	l.sum.add(due.Sub(p.When))
	if due == p.When && l.due == link.Never {
		out.Deliver(p)
		return
	}
	p.When = due
	l.push(p)
}

// travel returns the mean delay at now.
func (l *Path) travel(now link.Time) link.Duration {
	if l.cursor.Course != nil {
		l.cursor.Seek(now)
		if d := l.cursor.Step.Delay; d != nil {
			return *d
		}
	}
	return l.delay
}

func (l *Path) push(p link.Packet) {
	if l.due == link.Never {
		l.due = p.When
	}
	l.fifo.Push(p)
}

// Next returns when the first packet on the way arrives.
func (l *Path) Next() link.Time { return l.due }

// Run lets arrive all that are due.
func (l *Path) Run(now link.Time, out link.Sink) {
	for l.due <= now {
		p := l.fifo.Pop()
		l.due = link.Never
		if l.fifo.Len() > 0 {
			l.due = l.fifo.Front().When
		}
		out.Deliver(p)
	}
}

// Held returns what is on the way.
func (l *Path) Held() (packets, bytes int) { return l.fifo.Len(), l.fifo.Bytes() }

// Drain gives up all that is on the way, each with the When of its arrival
// at the end.
func (l *Path) Drain(yield func(link.Packet)) {
	l.due = link.Never
	for l.fifo.Len() > 0 {
		yield(l.fifo.Pop())
	}
}

// Adopt sends on its way a packet that is due at p.When.
func (l *Path) Adopt(now link.Time, p link.Packet) {
	p.When = max(p.When, now, l.last)
	l.last = p.When
	l.push(p)
}

// Inherit goes on with the order of the old path, its present deviation, and
// all that is on the way: at once, however many they are.
func (l *Path) Inherit(_ link.Time, old link.Stage) {
	o, ok := old.(*Path)
	if !ok {
		return
	}
	if l.fifo.Len() == 0 {
		l.fifo, l.due, l.last = o.fifo, o.due, o.last
		o.fifo, o.due = link.FIFO{}, link.Never
	}
	if l.jitter != nil && o.jitter != nil {
		l.jitter.z, l.jitter.last, l.jitter.begun = o.jitter.z, o.jitter.last, o.jitter.begun
	}
}

// Probes yields the delay asked for and the delay realised.
func (l *Path) Probes(now link.Time, yield func(link.Probe)) {
	asked, spread := l.travel(now).Milliseconds(), 0.0
	if l.jitter != nil {
		mean, sd := l.jitter.moments()
		asked, spread = asked+mean/1e6, sd/1e6
	}
	mean, sd := l.sum.ms()
	yield(link.Probe{Name: "path_packets", Value: float64(l.fifo.Len())})
	yield(link.Probe{Name: "path_bytes", Value: float64(l.fifo.Bytes())})
	yield(link.Probe{Name: "delay_asked_ms", Value: asked})
	yield(link.Probe{Name: "delay_mean_ms", Value: mean})
	yield(link.Probe{Name: "jitter_asked_ms", Value: spread})
	yield(link.Probe{Name: "jitter_ms", Value: sd})
}

// moments sums delays about the first of them, so that the deviation of a
// long delay loses no digits.
type moments struct {
	n           int
	first       link.Duration
	sum, square float64 // ns
}

func (m *moments) add(d link.Duration) {
	if m.n == 0 {
		m.first = d
	}
	m.n++
	x := float64(d - m.first)
	m.sum += x
	m.square += x * x
}

// ms returns mean and standard deviation in milliseconds; 0, 0 before the
// first packet.
func (m *moments) ms() (mean, sd float64) {
	if m.n == 0 {
		return 0, 0
	}
	mean = m.sum / float64(m.n)
	sd = math.Sqrt(max(0, m.square/float64(m.n)-mean*mean))
	return (mean + float64(m.first)) / 1e6, sd / 1e6
}
