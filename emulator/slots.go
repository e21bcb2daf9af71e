package emulator

import (
	"reflect"

	"farlink/emulator/air"
	"farlink/emulator/course"
	"farlink/emulator/leo"
	"farlink/emulator/link"
	"farlink/emulator/nr"
	"farlink/emulator/opportunity"
	"farlink/emulator/sat"
	"farlink/emulator/stage"
	"farlink/profiles"
)

// place is where a stage stands in a way. The order is physics, not taste:
// what is too big never enters; what waits is served; what is served is on
// the air; what survived travels. A place with nothing to do is empty.
type place int

const (
	gate place = iota
	queue
	loss
	corrupt
	path
	reorder
	duplicate
	middlebox
	places
)

// placeNames name them in metrics and captures.
var placeNames = []string{"gate", "queue", "loss", "corrupt", "path", "reorder", "duplicate", "middlebox"}

// form is all that the stages of a way are made of.
type form struct {
	profiles.Way
	server string // what lets packets out
	leo    *leo.Config
	nr     *nr.Config
}

func formOf(p *profiles.Profile, w link.Way) form {
	return form{p.Effective(w), p.Server(w), p.LEO, p.NR}
}

// settings returns what of a way the stage in a place is made of.
func settings(at place, way *form) []any {
	switch at {
	case gate:
		return []any{way.GateConfig}
	case queue:
		return []any{way.Queue, way.Carrier, way.WLAN, way.Delivery, way.Train, way.Trace, way.server, way.leo, way.nr}
	case loss:
		return []any{way.Loss, way.Trace, way.leo}
	case corrupt:
		return []any{way.Corrupt}
	case path:
		return []any{way.Path, way.Trace, way.leo}
	case reorder:
		return []any{way.Reorder}
	case middlebox:
		return []any{way.Middlebox}
	}
	return []any{way.Duplicate}
}

// differs reports whether the stage in a place is another in way b.
func differs(at place, a, b *form) bool {
	return !reflect.DeepEqual(settings(at, a), settings(at, b))
}

// stage returns what stands in a place of way w, nil if nothing does. What
// queues and carries, and the path, are always there: the packets inside
// them outlive a change.
func (s *station) stage(at place, w link.Way, way *form) link.Stage {
	draw := s.draw[w].Sub(placeNames[at])
	switch at {
	case gate:
		if way.MTU != 0 || len(way.Cut) > 0 || way.Flap != nil {
			return stage.NewGate(way.GateConfig)
		}
	case queue:
		return s.server(w, way, draw)
	case loss:
		return s.air(w, way, draw)
	case corrupt:
		if way.Corrupt != (air.CorruptConfig{}) {
			return air.NewCorrupt(way.Corrupt, draw)
		}
	case path:
		return s.path(w, way, draw)
	case reorder:
		if way.Reorder != nil {
			return stage.NewReorder(*way.Reorder, draw)
		}
	case duplicate:
		if way.Duplicate != (stage.DuplicateConfig{}) {
			return stage.NewDuplicate(way.Duplicate, draw)
		}
	case middlebox:
		if way.Middlebox != nil {
			return stage.NewMiddlebox(*way.Middlebox)
		}
	}
	return nil
}

// server returns what lets packets out of way w.
func (s *station) server(w link.Way, way *form, draw link.Draw) link.Stage {
	switch way.server {
	case "lte":
		return s.ue.Bearer(w)
	case "dama":
		return s.terminal
	case "leo":
		return leo.NewServer(*way.leo, way.Queue, w, s.sky)
	case "nr":
		return nr.NewServer(*way.nr, way.Queue, w, draw)
	case "wlan":
		return stage.NewWLAN(*way.WLAN, draw)
	case "delivery":
		return opportunity.NewDelivery(*way.Delivery, draw)
	case "train":
		return opportunity.NewTrain(*way.Train, draw)
	case "carrier":
		return sat.NewCarrier(*way.Carrier, way.Queue, w, s.sky)
	}
	q := stage.NewQueue(way.Queue, draw)
	if way.Trace != nil {
		q.Follow(course.New(*way.Trace))
	}
	return q
}

// air returns what loses packets on the air, nil if nothing does.
func (s *station) air(w link.Way, way *form, draw link.Draw) link.Stage {
	if c := way.leo; c != nil {
		return leo.NewAir(*c, w, s.sky)
	}
	if way.Loss == (air.LossConfig{}) && way.Trace == nil {
		return nil
	}
	l := air.NewLoss(way.Loss, draw)
	if way.Trace != nil {
		l.Follow(course.New(*way.Trace), draw.Sub("trace"))
	}
	return l
}

// path returns the way through space.
func (s *station) path(w link.Way, way *form, draw link.Draw) link.Stage {
	if c := way.leo; c != nil {
		return leo.NewPath(*c, w, s.sky)
	}
	p := stage.NewPath(way.Path, draw)
	if way.Trace != nil {
		p.Follow(course.New(*way.Trace))
	}
	return p
}
