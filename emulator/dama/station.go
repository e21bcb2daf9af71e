package dama

import (
	"farlink/emulator/dama/burst"
	"farlink/emulator/dama/ncc"
	"farlink/emulator/link"
	"farlink/emulator/queue"
)

// Station is one real terminal on a carrier: the stage in whose place a
// queue with a constant rate would stand.
type Station struct {
	c    *Carrier
	id   int
	wave burst.Waveform // of the present superframe
	room queue.Room
	out  outbox
	plan burst.Plan

	head  link.Packet // in bursts just now
	piece burst.Piece
	owed  int64 // of its cost, what bursts have not carried yet
	busy  bool  // there is a head

	coming  burst.Waveform // of the next superframe
	slots   int32          // granted in the present one
	version uint64
	sink    losses
	agreed  StationConfig
}

// losses is the sink that the waiting room sees: what is lost no longer
// counts in the backlog.
type losses struct {
	s   *Station
	out link.Sink // nil: into the outbox
}

func (l *losses) Deliver(link.Packet) {}
func (l *losses) Copy(link.Packet)    {}
func (l *losses) Lose(p link.Packet, c link.Cause) {
	l.s.terminal().backlog -= l.s.cost(p.Size)
	if l.out != nil {
		l.out.Lose(p, c)
		return
	}
	l.s.out.push(link.Fate{Packet: p, Cause: c})
}

// Station adds a real terminal to the carrier. All stations are added before
// the first is told the time.
func (c *Carrier) Station(cfg StationConfig, draw link.Draw) *Station {
	cfg = cfg.complete()
	t, terms := c.newTerminal(&cfg)
	peak := cfg.peak(&c.cfg, &c.encap, cfg.waveform(&c.cfg, c.wave))
	s := &Station{
		c: c, id: t.id, agreed: cfg, wave: cfg.waveform(&c.cfg, c.wave),
		coming: cfg.waveform(&c.cfg, c.wave),
		room:   queue.NewRoom(cfg.queue(&c.cfg, peak), draw.Sub("queue")),
	}
	s.sink.s = s
	t.station = s
	c.add(t, terms)
	c.stations = append(c.stations, s)
	return s
}

func (s *Station) terminal() *terminal { return &s.c.terminals[s.id] }

// ip is the size of the packet in a frame of size bytes.
func ip(size uint16) int { return max(1, int(size)-etherHeader) }

// cost is what a frame counts for in the backlog.
func (s *Station) cost(size uint16) int64 {
	return int64(s.c.encap.Cost(ip(size), s.terminal().room))
}

// Put lets p wait for slots.
func (s *Station) Put(p link.Packet, out link.Sink) {
	s.Run(p.When, out)
	t := s.terminal()
	if t.state == off {
		if !t.byNeed {
			out.Lose(p, link.Cause{Reason: link.NoStation})
			return
		}
		t.state = calling
	}
	cost := s.cost(p.Size)
	t.backlog += cost
	t.arrived += cost
	s.c.calm = 0
	s.sink.out = out
	s.room.Join(p, &s.sink)
	s.sink.out = nil
}

// Next returns when the station next has something to do.
func (s *Station) Next() link.Time {
	next := s.out.due()
	switch {
	case s.terminal().backlog > 0 && s.plan.Left > 0:
		next = min(next, s.busyUntil())
	case s.c.calm <= s.c.latency+maxWindow:
		next = min(next, s.c.next)
	}
	return next
}

// busyUntil returns when the burst ends, of those that follow without a break,
// before which the packet at the head cannot be complete. What happens while
// it is sent is made up for then, or by whoever comes before.
func (s *Station) busyUntil() link.Time {
	bursts := 0
	if s.busy {
		bursts = (s.piece.Left - 1) / s.c.encap.Room(s.wave.Payload)
	}
	return s.c.grid.Ahead(&s.plan, bursts)
}

// Run brings the whole carrier to now and delivers what this station's
// bursts have carried by then.
func (s *Station) Run(now link.Time, out link.Sink) {
	if s.c.next <= now {
		s.c.advance(now)
	}
	s.serve(now)
	if s.out.length > 0 {
		s.out.flush(now, out)
	}
}

// begin takes the slots of the superframe that begins at t.
func (s *Station) begin(t link.Time, g *ncc.Grant) {
	if g.Slots != s.slots || s.coming.ID != s.wave.ID {
		s.version++
	}
	s.slots, s.wave = g.Slots, s.coming
	s.plan = s.c.grid.Plan(t, int(g.First), int(g.Slots))
	if s.terminal().mute {
		s.plan.Left, s.slots = 0, 0
	}
}

// close uses up the superframe's slots.
func (s *Station) close() {
	if s.terminal().backlog > 0 {
		s.serve(link.Never - 1)
	}
	s.plan.Left = 0
}

// serve sends the bursts whose slots begin by t.
func (s *Station) serve(t link.Time) {
	for s.plan.Left > 0 {
		begin, end := s.c.grid.Next(&s.plan)
		if begin > t {
			return
		}
		s.c.grid.Step(&s.plan)
		if s.busy || s.room.Len() > 0 {
			s.burst(begin, end)
		}
	}
}

// burst fills one burst; what is complete in it leaves at its end.
func (s *Station) burst(begin, end link.Time) {
	t := s.terminal()
	for space := s.c.encap.Room(s.wave.Payload); space > 0; {
		if !s.busy && !s.take(begin) {
			return
		}
		used, done := s.c.encap.Fill(&s.piece, space)
		space -= used
		if !done {
			carried := min(int64(used), s.owed)
			s.owed -= carried
			t.backlog -= carried
			continue
		}
		t.backlog -= s.owed
		s.busy = false
		s.head.When = end
		s.out.push(link.Fate{Packet: s.head})
	}
}

// take brings the next waiting packet to the head.
func (s *Station) take(now link.Time) bool {
	p, ok := s.room.Take(now, &s.sink)
	if ok {
		s.head, s.busy = p, true
		s.piece = burst.Piece{Left: s.c.encap.Size(ip(p.Size))}
		s.owed = s.cost(p.Size)
	}
	return ok
}

// offer tells how many contention bursts the packet at the head would take,
// at most as many as given; data is false if there is none such.
func (s *Station) offer(most int) (bursts int32, data bool) {
	if most == 0 || !s.busy && !s.take(s.c.next) || s.piece.Begun {
		return 1, false
	}
	n := s.c.encap.Bursts(ip(s.head.Size), s.wave.Payload)
	if n > most {
		return 1, false
	}
	return int32(n), true
}

// offered ends what offer began: the head left by contention, or was lost.
func (s *Station) offered(end link.Time, through bool) {
	s.terminal().backlog -= s.owed
	s.busy = false
	s.head.When = end
	f := link.Fate{Packet: s.head}
	if !through {
		f.Cause.Reason = link.Collision
	}
	s.out.push(f)
}

// Logon lets the station log on, at now; it calls in CSC slots until it gets
// through.
func (s *Station) Logon(now link.Time) {
	s.c.advance(now)
	if t := s.terminal(); t.state == off {
		t.state = calling
		s.c.calm = 0
	}
}

// Logoff logs the station off, at now: what waits goes on waiting, what
// arrives is lost, or, if it logs on by traffic, calls it again.
func (s *Station) Logoff(now link.Time) {
	s.c.advance(now)
	if t := s.terminal(); t.state != off {
		s.c.logoff(t)
		s.plan.Left = 0
		s.c.calm = 0
	}
}

// Fade sets the Es/N0 at which the hub receives the station, at now: from
// the next superframe on it uses the best waveform that bears it. Where none
// does, the station is silent: packets wait, its slots pass unused, and what
// it would ask for nobody hears. Nothing of that on DVB-RCS, whose code rate
// is fixed.
func (s *Station) Fade(now link.Time, esn0 float64) {
	if s.c.cfg.Standard == "rcs" {
		return
	}
	s.c.advance(now)
	s.c.calm = 0
	w, ok := burst.Best(s.wave.Symbols, esn0)
	s.terminal().mute = !ok
	if ok {
		s.coming = w
		s.c.ncc.Tune(s.id, s.c.encap.Room(w.Payload))
	}
}
