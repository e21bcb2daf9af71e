package wire

import "farlink/emulator/link"

// Emulator is the links of a pair of ports, as the engine drives them. All
// calls for one way come from one thread; when Coupled, calls for both ways
// are serialised.
type Emulator interface {
	// Arrive hands over a frame that came at when; its bytes are valid for
	// the call, ref until its fate is told to out.
	Arrive(w link.Way, when link.Time, ref uint32, frame []byte, out link.Sink)
	// Next returns when Run will next do something in way w.
	Next(w link.Way) link.Time
	// Run does all that is due in way w by now.
	Run(w link.Way, now link.Time, out link.Sink)
	// Finish applies the packet's marks to its bytes before it departs. It
	// is called only for packets that carry Corrupted or CE.
	Finish(p link.Packet, w link.Way, frame []byte)
	// Succeed takes over what old holds in way w and goes on with its
	// numbering and channel state.
	Succeed(old Emulator, w link.Way, now link.Time)
	// Coupled reports whether the ways share state.
	Coupled() bool
	// Held returns the packets and bytes inside in way w.
	Held(w link.Way) (packets, bytes int)
	// Probes yields the live figures of way w.
	Probes(w link.Way, now link.Time, yield func(link.Probe))
}

// Bounded is an Emulator that knows how many bytes of frames way w can hold
// at most; what does not fit Config.Memory is refused before it starts.
type Bounded interface {
	Bound(w link.Way) link.Size
}

// Checked is an Emulator that says what its links promise. The engine holds
// the frames of the first of them against it. Frames carry the index of
// their link in their Mark.
type Checked interface {
	// Size is how many links there are.
	Size() int
	// Promise is the least delay of a frame of link i; 0 promises nothing.
	Promise(w link.Way, i int) link.Duration
	// Pace is how fast frames leave link i.
	Pace(w link.Way, i int) link.Pace
	// Account is how many frames were ever put into link i, and how many it
	// holds.
	Account(w link.Way, i int) (offered uint64, held int)
}

// Build makes an Emulator of a document.
type Build func(doc []byte) (Emulator, error)

// bare is the wire with no model in it: every frame departs as it came. It
// is what a document of length 0 stands for, and the peer that benchmarks
// measure a model against.
type bare struct{}

func (bare) Arrive(_ link.Way, when link.Time, ref uint32, frame []byte, out link.Sink) {
	out.Deliver(link.Packet{When: when, Ref: ref, Body: link.Body{Size: uint16(len(frame))}})
}
func (bare) Next(link.Way) link.Time                      { return link.Never }
func (bare) Run(link.Way, link.Time, link.Sink)           {}
func (bare) Finish(link.Packet, link.Way, []byte)         {}
func (bare) Succeed(Emulator, link.Way, link.Time)        {}
func (bare) Coupled() bool                                { return false }
func (bare) Held(link.Way) (packets, bytes int)           { return 0, 0 }
func (bare) Probes(link.Way, link.Time, func(link.Probe)) {}
