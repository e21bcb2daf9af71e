package leo

import (
	"farlink/emulator/link"
	"farlink/emulator/queue"
)

// Server is the queue slot: a waiting room served at the rate of the epoch,
// and not at all in the gap after a change.
type Server struct {
	network network
	room    queue.Room
	serving link.Packet // its When is that of its arrival
	busy    bool
	finish  link.Time // when serving leaves; Never when not busy
	free    link.Time // when the server last became free
	credit  int64     // work done in the last nanosecond beyond what was asked, bits·1e9
	seen    int64     // epoch whose rate the room knows
	resume  bool      // the first packet to be adopted is in service
}

// usualRTT is the round-trip time that a queue without a limit is made for.
const usualRTT = 100 * link.Millisecond

// NewServer returns the queue of way w. q's rate is not used; its limit,
// framing and discipline are. draw must be the same for all stages of a link.
func NewServer(c Config, q queue.Config, w link.Way, draw link.Draw) *Server {
	q.Rate = c.Rate(w)
	s := &Server{network: newNetwork(c, w, draw), finish: link.Never, seen: -1,
		room: queue.NewRoom(q.Complete(usualRTT), draw.Sub("queue "+w.String()))}
	s.look(0)
	return s
}

// look tells the room the rate of an instant.
func (s *Server) look(now link.Time) *epoch {
	e := s.network.at(now)
	if e.number != s.seen {
		s.seen = e.number
		s.room.ServeAt(e.rate)
	}
	return e
}

// Put lets p be served, wait, or be lost.
func (s *Server) Put(p link.Packet, out link.Sink) {
	if s.finish <= p.When {
		s.Run(p.When, out)
	}
	if !s.busy {
		s.look(max(p.When, s.free))
	}
	s.room.Join(p, out)
	if !s.busy {
		s.next(max(p.When, s.free), out)
	}
	if s.finish <= p.When { // unlimited
		s.Run(p.When, out)
	}
}

// next serves what waits, if anything does.
func (s *Server) next(at link.Time, out link.Sink) {
	s.look(at)
	p, ok := s.room.Take(at, out)
	if !ok {
		return
	}
	if at > s.free {
		s.credit = 0
	}
	s.serving, s.busy = p, true
	s.finish = s.done(at, s.room.Line(p.Size)*8e9-s.credit)
}

// done returns when work (bits·1e9) begun at an instant is done, through gaps
// and changes of rate.
func (s *Server) done(at link.Time, work int64) link.Time {
	for {
		e := s.look(at)
		if e.rate == 0 { // unlimited
			s.credit = 0
			return at
		}
		if e.number > 0 {
			at = max(at, e.begin.Add(s.network.c.Gap))
		}
		need := (work + e.rate - 1) / e.rate
		if at+link.Time(need) <= e.end {
			s.credit = need*e.rate - work
			return at + link.Time(need)
		}
		if left := e.end.Sub(at); left > 0 {
			work -= int64(left) * e.rate
		}
		at = e.end
	}
}

// Next returns when the packet in service leaves.
func (s *Server) Next() link.Time { return s.finish }

// Run serves until now.
func (s *Server) Run(now link.Time, out link.Sink) {
	for s.finish <= now {
		p := s.serving
		p.When = s.finish
		s.free, s.busy, s.finish = s.finish, false, link.Never
		out.Deliver(p)
		s.next(s.free, out)
	}
}

// Interrupt stops the way at an instant for a time, as a handover does:
// packets wait.
func (s *Server) Interrupt(at link.Time, d link.Duration) {
	if s.busy && s.finish > at {
		s.finish = s.finish.Add(d)
	}
	s.free = max(s.free, at.Add(d))
}

// Held returns what waits and what is in service.
func (s *Server) Held() (packets, bytes int) {
	packets, bytes = s.room.Len(), s.room.Bytes()
	if s.busy {
		packets, bytes = packets+1, bytes+int(s.serving.Size)
	}
	return packets, bytes
}

// Drain gives up all packets, each with the When of its arrival.
func (s *Server) Drain(yield func(link.Packet)) {
	if s.busy {
		s.busy, s.finish = false, link.Never
		yield(s.serving)
	}
	for s.room.Len() > 0 {
		yield(s.room.Pop())
	}
}

// Inherit goes on with the service of a server before it.
func (s *Server) Inherit(_ link.Time, old link.Stage) {
	if o, ok := old.(*Server); ok {
		s.resume, s.finish, s.free, s.credit = o.busy, o.finish, o.free, o.credit
		s.room.Inherit(&o.room)
	}
}

// Adopt lets p wait behind all that is inside, or be served further.
func (s *Server) Adopt(now link.Time, p link.Packet) {
	if s.resume {
		s.resume, s.serving, s.busy = false, p, true
		return
	}
	if s.busy {
		s.room.Push(p)
		return
	}
	s.serving, s.busy, s.credit = p, true, 0
	s.finish = s.done(max(now, s.free), s.room.Line(p.Size)*8e9)
}

// Capacity returns the rate now and when the network changes next; what it
// will then be nobody knows.
func (s *Server) Capacity(now link.Time) link.Capacity {
	n := s.network // a copy: looking does not move the model
	e := *n.at(now)
	_, bytes := s.Held()
	rate := link.Rate(e.rate)
	return link.Capacity{Version: uint64(e.number) + 1, Rate: rate, NextAt: e.end, NextRate: rate, Queue: link.Size(bytes), Room: s.room.Bears()}
}

// Probes yields the epoch and what it means for rate and queue.
func (s *Server) Probes(now link.Time, yield func(link.Probe)) {
	n := s.network
	e := n.at(now)
	_, elevation := e.pass.Look(now.Sub(n.begin()), 0, 0)
	packets, bytes := s.Held()
	yield(link.Probe{Name: "epoch", Value: float64(e.number)})
	yield(link.Probe{Name: "elevation_degrees", Value: elevation})
	yield(link.Probe{Name: "rate_bps", Value: float64(e.rate)})
	yield(link.Probe{Name: "queue_packets", Value: float64(packets)})
	yield(link.Probe{Name: "queue_bytes", Value: float64(bytes)})
	yield(link.Probe{Name: "queue_delay_ms", Value: s.room.Delay().Milliseconds()})
	s.room.Probes(yield)
}

// Air is the loss slot: background loss, and bursts at some changes.
type Air struct {
	network network
	packets link.Draw
	lost    [2]int // in the background, in bursts
}

// NewAir returns the air of way w.
func NewAir(c Config, w link.Way, draw link.Draw) *Air {
	return &Air{network: newNetwork(c, w, draw), packets: draw.Sub("packet " + w.String())}
}

// Put loses p or passes it on.
func (a *Air) Put(p link.Packet, out link.Sink) {
	e := a.network.at(p.When)
	x := a.packets.Float(p.Seq)
	switch {
	case p.When < e.burstEnd && x < e.burstLoss:
		a.lost[1]++
		out.Lose(p, link.Cause{Reason: link.Handover})
	case x < a.network.c.Loss:
		a.lost[0]++
		out.Lose(p, link.Cause{Reason: link.Random})
	default:
		out.Deliver(p)
	}
}

// Next returns Never: the air holds nothing.
func (a *Air) Next() link.Time { return link.Never }

// Run does nothing.
func (a *Air) Run(link.Time, link.Sink) {}

// Probes yields what was lost.
func (a *Air) Probes(_ link.Time, yield func(link.Probe)) {
	yield(link.Probe{Name: "lost_packets", Value: float64(a.lost[0])})
	yield(link.Probe{Name: "handover_lost_packets", Value: float64(a.lost[1])})
}

// Path is the path slot: flight and ground, as they are when a packet sets
// out. Packets keep their order: after a spike the late ones hold back those
// behind.
type Path struct {
	network network
	line    link.FIFO // When is the arrival at the far end
	last    link.Time
	step    link.Time     // of the delay held
	delay   link.Duration // at step
}

// walkStep is how finely the flight is reckoned: a satellite at 7.6 km/s
// comes nearer by less than 0.3 us of light in it.
const walkStep = link.Time(10 * link.Millisecond)

// NewPath returns the path of way w.
func NewPath(c Config, w link.Way, draw link.Draw) *Path {
	return &Path{network: newNetwork(c, w, draw), step: -1}
}

// Put sends p on its way.
func (t *Path) Put(p link.Packet, out link.Sink) {
	t.Run(p.When, out)
	if step := p.When / walkStep; step != t.step {
		t.step, t.delay = step, t.network.delay(step*walkStep)
	}
	t.last = max(t.last, p.When.Add(t.delay))
	p.When = t.last
	t.line.Push(p)
}

// Next returns when the packet ahead arrives.
func (t *Path) Next() link.Time {
	if t.line.Len() == 0 {
		return link.Never
	}
	return t.line.Front().When
}

// Run delivers what arrives by now.
func (t *Path) Run(now link.Time, out link.Sink) {
	for t.line.Len() > 0 && t.line.Front().When <= now {
		out.Deliver(t.line.Pop())
	}
}

// Held returns what is on its way.
func (t *Path) Held() (packets, bytes int) { return t.line.Len(), t.line.Bytes() }

// Drain gives up all packets, each with the When of its arrival at the far
// end.
func (t *Path) Drain(yield func(link.Packet)) {
	for t.line.Len() > 0 {
		yield(t.line.Pop())
	}
}

// Adopt lets p arrive when it was to arrive, or behind what is inside.
func (t *Path) Adopt(now link.Time, p link.Packet) {
	t.last = max(t.last, p.When, now)
	p.When = t.last
	t.line.Push(p)
}

// Probes yields the delay now.
func (t *Path) Probes(now link.Time, yield func(link.Probe)) {
	n := t.network
	yield(link.Probe{Name: "delay_ms", Value: n.delay(now).Milliseconds()})
}
