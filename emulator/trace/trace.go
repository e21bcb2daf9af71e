// Package trace reads and writes the files in which others keep the course of
// a link: Mahimahi, CellReplay, TheaterQ, ERRANT, OpenSAND, Augmented Traffic
// Control, a table of this project, and captures. What is read becomes the
// configurations of stages that follow a trace.
//
//	file ──▶ reader ──▶ Course{Down, Up} ──▶ course.Config     steps in time
//	                                    ├──▶ opportunity.DeliveryConfig  opportunities
//	                                    └──▶ opportunity.TrainConfig     light and heavy load
//
// Readers hold so many lines and steps as package lines allows, and say of every
// fault the file, line and column. What became of packets in a run is kept by
// package recording.
//
// Units are those of link: integer ns, bit/s, bytes of Ethernet frame without
// FCS; those of files are said at each reader.
package trace

import (
	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/opportunity"
	"farlink/emulator/stage"
)

// Course is what a file says of a link.
type Course struct {
	Down, Up Way
	// Notes are what the file says and no stage can follow.
	Notes []string
}

// Of returns way w.
func (c *Course) Of(w link.Way) *Way {
	if w == link.Down {
		return &c.Down
	}
	return &c.Up
}

// Way is what a file says of one way; at most one of its parts is set.
type Way struct {
	Trace    *course.Config              // rate, delay, loss in steps
	Delivery *opportunity.DeliveryConfig // opportunities to send
	Train    *opportunity.TrainConfig    // light and heavy load apart
	Limit    stage.Limit                 // of the queue, where the file has one for all its length
}

// step adds a step to a course; what holds at the same instant as the step
// before replaces it.
func step(t *course.Config, s course.Step) {
	if n := len(t.Steps); n > 0 && t.Steps[n-1].At == s.At {
		t.Steps[n-1] = s
		return
	}
	t.Steps = append(t.Steps, s)
}

// serve sets the rate of a step: none at all is an outage.
func serve(s *course.Step, r link.Rate) {
	if r == 0 {
		s.Outage = true
		return
	}
	s.Rate = &r
}

// of returns a pointer to a copy.
func of[T any](v T) *T { return &v }
