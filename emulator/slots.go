package emulator

import (
	"farlink/emulator/link"
	"farlink/emulator/stage"
	"farlink/profiles"
)

// slots returns the stages of way w in their fixed order. Every slot is
// always filled, so that a change of profile finds each stage's successor in
// the same place; a stage with nothing to do passes packets on at once.
func slots(w link.Way, p *profiles.Profile, draw link.Draw) []slot {
	way := p.Effective(w)
	var reorder stage.ReorderConfig
	if way.Reorder != nil {
		reorder = *way.Reorder
	}
	return []slot{
		{"gate", stage.NewGate(way.GateConfig)},
		{"queue", stage.NewQueue(way.Queue, draw.Sub("queue"))},
		{"loss", stage.NewLoss(way.Loss, draw.Sub("loss"))},
		{"corrupt", stage.NewCorrupt(way.Corrupt, draw.Sub("corrupt"))},
		{"path", stage.NewPath(way.Path, draw.Sub("path"))},
		{"reorder", stage.NewReorder(reorder, draw.Sub("reorder"))},
		{"duplicate", stage.NewDuplicate(way.Duplicate, draw.Sub("duplicate"))},
	}
}
