package nr

import (
	"farlink/emulator/drift"
	"farlink/emulator/link"
	"farlink/emulator/queue"
)

// shadowSlot is the step in which the SINR moves.
const shadowSlot = 10 * link.Millisecond

// transmissions is how often a block is sent before RLC repairs it.
const transmissions = 4

// Server is the queue slot of a way. In each slot that its pattern gives it,
// it fills a transport block with what waits; the block is through at the end
// of the slot and after processing, a HARQ round later for each time it
// fails, and packets leave in order. A retransmission takes a slot from what
// waits.
type Server struct {
	c     Config
	way   link.Way
	room  queue.Room
	roles []int // symbols by slot of the pattern
	slot  link.Time
	fails link.Draw
	walk  *drift.Process // nil without shadowing

	due    link.Time // start of the next own slot with something to send
	sent   link.Time // start of the last own slot used
	owed   int       // retransmissions that slots to come are taken by
	head   link.Packet
	left   int64 // bits of head yet to be sent; 0: none begun
	before int64 // of the shadow slot for which row holds
	row    cqi
	index  int // of row, 0: none

	line link.FIFO // sent; When is the departure
	last link.Time

	resume bool // the first packet to be adopted that waits is head

	pause [2]link.Time // an interruption from outside: from, until
}

// usualRTT is the round-trip time that a queue without a limit is made for.
const usualRTT = 50 * link.Millisecond

// NewServer returns way w of the carrier that c describes, behind the queue
// that q does; q's rate is not used.
func NewServer(c Config, q queue.Config, w link.Way, draw link.Draw) *Server {
	c = c.complete()
	q.Rate = c.Peak(w)
	s := &Server{c: c, way: w, room: queue.NewRoom(q.Complete(usualRTT), draw.Sub("queue")), roles: c.roles(w),
		slot: link.Time(c.Slot()), fails: draw.Sub("block"), due: link.Never, before: -1}
	if r := c.radio(w); r.Shadowing > 0 {
		s.walk = drift.New(shadowSlot, r.ShadowingTime, draw.Sub("shadowing"))
	}
	s.adapt(0)
	return s
}

// sinr returns the SINR in a step of shadowing.
func (s *Server) sinr(step int64) float64 {
	r := s.c.radio(s.way)
	if s.walk == nil {
		return r.SINR
	}
	return r.SINR + r.Shadowing*s.walk.At(uint64(max(0, step)))
}

// adapt chooses the CQI of an instant.
func (s *Server) adapt(now link.Time) {
	step := int64(now / link.Time(shadowSlot))
	if step == s.before || s.walk == nil && s.before >= 0 {
		return
	}
	s.before = step
	row, index := s.c.radio(s.way).best(s.sinr(step))
	if index != s.index {
		s.row, s.index = row, index
		if index > 0 {
			s.room.ServeAt(int64(s.c.rate(s.way, row)))
		}
	}
}

// Put lets p wait for a slot, or loses it.
func (s *Server) Put(p link.Packet, out link.Sink) {
	if s.Next() <= p.When {
		s.Run(p.When, out)
	}
	s.room.Join(p, out)
	s.wake(p.When)
}

// wake finds the slot for what comes to an idle server: after processing,
// or, up, after the next request and its grant.
func (s *Server) wake(now link.Time) {
	if s.due != link.Never || s.room.Len() == 0 {
		return
	}
	ready := now.Add(s.c.Processing)
	if s.way == link.Up && s.c.Request > 0 {
		request := link.Time(s.c.Request)
		ready = (now+request-1)/request*request + link.Time(s.c.Grant)
	}
	s.due = s.own(ready)
	// Slots that went by idle have carried what was owed.
	s.owed = max(0, s.owed-int((s.due-s.sent)/s.slot)+1)
}

// own returns the start of the first own slot that begins at or after an
// instant, past the interruption of a handover.
func (s *Server) own(at link.Time) link.Time {
	if every := link.Time(s.c.HandoverEvery); every > 0 && at >= every {
		if end := at/every*every + link.Time(s.c.Interruption); at < end {
			at = end
		}
	}
	if at >= s.pause[0] && at < s.pause[1] {
		at = s.pause[1]
	}
	k := (at + s.slot - 1) / s.slot
	for s.roles[k%link.Time(len(s.roles))] == 0 {
		k++
	}
	return k * s.slot
}

// Next returns when a slot begins or a packet leaves.
func (s *Server) Next() link.Time {
	if s.line.Len() > 0 {
		return min(s.due, s.line.Front().When)
	}
	return s.due
}

// Run sends slots and lets packets out until now.
func (s *Server) Run(now link.Time, out link.Sink) {
	for next := s.Next(); next <= now; next = s.Next() {
		if s.line.Len() > 0 && s.line.Front().When == next {
			out.Deliver(s.line.Pop())
		} else {
			s.send(out)
		}
	}
}

// send fills the block of the slot that begins now.
func (s *Server) send(out link.Sink) {
	now, k := s.due, s.due/s.slot
	s.adapt(now)
	switch {
	case s.index == 0: // out of reach: ask again a step later
		s.due = s.own(now.Add(shadowSlot))
		return
	case s.owed > 0:
		s.owed--
	default:
		n := s.roles[k%link.Time(len(s.roles))]
		failures := s.failures(uint64(k))
		s.owed += min(failures, transmissions-1)
		s.fill(int64(float64(n)*s.c.perSymbol(s.way, s.row)), now, s.through(now, failures), out)
	}
	s.sent, s.due = now, link.Never
	if s.left > 0 || s.room.Len() > 0 {
		s.due = s.own(now + s.slot)
	}
}

// failures returns how often the block of a slot fails: transmissions when
// HARQ gives up.
func (s *Server) failures(slot uint64) int {
	n := 0
	for n < transmissions && s.fails.Chance(slot*transmissions+uint64(n), s.c.radio(s.way).BLER) {
		n++
	}
	return n
}

// through returns when a block sent in the slot that begins at an instant is
// decoded.
func (s *Server) through(now link.Time, failures int) link.Time {
	d := s.c.Processing + link.Duration(min(failures, transmissions-1))*s.c.HARQRound
	if failures == transmissions {
		d += s.c.RLCRound
	}
	return (now + s.slot).Add(d)
}

// fill puts bits of what waits into a block that is through at an instant.
func (s *Server) fill(space int64, now, through link.Time, out link.Sink) {
	for space > 0 {
		if s.left == 0 {
			p, ok := s.room.Take(now, out)
			if !ok {
				return
			}
			s.head, s.left = p, max(1, 8*s.room.Line(p.Size))
		}
		n := min(space, s.left)
		space, s.left = space-n, s.left-n
		s.last = max(s.last, through)
		if s.left == 0 {
			s.head.When = s.last
			s.line.Push(s.head)
		}
	}
}

// Interrupt stops the way at an instant for a time, as a handover does:
// packets wait.
func (s *Server) Interrupt(at link.Time, d link.Duration) {
	s.pause = [2]link.Time{at, at.Add(d)}
	if s.due != link.Never {
		s.due = s.own(s.due)
	}
}

// Held returns what waits and what is sent but not through.
func (s *Server) Held() (packets, bytes int) {
	packets, bytes = s.room.Len()+s.line.Len(), s.room.Bytes()+s.line.Bytes()
	if s.left > 0 {
		packets, bytes = packets+1, bytes+int(s.head.Size)
	}
	return packets, bytes
}

// Drain gives up all packets: what is sent with the When of its departure,
// what waits with that of its arrival.
func (s *Server) Drain(yield func(link.Packet)) {
	for s.line.Len() > 0 {
		yield(s.line.Pop())
	}
	if s.left > 0 {
		s.left = 0
		yield(s.head)
	}
	for s.room.Len() > 0 {
		yield(s.room.Pop())
	}
	s.due = link.Never
}

// Inherit goes on with the slots of a server before it: a grant on its way,
// retransmissions owed, a packet sent in part.
func (s *Server) Inherit(now link.Time, old link.Stage) {
	o, ok := old.(*Server)
	if !ok {
		return
	}
	s.sent, s.owed, s.left, s.resume, s.last = o.sent, o.owed, o.left, o.left > 0, o.last
	s.pause = o.pause
	s.room.Inherit(&o.room)
	if o.due != link.Never {
		s.due = s.own(o.due)
	}
}

// Adopt takes a packet that is due to leave at p.When, or that waits.
func (s *Server) Adopt(now link.Time, p link.Packet) {
	if p.When > now && s.room.Len() == 0 {
		if s.line.Len() > 0 {
			p.When = max(p.When, s.line.Back().When)
		}
		s.last = max(s.last, p.When)
		s.line.Push(p)
		return
	}
	if s.resume {
		s.resume, s.head = false, p
		return
	}
	p.When = min(p.When, now)
	s.room.Push(p)
	s.wake(now)
}

// Capacity returns the rate at the CQI of now; what the SINR will be nobody
// knows.
func (s *Server) Capacity(now link.Time) link.Capacity {
	row, index := s.c.radio(s.way).best(s.sinr(int64(now / link.Time(shadowSlot))))
	_, bytes := s.Held()
	rate := link.Rate(0)
	if index > 0 {
		rate = s.c.rate(s.way, row)
	}
	return link.Capacity{Version: uint64(now/link.Time(shadowSlot)) + 1, Rate: rate, NextAt: link.Never, NextRate: rate,
		RTT: 2 * (link.Duration(s.slot) + 2*s.c.Processing), Queue: link.Size(bytes), Room: s.room.Bears(), Mode: modes[index]}
}

// modes name the CQIs.
var modes = [16]string{"", "CQI 1", "CQI 2", "CQI 3", "CQI 4", "CQI 5", "CQI 6", "CQI 7", "CQI 8", "CQI 9", "CQI 10",
	"CQI 11", "CQI 12", "CQI 13", "CQI 14", "CQI 15"}

// Probes yields the chain of causes: SINR, CQI, rate, queue.
func (s *Server) Probes(now link.Time, yield func(link.Probe)) {
	sinr := s.sinr(int64(now / link.Time(shadowSlot)))
	_, index := s.c.radio(s.way).best(sinr)
	packets, bytes := s.Held()
	yield(link.Probe{Name: "sinr_db", Value: sinr})
	yield(link.Probe{Name: "cqi", Value: float64(index)})
	yield(link.Probe{Name: "rate_bps", Value: float64(s.Capacity(now).Rate)})
	yield(link.Probe{Name: "queue_packets", Value: float64(packets)})
	yield(link.Probe{Name: "queue_bytes", Value: float64(bytes)})
	yield(link.Probe{Name: "queue_delay_ms", Value: s.room.Delay().Milliseconds()})
	s.room.Probes(yield)
}
