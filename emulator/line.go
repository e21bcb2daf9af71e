package emulator

import (
	"farlink/emulator/dama"
	"farlink/emulator/link"
	"farlink/emulator/lte"
	"farlink/profiles"
)

// station is a link as its two ways share it.
type station struct {
	profile  *profiles.Profile
	draw     [2]link.Draw // by way
	sky      link.Draw    // weather and satellites: of the medium
	ue       *lte.UE
	terminal *dama.Station
	medium   *medium
	present  *profiles.Profile // as its timeline has it
	since    link.Time         // present is of then
}

// medium is what stations share: a cell, a return carrier, a sky.
type medium struct {
	name    string
	seed    uint64
	cell    *lte.Cell
	carrier *dama.Carrier
	members []*station // in the order of the links; the first says what the medium is
}

// line is one way of one link.
type line struct {
	station  *station
	way      link.Way
	now      form // as the stages are
	stages   [places]link.Stage
	chain    *link.Chain
	timeline timeline
	flips    link.Draw     // where corrupted frames are hurt
	seq      uint64        // of the next packet
	settled  link.Time     // what leaves from then on knew no other stages than these
	promise  link.Duration // least delay of a packet, 0 where none is known
	ceiling  link.Pace     // what holds whatever serves
}

// media finds or makes the medium that a link stands in.
type media struct{ all []*medium }

func (m *media) of(s LinkSpec) *medium {
	for _, known := range m.all {
		if known.name == s.Profile.Medium && known.name != "" {
			return known
		}
	}
	fresh := &medium{name: s.Profile.Medium, seed: s.Seed}
	m.all = append(m.all, fresh)
	return fresh
}

// station adds a station to the medium.
func (m *medium) station(s LinkSpec) (*station, error) {
	draw := link.NewDraw(s.Seed, "link")
	st := &station{profile: s.Profile, sky: link.NewDraw(m.seed, "sky"), medium: m, present: s.Profile}
	m.members = append(m.members, st)
	for _, w := range link.Ways {
		st.draw[w] = draw.Sub(w.String())
	}
	if s.Profile.LTE != nil {
		if m.cell == nil {
			m.cell = lte.NewCell(*s.Profile.LTE, link.NewDraw(m.seed, "cell"))
		}
		st.ue = m.cell.UE(s.Profile.Weight)
	}
	if s.Profile.DAMA != nil {
		config := s.Profile.Return()
		if m.carrier == nil {
			c, err := dama.NewCarrier(config, link.NewDraw(m.seed, "return"))
			if err != nil {
				return nil, err
			}
			m.carrier = c
		}
		st.terminal = m.carrier.Station(config.Station, draw.Sub("terminal"))
	}
	return st, nil
}

// newLine returns way w of a link. Its timeline begins at 0 unless it waits
// for a packet, or takes over from another.
func newLine(w link.Way, s *station) *line {
	l := &line{station: s, way: w, now: formOf(s.profile, w), flips: s.draw[w].Sub("flip")}
	l.promise, _ = least(s.profile, w)
	l.ceiling = ceiling(s.profile, w)
	for at := range l.stages {
		l.stages[at] = s.stage(place(at), w, &l.now)
	}
	l.chain = link.NewChain(l.stages[:]...)
	l.timeline = timeline{link.Never, link.Never}
	if s.profile.Arm == nil {
		l.timeline.start(s.profile, 0)
	}
	return l
}

// build makes both ways of all links.
func (e *Emulator) build() error {
	var shared media
	for _, spec := range e.spec.Links {
		s, err := shared.of(spec).station(spec)
		if err != nil {
			return err
		}
		e.stations = append(e.stations, s)
		waits := spec.Profile.Arm != nil
		e.coupled = e.coupled || s.ue != nil || waits
		e.waits = e.waits || waits
		for _, p := range spec.Profile.Variants() {
			e.inspects = e.inspects || p.Down.Middlebox != nil || p.Up.Middlebox != nil
		}
		for _, w := range link.Ways {
			e.ways[w].lines = append(e.ways[w].lines, newLine(w, s))
		}
	}
	return nil
}
