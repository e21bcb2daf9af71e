package emulator

import (
	"farlink/emulator/leo"
	"farlink/emulator/link"
	"farlink/emulator/sat"
	"farlink/emulator/stage"
	"farlink/profiles"
)

// slots returns the stages of way w in their fixed order. Every slot is
// always filled, so that a change of profile finds each stage's successor in
// the same place; a stage with nothing to do passes packets on at once.
func slots(w link.Way, s LinkSpec, draw link.Draw) []slot {
	way := s.Profile.Effective(w)
	var reorder stage.ReorderConfig
	if way.Reorder != nil {
		reorder = *way.Reorder
	}
	queue, loss, path := physics(w, s, way, draw)
	return []slot{
		{"gate", stage.NewGate(way.GateConfig)},
		{"queue", queue},
		{"loss", loss},
		{"corrupt", stage.NewCorrupt(way.Corrupt, draw.Sub("corrupt"))},
		{"path", path},
		{"reorder", stage.NewReorder(reorder, draw.Sub("reorder"))},
		{"duplicate", stage.NewDuplicate(way.Duplicate, draw.Sub("duplicate"))},
	}
}

// physics returns what serves the queue, the air, and the path. The weather
// and the satellites are drawn for the link, not for a way: both ways, and
// all links of one seed, are under the same sky.
func physics(w link.Way, s LinkSpec, way profiles.Way, draw link.Draw) (queue, loss, path link.Stage) {
	sky := link.NewDraw(s.Seed, "sky")
	if c := s.Profile.LEO; c != nil {
		return leo.NewServer(*c, way.Queue, w, sky), leo.NewAir(*c, w, sky), leo.NewPath(*c, w, sky)
	}
	loss, path = stage.NewLoss(way.Loss, draw.Sub("loss")), stage.NewPath(way.Path, draw.Sub("path"))
	if way.Carrier != nil {
		return sat.NewCarrier(*way.Carrier, way.Queue, w, sky), loss, path
	}
	return stage.NewQueue(way.Queue, draw.Sub("queue")), loss, path
}
