package dama

import "farlink/emulator/link"

// Change gives the station at now what is agreed with it in c, and how it
// asks: capacities, weight, agent, opportunities to ask, when it leaves. What
// it asked for, and what it is owed, goes on within the new terms. The carrier
// gets c's rules of allocation and the load of its random access. The structure of the superframe, waveforms, hop, logon and the
// background stay as they are.
func (s *Station) Change(now link.Time, c Config) {
	c = c.Complete()
	if s.agreed == c.Station && s.c.rules() == c.rules() {
		return
	}
	s.c.advance(now)
	s.c.calm = 0
	s.c.rule(c)
	s.agreed = c.Station
	t := s.terminal()
	a, terms := s.c.terms(&c.Station, t.room)
	t.agent, t.horizon, t.maxRate, t.maxVol, t.cra = a.agent, a.horizon, a.maxRate, a.maxVol, a.cra
	t.rate, t.asked = min(t.rate, t.maxRate), min(t.asked, t.maxVol)
	t.period, t.piggy, t.leave = c.Station.Period, c.Station.Piggy, uint64(c.Station.Leave/s.c.cfg.Superframe)
	s.c.ncc.Agree(s.id, terms)
}

// rules are the settings of a carrier that may change while it runs.
type rules struct {
	sharing                    string
	free, timeout, persistence int
	load                       float64
	data, window               int
}

func (c *Config) rules() rules {
	return rules{c.Sharing, c.FCA, c.RBDCTimeout, c.Persistence, c.Access.Load, c.Access.Data, c.Access.Window}
}

func (c *Carrier) rules() rules { return c.cfg.rules() }

// rule puts the rules of a configuration in force.
func (c *Carrier) rule(to Config) {
	c.cfg.Sharing, c.cfg.FCA, c.cfg.RBDCTimeout, c.cfg.Persistence = to.Sharing, to.FCA, to.RBDCTimeout, to.Persistence
	c.cfg.Access.Load, c.cfg.Access.Data, c.cfg.Access.Window = to.Access.Load, to.Access.Data, to.Access.Window
	c.ncc.Fair, c.ncc.Free, c.ncc.Timeout, c.ncc.Persistence = to.Sharing == "fair", to.FCA, to.RBDCTimeout, to.Persistence
	for i := range c.terminals {
		c.terminals[i].timeout, c.terminals[i].keep = to.RBDCTimeout, to.Persistence
	}
}
