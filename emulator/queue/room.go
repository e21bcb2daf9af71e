package queue

import (
	"math"

	"farlink/emulator/link"
)

// verdict is what a discipline says of a packet.
type verdict uint8

const (
	keep   verdict = iota
	signal         // mark it where marking is on and it is capable, else lose it
	drop           // lose it
)

// discipline is an active queue management: it may drop a packet when it
// arrives or when it would be served.
type discipline interface {
	arrive(p link.Packet, r *Room) verdict
	leave(p link.Packet, now link.Time, r *Room) verdict
	// inherit takes over the state of the discipline before it.
	inherit(old discipline)
	probes(yield func(link.Probe))
	// bears is how many bytes may stand without a signal.
	bears(rate link.Rate) int64
}

// Room is where packets wait for a server: a FIFO with limit and discipline.
type Room struct {
	framing
	fifo       link.FIFO
	line       int64 // bytes on the line of all that waits
	rate       int64 // bit/s at which it is served now; 0 unlimited
	limit      Limit
	maxPackets int
	maxBytes   int
	maxLine    int64
	headDrop   bool
	ecn        bool
	aqm        discipline // nil: none
	full       int        // lost for want of room
	early      int        // dropped by the discipline
	marked     int        // CE set by the discipline
}

// NewRoom returns the waiting room that c describes, served at the rate of c.
func NewRoom(c Config, draw link.Draw) Room {
	r := Room{
		framing: newFraming(c.FramingConfig), limit: c.Limit,
		maxPackets: math.MaxInt, maxBytes: math.MaxInt, maxLine: math.MaxInt64,
		headDrop: c.Discipline == "drophead", ecn: c.ECN,
	}
	switch {
	case c.Limit.Packets > 0:
		r.maxPackets = c.Limit.Packets
	case c.Limit.Bytes > 0:
		r.maxBytes = int(c.Limit.Bytes)
	}
	r.aqm = newDiscipline(c, draw)
	r.ServeAt(int64(c.Rate))
	return r
}

// ServeAt notes the rate at which the room is served from now on, bit/s, 0
// unlimited; it turns a limit in time into bytes.
func (r *Room) ServeAt(rate int64) {
	r.rate = rate
	if r.limit.Time <= 0 {
		return
	}
	r.maxLine = math.MaxInt64
	if rate > 0 {
		r.maxLine = int64(link.Rate(rate).Bytes(r.limit.Time))
	}
}

// fits reports whether a packet of size bytes has room beside what waits.
func (r *Room) fits(size uint16) bool {
	return r.fifo.Len() < r.maxPackets && r.fifo.Bytes()+int(size) <= r.maxBytes &&
		(r.maxLine == math.MaxInt64 || r.line+r.framing.Line(size) <= r.maxLine)
}

// Bears is how many bytes may wait before some are lost or marked: full
// packets where the limit counts packets. 0 is any number.
func (r *Room) Bears() link.Size {
	const full = 1514
	bears := min(int64(r.maxBytes), r.maxLine)
	if r.maxPackets < math.MaxInt/full {
		bears = min(bears, int64(r.maxPackets)*full)
	}
	if r.aqm != nil {
		bears = min(bears, r.aqm.bears(link.Rate(r.rate)))
	}
	if bears == math.MaxInt64 {
		return 0
	}
	return link.Size(bears)
}

// Join lets p wait, or loses it or what is at the head.
func (r *Room) Join(p link.Packet, out link.Sink) {
	if r.aqm != nil {
		v := r.aqm.arrive(p, r)
		if r.loses(p, v) {
			r.dropEarly(p, p.When, out)
			return
		}
		p = r.signed(p, v)
	}
	for !r.fits(p.Size) {
		r.full++
		if !r.headDrop || r.fifo.Len() == 0 {
			out.Lose(p, link.Cause{Reason: link.QueueFull})
			return
		}
		head := r.Pop()
		head.When = p.When
		out.Lose(head, link.Cause{Reason: link.HeadDropped})
	}
	r.Push(p)
}

// Take returns the next packet to serve at now; ok is false when none is
// left. What the discipline drops on the way is lost at now.
func (r *Room) Take(now link.Time, out link.Sink) (p link.Packet, ok bool) {
	for r.fifo.Len() > 0 {
		p = r.Pop()
		if r.aqm == nil {
			return p, true
		}
		v := r.aqm.leave(p, now, r)
		if !r.loses(p, v) {
			return r.signed(p, v), true
		}
		r.dropEarly(p, now, out)
	}
	return p, false
}

// marks reports whether a signal to p is a mark rather than a loss.
func (r *Room) marks(p link.Packet) bool { return r.ecn && p.Mark&link.ECT != 0 }

// loses reports whether the verdict means that p is lost.
func (r *Room) loses(p link.Packet, v verdict) bool {
	return v == drop || v == signal && !r.marks(p)
}

// signed returns p, which is not lost, with the mark that the verdict means.
func (r *Room) signed(p link.Packet, v verdict) link.Packet {
	if v == signal {
		p.Mark |= link.CE
		r.marked++
	}
	return p
}

func (r *Room) dropEarly(p link.Packet, now link.Time, out link.Sink) {
	r.early++
	p.When = now
	out.Lose(p, link.Cause{Reason: link.EarlyDropped})
}

// Push lets p wait whether there is room or not: what is adopted.
func (r *Room) Push(p link.Packet) {
	r.line += r.framing.Line(p.Size)
	r.fifo.Push(p)
}

// Pop removes the packet at the front; there must be one.
func (r *Room) Pop() link.Packet {
	p := r.fifo.Pop()
	r.line -= r.framing.Line(p.Size)
	return p
}

// Len returns how many packets wait.
func (r *Room) Len() int { return r.fifo.Len() }

// Bytes is the sum of the sizes of what waits.
func (r *Room) Bytes() int { return r.fifo.Bytes() }

// Rate returns the rate at which the room is served, bit/s; 0 unlimited.
func (r *Room) Rate() int64 { return r.rate }

// Managed reports whether a discipline looks at every packet, even one that
// need not wait.
func (r *Room) Managed() bool { return r.aqm != nil }

// Inherit takes over the state of a discipline of the same kind.
func (r *Room) Inherit(old *Room) {
	if r.aqm != nil && old.aqm != nil {
		r.aqm.inherit(old.aqm)
	}
}

// Delay returns how long what waits takes to serve at the present rate.
func (r *Room) Delay() link.Duration {
	return link.Rate(r.rate).Time(int(r.line))
}

// Probes yields what was lost or marked, and the state of the discipline.
func (r *Room) Probes(yield func(link.Probe)) {
	yield(link.Probe{Name: "queue_full_packets", Value: float64(r.full)})
	if r.aqm != nil {
		yield(link.Probe{Name: "early_dropped_packets", Value: float64(r.early)})
		yield(link.Probe{Name: "marked_packets", Value: float64(r.marked)})
		r.aqm.probes(yield)
	}
}
