// Package sim drives an emulator in virtual time: packets of a capture at
// their own times (Replay), or scripted senders with an event queue (Run).
// Nothing waits; a minute of a link takes what its packets cost.
//
//	senders ─Send─▶ Arrive ┌──────────┐ Deliver/Lose ─▶ account ─▶ Result
//	   ▲                   │ emulator │                    │
//	   └────── Met ◀───────└──────────┘◀── Next, Run ──────┘ next event
//
// The same emulator, senders and seeds give the same fates, byte for byte: at
// one instant the emulator goes before the senders, the way down before the
// way up, a sender named earlier before one named later.
//
// Units: link.Time in nanoseconds since the run began, frames in bytes
// without FCS, rates of results in bits per second of such frames.
package sim

import (
	"farlink/emulator/link"
	"farlink/emulator/tally"
)

// Emulator is what this package needs of the links between two ports.
type Emulator interface {
	// Arrive hands over a frame that came at when on way w.
	Arrive(w link.Way, when link.Time, ref uint32, frame []byte, out link.Sink)
	// Next returns when Run of the way will next do something.
	Next(w link.Way) link.Time
	// Run does all that is due on the way by now.
	Run(w link.Way, now link.Time, out link.Sink)
	// Finish applies the packet's marks to the bytes of its frame.
	Finish(p link.Packet, w link.Way, frame []byte)
	// Held returns what is inside the way.
	Held(w link.Way) (packets, bytes int)
	// Probes yields the live figures of the way, with the index of the
	// link to which each belongs.
	Probes(w link.Way, now link.Time, yield func(link int, p link.Probe))
	tally.Names
	// Coupled reports whether what happens on one way can change when the
	// other is due.
	Coupled() bool
}

// clock follows when each way is next due, asking the emulator only where
// something can have changed.
type clock struct {
	emulator Emulator
	coupled  bool
	due      [2]link.Time
}

func newClock(e Emulator) *clock {
	c := &clock{emulator: e, coupled: e.Coupled()}
	c.due = [2]link.Time{e.Next(link.Down), e.Next(link.Up)}
	return c
}

// touched is told that way w was given something to do.
func (c *clock) touched(w link.Way) {
	c.due[w] = c.emulator.Next(w)
	if c.coupled {
		c.due[w.Other()] = c.emulator.Next(w.Other())
	}
}

// next returns the way that is due first, and when.
func (c *clock) next() (link.Way, link.Time) {
	if c.due[link.Up] < c.due[link.Down] {
		return link.Up, c.due[link.Up]
	}
	return link.Down, c.due[link.Down]
}

// run runs the way up to now.
func (c *clock) run(w link.Way, now link.Time, out link.Sink) {
	c.emulator.Run(w, now, out)
	c.touched(w)
}
