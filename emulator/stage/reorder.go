package stage

import (
	"strconv"

	"farlink/emulator/link"
)

// ReorderConfig lets packets past others: a chosen packet steps aside until
// Extent packets have gone by, or for Delay, whichever is first.
type ReorderConfig struct {
	// Probability with which a packet steps aside.
	Probability float64 `toml:"probability,omitempty"`
	// Every lets, besides, every so-manieth packet step aside; zero: none.
	Every int `toml:"every,omitempty"`
	// Extent is how many packets go by (RFC 4737); zero: as many as come
	// within Delay.
	Extent int `toml:"extent,omitempty"`
	// Delay is the longest that a packet stands aside.
	Delay link.Duration `toml:"delay"`
}

// Check reports what is wrong with c.
func (c ReorderConfig) Check(report link.Report) {
	report.Probability("probability", c.Probability)
	if c.Every < 0 {
		report("every", strconv.Itoa(c.Every), "0 (none) or a positive number of packets")
	}
	if c.Extent < 0 {
		report("extent", strconv.Itoa(c.Extent), "0 (no bound) or a positive number of packets")
	}
	if c.Delay <= 0 || c.Delay > link.MaxDelay {
		report("delay", c.Delay.String(), "how long a packet may stand aside at most, as 20ms")
	}
}

// Reorder lets packets past others. What stands aside is never overtaken by
// another that does, and there is no more of it than the arrivals of Delay.
type Reorder struct {
	config ReorderConfig
	draw   link.Draw
	fifo   link.FIFO // what stands aside, each with the When at which it must go
	turns  []uint64  // ring beside it: the count of passed at which each may go
	first  int
	passed uint64 // packets that went straight on
	seen   uint64
	aside  uint64
}

// NewReorder returns the reordering that c describes.
func NewReorder(c ReorderConfig, draw link.Draw) *Reorder {
	return &Reorder{config: c, draw: draw, turns: make([]uint64, 16)}
}

// Put lets p step aside or pass.
func (r *Reorder) Put(p link.Packet, out link.Sink) {
	r.Run(p.When, out)
	r.seen++
	if r.draw.Chance(p.Seq, r.config.Probability) || r.config.Every > 0 && r.seen%uint64(r.config.Every) == 0 {
		r.aside++
		p.Mark |= link.Reordered
		p.When = p.When.Add(r.config.Delay)
		r.hold(p)
		return
	}
	r.passed++
	out.Deliver(p)
	for r.config.Extent > 0 && r.fifo.Len() > 0 && r.turns[r.first] <= r.passed {
		back := r.release()
		back.When = p.When
		out.Deliver(back)
	}
}

// hold lets p stand aside behind those that do.
func (r *Reorder) hold(p link.Packet) {
	n := r.fifo.Len()
	if n == len(r.turns) {
		r.grow()
	}
	r.turns[(r.first+n)%len(r.turns)] = r.passed + uint64(r.config.Extent)
	if n > 0 {
		p.When = max(p.When, r.fifo.Back().When)
	}
	r.fifo.Push(p)
}

func (r *Reorder) grow() {
	wider := make([]uint64, 2*len(r.turns))
	n := copy(wider, r.turns[r.first:])
	copy(wider[n:], r.turns[:r.first])
	r.turns, r.first = wider, 0
}

func (r *Reorder) release() link.Packet {
	r.first = (r.first + 1) % len(r.turns)
	return r.fifo.Pop()
}

// Next returns when the first that stands aside must go.
func (r *Reorder) Next() link.Time {
	if r.fifo.Len() == 0 {
		return link.Never
	}
	return r.fifo.Front().When
}

// Run sends on those that stood aside long enough.
func (r *Reorder) Run(now link.Time, out link.Sink) {
	for r.fifo.Len() > 0 && r.fifo.Front().When <= now {
		out.Deliver(r.release())
	}
}

// Held returns what stands aside.
func (r *Reorder) Held() (packets, bytes int) { return r.fifo.Len(), r.fifo.Bytes() }

// Drain gives up what stands aside, each with the When at which it must go.
func (r *Reorder) Drain(yield func(link.Packet)) {
	for r.fifo.Len() > 0 {
		yield(r.release())
	}
}

// Adopt lets p stand aside until p.When or until its turn.
func (r *Reorder) Adopt(_ link.Time, p link.Packet) { r.hold(p) }

// Probes yields what stands aside, and how many did.
func (r *Reorder) Probes(_ link.Time, yield func(link.Probe)) {
	yield(link.Probe{Name: "aside_packets", Value: float64(r.fifo.Len())})
	yield(link.Probe{Name: "reordered_packets", Value: float64(r.aside)})
}
