package stage

import "farlink/emulator/link"

// PathConfig is how long packets travel.
type PathConfig struct {
	// Delay is the propagation delay one way.
	Delay link.Duration `toml:"delay,omitempty"`
}

// Check reports what is wrong with c.
func (c PathConfig) Check(report link.Report) {
	if c.Delay < 0 || c.Delay > maxDelay {
		report("delay", c.Delay.String(), "0..1h")
	}
}

const maxDelay = 3600 * link.Second

// Path is the way through space or fibre: a delay line. It keeps order: a
// packet never arrives before one that left earlier.
type Path struct {
	fifo  link.FIFO // each packet with the When at which it arrives
	due   link.Time // the front's; Never when empty
	last  link.Time // the latest due so far
	delay link.Duration
}

// NewPath returns the path that c describes.
func NewPath(c PathConfig, draw link.Draw) *Path {
	return &Path{due: link.Never, last: -link.Never, delay: c.Delay}
}

// Put sends p on its way.
func (l *Path) Put(p link.Packet, out link.Sink) {
	if l.due <= p.When {
		l.Run(p.When, out)
	}
	due := max(p.When+link.Time(l.delay), l.last)
	l.last = due
	if due <= p.When { // no delay, and nothing ahead
		out.Deliver(p)
		return
	}
	p.When = due
	l.push(p)
}

func (l *Path) push(p link.Packet) {
	if l.fifo.Len() == 0 {
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
	for l.fifo.Len() > 0 {
		yield(l.fifo.Pop())
	}
	l.due = link.Never
}

// Adopt sends on its way a packet due at p.When.
func (l *Path) Adopt(_ link.Time, p link.Packet) {
	p.When = max(p.When, l.last)
	l.last = p.When
	l.push(p)
}
