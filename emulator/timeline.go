package emulator

import (
	"reflect"

	"farlink/emulator/frame"
	"farlink/emulator/link"
	"farlink/profiles"
)

// timeline is where a way of a link stands in the timeline of its profile. The
// timeline is data: what holds at an instant, and when the next change is,
// follow from when it began. So a change happens at its own instant, in
// order with the packets, however late the driver looks.
type timeline struct {
	began link.Time // Never: not yet
	next  link.Time // the next change; Never: none
}

// start lets the timeline begin.
func (c *timeline) start(p *profiles.Profile, at link.Time) {
	if len(p.Timeline) > 0 {
		c.began, c.next = at, p.Next(at, at-1)
	}
}

// put hands p to the chain, behind the changes that are due by then.
func (l *line) put(p link.Packet, out link.Sink) {
	for l.timeline.next <= p.When {
		l.turn(l.timeline.next, out)
	}
	l.chain.Put(p, out)
}

// run does what is due by now, changes and packets in the order of their
// instants.
func (l *line) run(now link.Time, out link.Sink) {
	for l.timeline.next <= now {
		if l.timeline.next >= now-longPast || !l.skip(now-longPast) {
			l.turn(l.timeline.next, out)
		}
	}
	l.chain.Run(now, out)
}

// longPast is how far back changes are made one by one, for a driver that
// did not look for a while: the pair was bypassed, the machine slept.
const longPast = link.Time(10 * link.Second)

// skip makes the changes up to an instant at once, if there is no packet that
// would notice.
func (l *line) skip(to link.Time) bool {
	p := l.station.profile
	if n, _ := l.chain.Held(); n > 0 || p.DAMA != nil {
		return false
	}
	l.become(p.At(l.timeline.began, to), to)
	l.timeline.next = p.Next(l.timeline.began, to)
	return true
}

// due returns when run has something to do.
func (l *line) due() link.Time { return min(l.chain.Next(), l.timeline.next) }

// turn makes the change at an instant: what is due by then happens before.
func (l *line) turn(at link.Time, out link.Sink) {
	l.chain.Run(at, out)
	p := l.station.profile
	l.become(p.At(l.timeline.began, at), at)
	p.Begin(l.timeline.began, at, func(e *profiles.Entry) { l.act(e, at) })
	l.timeline.next = p.Next(l.timeline.began, at)
}

// become puts other stages where p has them otherwise; each takes over from
// the one in its place. What serves several links changes in its own place.
func (l *line) become(p *profiles.Profile, now link.Time) {
	to := formOf(p, l.way)
	changed := false
	for at := places - 1; at >= 0; at-- {
		if !differs(at, &l.now, &to) || at == queue && l.served() {
			continue
		}
		was := l.stages[at]
		l.stages[at] = l.station.stage(at, l.way, &to)
		l.takeOver(at, was, -1, now)
		changed = true
	}
	if changed {
		l.settle(l, now)
	}
	l.now = to
	if changed {
		l.settled = max(l.settled, now.Add(to.Path.Delay))
		l.chain = link.NewChain(l.stages[:]...)
	}
	l.tune(p, now)
}

// tune gives the medium of the link, and the link's station in it, the
// settings of p.
func (l *line) tune(p *profiles.Profile, at link.Time) {
	s := l.station
	if at >= s.since { // the other way may have been here later
		s.present, s.since = p, at
	}
	if s.ue != nil {
		s.ue.Weigh(p.Weight)
		s.ue.Cell().Change(at, now(s.medium.members, cellOf))
	}
	if s.terminal == nil || l.way != link.Up {
		return
	}
	c := s.medium.carrierNow()
	c.Station = p.DAMA.Station
	s.terminal.Change(at, c)
	if e := p.DAMA.Station.EsN0; e != 0 {
		s.terminal.Fade(at, e-s.profile.Fading(l.timeline.began, at))
	}
}

// served reports whether a medium serves the way, whose stage is the link's
// place in it.
func (l *line) served() bool {
	s := l.station.profile.Server(l.way)
	return s == "lte" || s == "dama"
}

// act does what an entry does once, when it begins.
func (l *line) act(e *profiles.Entry, at link.Time) {
	s := l.station
	// Both ways come by at one instant; the second changes nothing more.
	if e.Handover > 0 && s.ue != nil {
		s.ue.Handover(at, e.Handover, s.profile.LTE.Mobility.Forwarding != "seamless")
	}
	if h, ok := l.stages[queue].(interface {
		Interrupt(at link.Time, d link.Duration)
	}); ok && e.Handover > 0 {
		h.Interrupt(at, e.Handover)
	}
	if s.terminal == nil || l.way != link.Up {
		return
	}
	switch e.Station {
	case "logon":
		s.terminal.Logon(at)
	case "logoff":
		s.terminal.Logoff(at)
	}
}

// Begin puts way w in force at now, where nothing was before that it could
// succeed: timelines that do not wait for a packet begin.
func (e *Emulator) Begin(w link.Way, now link.Time) {
	for _, l := range e.ways[w].lines {
		l.begin(now)
	}
}

// begin lets a timeline that does not wait for a packet begin at now, when
// its profile is put in force.
func (l *line) begin(now link.Time) {
	if l.station.profile.Arm == nil {
		l.timeline.start(l.station.profile, now)
	}
}

// inherit goes on with the timeline of was, if it is the same.
func (l *line) inherit(was *line, now link.Time) {
	p, q := l.station.profile, was.station.profile
	if len(p.Timeline) == 0 || was.timeline.began == link.Never ||
		!reflect.DeepEqual(p.Timeline, q.Timeline) || !reflect.DeepEqual(p.Arm, q.Arm) {
		return
	}
	l.timeline.began = was.timeline.began
	l.become(p.At(l.timeline.began, now), now)
	l.timeline.next = p.Next(l.timeline.began, now)
}

// arm starts the timelines that wait for a packet like this one on link i.
func (e *Emulator) arm(i int, bytes []byte, w link.Way, when link.Time) {
	p := e.spec.Links[i].Profile
	if p.Arm == nil || e.ways[w].lines[i].timeline.began != link.Never {
		return
	}
	var h frame.Header
	h.Read(bytes)
	if !p.Arm.Takes(&h, w) {
		return
	}
	for _, w := range link.Ways {
		e.ways[w].lines[i].timeline.start(p, when)
	}
}
