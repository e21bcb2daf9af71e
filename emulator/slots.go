package emulator

import (
	"farlink/emulator/leo"
	"farlink/emulator/link"
	"farlink/emulator/nr"
	"farlink/emulator/sat"
	"farlink/emulator/stage"
	"farlink/profiles"
)

// The places of a way, in their fixed order. It is physics, not taste: what
// is too big never enters; what waits is served; what is served is on the
// air; what survived travels. A place with nothing to do is empty.
const (
	gate = iota
	queue
	loss
	corrupt
	path
	reorder
	duplicate
	places
)

// placeNames name them in metrics and captures.
var placeNames = []string{"gate", "queue", "loss", "corrupt", "path", "reorder", "duplicate"}

// fill returns what stands in each place of way w. What queues and carries,
// and the path, are always there: packets inside them outlive a change.
func fill(w link.Way, way profiles.Way, s *station) (at [places]link.Stage) {
	if way.MTU != 0 || len(way.Cut) > 0 || way.Flap != nil {
		at[gate] = stage.NewGate(way.GateConfig)
	}
	at[queue] = server(w, way, s)
	at[loss], at[path] = air(w, way, s)
	if way.Corrupt != (stage.CorruptConfig{}) {
		at[corrupt] = stage.NewCorrupt(way.Corrupt, s.draw[w].Sub("corrupt"))
	}
	if way.Reorder != nil {
		at[reorder] = stage.NewReorder(*way.Reorder, s.draw[w].Sub("reorder"))
	}
	if way.Duplicate != (stage.DuplicateConfig{}) {
		at[duplicate] = stage.NewDuplicate(way.Duplicate, s.draw[w].Sub("duplicate"))
	}
	return at
}

// server returns what lets packets out of way w.
func server(w link.Way, way profiles.Way, s *station) link.Stage {
	draw := s.draw[w].Sub("queue")
	switch s.profile.Server(w) {
	case "lte":
		return s.ue.Bearer(w)
	case "dama":
		return s.terminal
	case "leo":
		return leo.NewServer(*s.profile.LEO, way.Queue, w, s.sky)
	case "nr":
		return nr.NewServer(*s.profile.NR, way.Queue, w, draw)
	case "wlan":
		return stage.NewWLAN(*way.WLAN, draw)
	case "delivery":
		return stage.NewDelivery(*way.Delivery, draw)
	case "train":
		return stage.NewTrain(*way.Train, draw)
	case "carrier":
		return sat.NewCarrier(*way.Carrier, way.Queue, w, s.sky)
	}
	q := stage.NewQueue(way.Queue, draw)
	if way.Trace != nil {
		q.Follow(stage.NewTrace(*way.Trace))
	}
	return q
}

// air returns what loses packets on the air, nil if nothing does, and the
// path behind it.
func air(w link.Way, way profiles.Way, s *station) (lossy, far link.Stage) {
	if c := s.profile.LEO; c != nil {
		return leo.NewAir(*c, w, s.sky), leo.NewPath(*c, w, s.sky)
	}
	p := stage.NewPath(way.Path, s.draw[w].Sub("path"))
	if way.Loss == (stage.LossConfig{}) && way.Trace == nil {
		return nil, p
	}
	l := stage.NewLoss(way.Loss, s.draw[w].Sub("loss"))
	if way.Trace != nil {
		course := stage.NewTrace(*way.Trace)
		l.Follow(course, s.draw[w].Sub("loss").Sub("trace"))
		p.Follow(course)
	}
	return l, p
}
