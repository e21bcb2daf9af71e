package dama

import (
	"farlink/emulator/dama/ncc"
	"farlink/emulator/dama/traffic"
	"farlink/emulator/link"
)

// state is where a terminal is with the network.
type state uint8

const (
	off     state = iota // not logged on, and not trying
	calling              // sends CSC bursts until one gets through
	waiting              // got through, the response is on its way
	on                   // logged on
)

// terminal is what real stations and background terminals have in common: a
// backlog, the requests for it, a state.
type terminal struct {
	asker
	id      int
	room    int   // bytes that a slot carries
	backlog int64 // bytes waiting
	station *Station
	source  traffic.Source // of a background terminal
	limit   int64          // of its backlog

	ahead  bool // asks for what will have arrived, not for what waits
	period int  // of request slots, superframes; 0 none
	piggy  bool
	tries  int    // contention bursts without an answer
	due    uint64 // superframe from which it may send one (calling, asking) or is logged on (waiting)

	state  state
	mute   bool   // faded below every waveform
	byNeed bool   // logs on by its first packet
	leave  uint64 // superframes without traffic after which it logs off; 0 never
	silent uint64 // superframes without traffic so far
}

// newTerminal returns the terminal and its account at the NCC.
func (c *Carrier) newTerminal(s *StationConfig) (terminal, ncc.Terms) {
	w := s.waveform(&c.cfg, c.wave)
	room := c.encap.Room(w.Payload)
	a, terms := c.terms(s, room)
	a.window, a.flight = make([]int64, s.Window), make([]int64, c.latency)
	t := terminal{
		asker: a,
		id:    len(c.terminals), room: room,
		ahead:  s.RBDC > 0 && s.Agent == "predict",
		period: s.Period, piggy: s.Piggy,
		state: on, byNeed: s.Logon == "traffic",
		leave: uint64(s.Leave / c.cfg.Superframe),
	}
	switch s.Logon {
	case "traffic":
		t.state = off
	case "begin":
		t.state = calling
	}
	return t, terms
}

// terms returns how a terminal asks by what is agreed with it, and that for
// the NCC; a slot carries room bytes.
func (c *Carrier) terms(s *StationConfig, room int) (asker, ncc.Terms) {
	a := asker{
		horizon: int64(s.Horizon),
		maxRate: int64(s.RBDC),
		maxVol:  int64(s.VBDC),
		cra:     int64(s.CRA),
		least:   muldiv(int64(room), 8e9, int64(c.cfg.Superframe)) + 1,
		timeout: c.cfg.RBDCTimeout,
		unit:    1,
		keep:    c.cfg.Persistence,
	}
	a.agent, _ = AgentOf(s.Agent)
	or(&a.horizon, int64(c.latency))
	if _, useful := c.encap.Cell(); useful != 0 {
		a.unit = int64(useful)
	}
	return a, ncc.Terms{
		Weight: s.Weight, Limit: c.grid.Limit(), Payload: room,
		CRA: int64(s.CRA), RBDC: a.maxRate, VBDC: a.maxVol, FCA: s.FCA,
	}
}

// still reports that nothing will change by itself.
func (t *terminal) still() bool {
	return t.station != nil && t.backlog == 0 && t.idle() &&
		(t.state == on && t.leave == 0 || t.state == off)
}

// arrive lets the traffic of superframe n join a background terminal's queue.
func (t *terminal) arrive(d link.Draw, n uint64) {
	b := t.source.Arrive(d, index(t.id, n, 0), n)
	t.arrived += b
	t.backlog = min(t.backlog+b, t.limit)
	if b > 0 && t.byNeed && t.state == off {
		t.state = calling
	}
}

// call is a wish to use contention slots in this superframe.
type call struct {
	id       int32
	bursts   int32
	requests [2]ncc.Request
	data     bool
}

// letter is a message on its way to the NCC; the categories beyond the
// requested ones log on and off.
type letter struct {
	id int32
	ncc.Request
}

const (
	logon ncc.Category = iota + 16
	logoff
)

// ask lets a terminal, logged on, send its requests in superframe n if it
// has something to say and an opportunity: in its own traffic bursts, its
// own request slot, or by contention.
func (c *Carrier) ask(t *terminal, n uint64, g *ncc.Grant) {
	if g.Slots > 0 {
		t.tries, t.due = 0, 0
	}
	sure := t.piggy && g.Slots > 0 || t.period > 0 && (n+uint64(t.id))%uint64(t.period) == 0
	chance := c.access.Slots > 0 && g.Slots == 0
	if !sure && !chance {
		return
	}
	k := call{id: int32(t.id), bursts: 1}
	backlog := t.backlog
	if chance && !sure && t.station != nil {
		k.bursts, k.data = t.station.offer(c.cfg.Access.Data)
		if k.data {
			backlog -= t.station.owed
		}
	}
	news := false
	if sure || n >= t.due {
		news = c.compose(t, &k, n, backlog, !sure)
	}
	switch {
	case sure:
		c.send(&k)
	case news || k.data:
		c.callers = append(c.callers, k)
		if news {
			t.tries++
			t.due = n + backoff(c.draws.access, t.id, n, c.latency+1, t.tries, c.cfg.Access.Window)
		}
	}
}

// compose writes the requests that are due in superframe n, for a channel
// that may lose them or does not.
func (c *Carrier) compose(t *terminal, k *call, n uint64, backlog int64, lossy bool) bool {
	if t.maxRate == 0 && t.maxVol == 0 {
		return false
	}
	v := t.view(backlog, c.cfg.Superframe)
	v.InFlight += t.asked
	rate, news := t.askRate(v, c.cfg.Superframe, &c.coding)
	if news {
		k.requests[0] = rate
		t.sendRate(rate)
	}
	v.InFlight += muldiv(rate.Value, int64(c.cfg.Superframe), 8e9) - t.asked
	if volume, ok := t.askVolume(v, &c.coding, lossy || t.doubtful(n)); ok {
		k.requests[1] = volume
		t.sendVolume(volume, n, lossy)
		news = true
	}
	return news
}

// send posts the requests of a call; they are with the NCC U superframes on.
func (c *Carrier) send(k *call) {
	for _, r := range k.requests {
		if r.Category != 0 {
			c.post(k.id, r)
		}
	}
}

// post puts a letter into the box that is opened U superframes on.
func (c *Carrier) post(id int32, r ncc.Request) {
	box := &c.inbox[(c.tick+uint64(c.uplink))%uint64(len(c.inbox))]
	*box = append(*box, letter{id, r})
}

// join moves a terminal that is not logged on towards it.
func (c *Carrier) join(t *terminal, n uint64) {
	switch {
	case t.state == calling && n >= t.due:
		c.joiners = append(c.joiners, int32(t.id))
		t.tries++
		t.due = n + backoff(c.draws.logon, t.id, n, c.logonWait, t.tries+3, c.logonWindow)
	case t.state == waiting && n >= t.due:
		t.state, t.tries, t.silent, t.due = on, 0, 0, 0
	}
}

// rest logs a terminal off that has had no traffic for long enough.
func (c *Carrier) rest(t *terminal) {
	if t.leave == 0 || !t.byNeed {
		return
	}
	t.silent++
	if t.backlog > 0 || t.recent > 0 {
		t.silent = 0
	}
	if t.silent >= t.leave {
		c.logoff(t)
	}
}

func (c *Carrier) logoff(t *terminal) {
	t.state, t.tries, t.due = off, 0, 0
	t.rate, t.timer, t.asked = 0, 0, 0
	c.post(int32(t.id), ncc.Request{Category: logoff})
}

// index is the number of a draw of terminal id in superframe n; part tells
// several apart, 0..15.
func index(id int, n uint64, part int) uint64 {
	return uint64(id)<<44 ^ uint64(part)<<40 ^ n
}

// backoff says after how many superframes to try again: the response must be
// overdue, then a window that doubles with each try, up to most.
func backoff(d link.Draw, id int, n uint64, wait, tries, most int) uint64 {
	window := most
	if tries < 16 {
		window = min(most, 1<<tries)
	}
	return uint64(wait) + d.Uint64(index(id, n, 15))%uint64(max(1, window))
}
