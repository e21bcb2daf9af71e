package dama

import "farlink/emulator/link"

// Inherit lets the station go on where the one formerly in its place
// stopped. The first station of a carrier that inherits brings the carrier's
// clock along, and, where the structure is the same, what is on its way to
// and from the NCC and the background terminals' queues.
func (s *Station) Inherit(now link.Time, old link.Stage) {
	o, ok := old.(*Station)
	if !ok {
		s.c.beginAt(now)
		return
	}
	o.c.advance(now)
	o.serve(now)
	s.out, o.out = o.out, outbox{}
	if !s.c.primed {
		s.c.inherit(o.c, now)
	}
	t, was := s.terminal(), o.terminal()
	t.state, t.tries, t.due, t.silent = was.state, was.tries, was.due, was.silent
	s.c.ncc.Admit(s.id, t.state == on)
	if !s.c.like(o.c) {
		return
	}
	t.succeed(was)
	s.c.ncc.Inherit(s.id, &o.c.ncc, o.id)
	s.room.Inherit(&o.room)
	s.version = o.version + 1
	if s.c.encap == o.c.encap && s.wave == o.wave && o.busy {
		for o.out.length > 0 { // goes before the head
			s.out.push(o.out.pop())
		}
		s.head, s.piece, s.owed, s.busy = o.head, o.piece, o.owed, true
		t.backlog += s.owed
		o.busy = false
	}
	s.slots, s.plan = o.slots, o.plan
}

// succeed takes over what a terminal has asked for.
func (t *terminal) succeed(was *terminal) {
	t.arrived, t.asked, t.said = was.arrived, min(was.asked, t.maxVol), was.said
	t.doubt, t.answer = was.doubt, was.answer
	t.rate, t.timer = min(was.rate, t.maxRate), was.timer
	if len(t.flight) == len(was.flight) {
		copy(t.flight, was.flight)
		t.flying = was.flying
	}
	if len(t.window) == len(was.window) {
		copy(t.window, was.window)
		t.recent = was.recent
	}
}

// beginAt lets a carrier that has not begun begin with the superframe after
// now.
func (c *Carrier) beginAt(now link.Time) {
	if c.primed || now <= 0 {
		return
	}
	c.tick = uint64(now)/uint64(c.cfg.Superframe) + 1
	c.next = link.Time(c.tick) * link.Time(c.cfg.Superframe)
	c.prime()
}

// like reports whether c is laid out as o is.
func (c *Carrier) like(o *Carrier) bool {
	return c.cfg.Superframe == o.cfg.Superframe && c.cfg.Frames == o.cfg.Frames && c.cfg.Carriers == o.cfg.Carriers &&
		c.latency == o.latency && c.table == o.table && c.grid.Slots() == o.grid.Slots() && len(c.terminals) == len(o.terminals)
}

// inherit takes over from another carrier.
func (c *Carrier) inherit(o *Carrier, now link.Time) {
	if c.cfg.Superframe != o.cfg.Superframe {
		c.beginAt(now)
		return
	}
	c.tick, c.next = o.tick, o.next
	if !c.like(o) || !o.primed {
		return
	}
	c.primed = true
	for i := range c.grants {
		copy(c.grants[i], o.grants[i])
	}
	for i := range c.inbox {
		c.inbox[i] = append(c.inbox[i][:0], o.inbox[i]...)
	}
	for i := range c.terminals {
		t, was := &c.terminals[i], &o.terminals[i]
		if t.station != nil || was.station != nil {
			continue
		}
		t.backlog = min(was.backlog, t.limit)
		t.state, t.tries, t.due = was.state, was.tries, was.due
		t.source.Inherit(&was.source)
		t.succeed(was)
		c.ncc.Inherit(i, &o.ncc, i)
	}
}

// Held returns the packets and bytes that wait or are in bursts.
func (s *Station) Held() (packets, bytes int) {
	packets, bytes = s.room.Len(), s.room.Bytes()
	if s.busy {
		packets, bytes = packets+1, bytes+int(s.head.Size)
	}
	for i := range s.out.length {
		if f := &s.out.ring[(s.out.first+i)&(len(s.out.ring)-1)]; !f.Lost() {
			bytes += int(f.Packet.Size)
		}
	}
	return packets + s.out.length, bytes
}

// Drain gives up what is held: what bursts have carried with the instant at
// which it leaves, what waits with that of its arrival.
func (s *Station) Drain(yield func(link.Packet)) {
	for s.out.length > 0 {
		yield(s.out.pop().Packet)
	}
	if s.busy {
		s.busy = false
		yield(s.head)
	}
	for s.room.Len() > 0 {
		yield(s.room.Pop())
	}
	s.terminal().backlog = 0
}

// Adopt takes a packet of the stage formerly in this place: one that was to
// leave at an instant to come does, unless another waits before it.
func (s *Station) Adopt(now link.Time, p link.Packet) {
	s.c.beginAt(now)
	if p.When > now && s.room.Len() == 0 && !s.busy {
		s.out.push(link.Fate{Packet: p})
		return
	}
	p.When = min(p.When, now)
	s.terminal().backlog += s.cost(p.Size)
	s.c.calm = 0
	s.room.Push(p)
}
