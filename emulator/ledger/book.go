package ledger

import "farlink/emulator/link"

// Book is what is written of one way since the run began. Counts are frames
// unless named otherwise.
type Book struct {
	In, InBytes   uint64 // taken from the port into the link
	Out, OutBytes uint64 // given to the other port
	Copies        uint64 // made by the model
	Lost          [link.Reasons]uint64
	LostBytes     uint64
	Invalid       uint64 // shorter than an Ethernet header: never In
	// LinkDown counts what could not leave because the port to leave by had
	// no link: its cable was out, it was down, or gone. Neither the model
	// nor the engine did it.
	LinkDown uint64

	Held, HeldBytes uint64 // inside when the book was last closed
	Broken          uint64 // closings at which the frames did not add up

	Engine   Engine
	Lateness Histogram // actual departure after the intended one
	Slips    uint64    // departures later than Limits.Slip
	QueueMax uint64    // most bytes held at once
}

// Engine is what the engine itself spoilt or suffered.
type Engine struct {
	Dropped   uint64 // no free chunk for an arrival
	RingFull  uint64 // the loop did not take arrivals in time
	FillEmpty uint64 // how often the kernel found no chunk (an event, not a loss)
	StoreFull uint64 // no memory to hold an arrival
	BadFrame  uint64 // the kernel refused to transmit it
	Stalls    uint64 // how often departures waited for a transmit slot
}

// Loss returns how many frames the engine lost, which no model asked for.
func (e *Engine) Loss() uint64 {
	return e.Dropped + e.RingFull + e.StoreFull + e.BadFrame
}

// Losses returns how many frames the model lost.
func (b *Book) Losses() uint64 {
	var n uint64
	for _, x := range b.Lost {
		n += x
	}
	return n
}

// Close writes down what is held now and checks that
//
//	in + copies = out + lost by the model + lost for want of a link + lost inside by the engine + held.
//
// Dropped, RingFull and BadFrame happen outside: before a frame is In, or
// after it is Out.
func (b *Book) Close(held, bytes uint64) {
	b.Held, b.HeldBytes = held, bytes
	if b.In+b.Copies != b.Out+b.Losses()+b.Engine.StoreFull+b.LinkDown+held {
		b.Broken++
	}
}
