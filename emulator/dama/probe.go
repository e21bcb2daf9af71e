package dama

import (
	"strconv"

	"farlink/emulator/link"
)

// rate returns what slots of the station in a superframe are in bits per
// second of Ethernet frames.
func (s *Station) rate(slots int32) link.Rate {
	room := s.c.encap.Room(s.wave.Payload)
	num, den := efficiency(&s.c.encap, room)
	return link.Rate(muldiv(muldiv(int64(slots)*int64(room), 8e9, int64(s.c.cfg.Superframe)), num, den))
}

// Capacity returns what is granted in the present superframe and, once the
// table with it has come, in the next.
func (s *Station) Capacity(now link.Time) link.Capacity {
	s.c.advance(now)
	s.serve(now)
	c := s.c
	n := link.Capacity{
		Version: s.version, Rate: s.rate(s.slots), NextAt: c.next, Queue: link.Size(s.room.Bytes()),
		RTT:  2*c.cfg.Hop + c.cfg.Superframe/2,
		Room: s.room.Bears(), OnDemand: s.terminal().maxRate > 0 || s.terminal().maxVol > 0, Loop: s.loop(),
		Mode: strconv.Itoa(s.wave.ID) + " " + s.wave.Name,
	}
	n.NextRate = n.Rate
	sent := c.next.Add(-link.Duration(c.table) * c.cfg.Superframe)
	if known := sent.Add(c.cfg.Hop + link.Duration(c.cfg.Processing)*c.cfg.Superframe); known <= now {
		n.NextRate = s.rate(c.grants[c.tick%uint64(len(c.grants))][s.id].Slots)
	}
	return n
}

// loop is how long packets wait for what is asked for on their account: one
// signalling latency, unless the agent asks ahead of them or nothing is asked.
func (s *Station) loop() link.Duration {
	t := s.terminal()
	if t.ahead || t.maxRate == 0 && t.maxVol == 0 {
		return 0
	}
	return link.Duration(s.c.latency) * s.c.cfg.Superframe
}

// Probes yields the station's figures and the carrier's.
func (s *Station) Probes(now link.Time, yield func(link.Probe)) {
	s.c.advance(now)
	s.serve(now)
	t := s.terminal()
	_, outstanding := s.c.ncc.Outstanding(s.id)
	logged := 0.0
	if t.state == on {
		logged = 1
	}
	for _, p := range []link.Probe{
		{Name: "granted_bps", Value: float64(s.rate(s.slots))},
		{Name: "requested_bps", Value: float64(t.rate)},
		{Name: "requested_bytes", Value: float64(t.asked)},
		{Name: "outstanding_bytes", Value: float64(outstanding)},
		{Name: "backlog_bytes", Value: float64(t.backlog)},
		{Name: "queue_packets", Value: float64(s.room.Len())},
		{Name: "queue_bytes", Value: float64(s.room.Bytes())},
		{Name: "frame", Value: float64(s.c.tick - 1)},
		{Name: "logged_on", Value: logged},
		{Name: "modcod", Value: float64(s.wave.ID)},
		{Name: "carrier_load", Value: float64(s.c.used) / float64(s.c.ncc.Slots)},
		{Name: "contention_bursts", Value: float64(s.c.attempts)},
		{Name: "collisions", Value: float64(s.c.collisions)},
	} {
		yield(p)
	}
	s.room.Probes(yield)
}
