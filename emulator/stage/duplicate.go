package stage

import "farlink/emulator/link"

// DuplicateConfig lets packets arrive twice.
type DuplicateConfig struct {
	// Probability with which a packet is sent once more.
	Probability float64 `toml:"probability,omitempty"`
	// Delay is how long after the packet its copy comes; zero: at once.
	Delay link.Duration `toml:"delay,omitempty"`
}

// Check reports what is wrong with c.
func (c DuplicateConfig) Check(report link.Report) {
	report.Probability("probability", c.Probability)
	report.Delay("delay", c.Delay)
}

// Duplicate passes every packet on at once, and some once more.
type Duplicate struct {
	config DuplicateConfig
	draw   link.Draw
	fifo   link.FIFO // the copies, each with the When at which it goes
	copies int
}

// NewDuplicate returns the duplication that c describes.
func NewDuplicate(c DuplicateConfig, draw link.Draw) *Duplicate {
	return &Duplicate{config: c, draw: draw}
}

// Put passes p on and, by chance, makes a copy.
func (d *Duplicate) Put(p link.Packet, out link.Sink) {
	d.Run(p.When, out)
	if !d.draw.Chance(p.Seq, d.config.Probability) {
		out.Deliver(p)
		return
	}
	d.copies++
	out.Copy(p)
	out.Deliver(p)
	p.Mark |= link.Duplicate
	if d.config.Delay == 0 {
		out.Deliver(p)
		return
	}
	p.When = p.When.Add(d.config.Delay)
	d.Adopt(0, p)
}

// Next returns when the next copy goes.
func (d *Duplicate) Next() link.Time {
	if d.fifo.Len() == 0 {
		return link.Never
	}
	return d.fifo.Front().When
}

// Run sends the copies that are due.
func (d *Duplicate) Run(now link.Time, out link.Sink) {
	for d.fifo.Len() > 0 && d.fifo.Front().When <= now {
		out.Deliver(d.fifo.Pop())
	}
}

// Held returns the copies still to go.
func (d *Duplicate) Held() (packets, bytes int) { return d.fifo.Len(), d.fifo.Bytes() }

// Drain gives up the copies, each with the When at which it goes.
func (d *Duplicate) Drain(yield func(link.Packet)) {
	for d.fifo.Len() > 0 {
		yield(d.fifo.Pop())
	}
}

// Adopt sends a copy at p.When, and not before those that it follows.
func (d *Duplicate) Adopt(_ link.Time, p link.Packet) {
	if d.fifo.Len() > 0 {
		p.When = max(p.When, d.fifo.Back().When)
	}
	d.fifo.Push(p)
}

// Probes yields how many copies were made.
func (d *Duplicate) Probes(_ link.Time, yield func(link.Probe)) {
	yield(link.Probe{Name: "duplicated_packets", Value: float64(d.copies)})
}
