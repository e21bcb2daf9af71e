package stage

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
	arrive(p *link.Packet, r *room) verdict
	leave(p *link.Packet, now link.Time, r *room) verdict
	// inherit takes over the state of the discipline before it.
	inherit(old discipline)
	probes(yield func(link.Probe))
}

// room is where packets wait for a server: a FIFO with limit and discipline.
type room struct {
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

func newRoom(c QueueConfig, draw link.Draw) room {
	r := room{
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
	r.serveAt(int64(c.Rate))
	return r
}

// serveAt notes the rate, which a limit in time turns into bytes.
func (r *room) serveAt(rate int64) {
	r.rate = rate
	if r.limit.Time <= 0 {
		return
	}
	r.maxLine = math.MaxInt64
	if rate > 0 {
		r.maxLine = int64(link.Rate(rate).Bytes(r.limit.Time))
	}
}

// fits reports whether p has room beside what waits.
func (r *room) fits(p *link.Packet) bool {
	return r.fifo.Len() < r.maxPackets && r.fifo.Bytes()+int(p.Size) <= r.maxBytes &&
		(r.maxLine == math.MaxInt64 || r.line+r.framing.line(p.Size) <= r.maxLine)
}

// join lets p wait, or loses it or what is at the head.
func (r *room) join(p link.Packet, out link.Sink) {
	if r.aqm != nil && r.lost(r.aqm.arrive(&p, r), &p) {
		r.dropEarly(p, p.When, out)
		return
	}
	for !r.fits(&p) {
		r.full++
		if !r.headDrop || r.fifo.Len() == 0 {
			out.Lose(p, link.Cause{Reason: link.QueueFull})
			return
		}
		head := r.pop()
		head.When = p.When
		out.Lose(head, link.Cause{Reason: link.HeadDropped})
	}
	r.push(p)
}

// take returns the next packet to serve at now; ok is false when none is
// left. What the discipline drops on the way is lost at now.
func (r *room) take(now link.Time, out link.Sink) (p link.Packet, ok bool) {
	for r.fifo.Len() > 0 {
		p = r.pop()
		if r.aqm != nil && r.lost(r.aqm.leave(&p, now, r), &p) {
			r.dropEarly(p, now, out)
			continue
		}
		return p, true
	}
	return p, false
}

// marks reports whether a signal to p is a mark rather than a loss.
func (r *room) marks(p *link.Packet) bool { return r.ecn && p.Mark&link.ECT != 0 }

// lost carries out a verdict as far as it concerns p itself, and reports
// whether p is to be lost.
func (r *room) lost(v verdict, p *link.Packet) bool {
	if v == signal && r.marks(p) {
		p.Mark |= link.CE
		r.marked++
		return false
	}
	return v != keep
}

func (r *room) dropEarly(p link.Packet, now link.Time, out link.Sink) {
	r.early++
	p.When = now
	out.Lose(p, link.Cause{Reason: link.EarlyDropped})
}

func (r *room) push(p link.Packet) {
	r.line += r.framing.line(p.Size)
	r.fifo.Push(p)
}

func (r *room) pop() link.Packet {
	p := r.fifo.Pop()
	r.line -= r.framing.line(p.Size)
	return p
}

// delay returns how long what waits takes to serve at the present rate.
func (r *room) delay() link.Duration {
	return link.Rate(r.rate).Time(int(r.line))
}

func (r *room) probes(yield func(link.Probe)) {
	yield(link.Probe{Name: "queue_full_packets", Value: float64(r.full)})
	if r.aqm != nil {
		yield(link.Probe{Name: "early_dropped_packets", Value: float64(r.early)})
		yield(link.Probe{Name: "marked_packets", Value: float64(r.marked)})
		r.aqm.probes(yield)
	}
}
