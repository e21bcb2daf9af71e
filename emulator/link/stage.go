package link

// Sink takes what leaves a stage.
type Sink interface {
	// Deliver passes on a packet that leaves at p.When.
	Deliver(p Packet)
	// Lose reports the packet lost at p.When.
	Lose(p Packet, c Cause)
	// Copy announces that p now exists once more: the driver keeps its
	// frame until both have met their fate. The stage then delivers the
	// copy with the Duplicate mark.
	Copy(p Packet)
}

// Stage is one step of a link: a machine that is told the time.
//
// The contract that makes a stage independent of its driver: Put(p) first
// does everything that was due by p.When; Run does everything due by now,
// event by event, each at its own instant (Packet.When of what it emits), not
// at the time of the call. Packets leave in order of When. A packet may be
// Put with a When before the last Run (a live driver hears of arrivals late);
// the stage then leaves decisions it has made as they are.
type Stage interface {
	// Put hands over a packet that arrives at p.When.
	Put(p Packet, out Sink)
	// Next returns when Run will next do something, Never if only a Put
	// can make that happen.
	Next() Time
	// Run does all that is due at or before now.
	Run(now Time, out Sink)
}

// Holder is a stage that holds packets for a time. When a link is swapped
// for another, the new stage in the same place adopts what the old one held,
// so that no packet is lost or overtaken.
type Holder interface {
	Stage
	// Held returns the number of packets and bytes inside.
	Held() (packets, bytes int)
	// Drain gives up every packet held, in order. A queue yields each with
	// the When of its arrival; a delay line with the When at which it was
	// to leave.
	Drain(yield func(Packet))
	// Adopt takes, at now, a packet that the stage formerly in this place
	// held. Limits do not apply: an adopted packet is never lost for want
	// of room, and never overtakes one adopted before it.
	Adopt(now Time, p Packet)
}

// Probe is one live figure of a model. The name ends in its unit
// ("queue_bytes", "es_n0_db").
type Probe struct {
	Name  string
	Value float64
}

// Prober is a stage with figures to show.
type Prober interface {
	// Probes yields the figures as they are at now. It may allocate: it is
	// called some times a second, not per packet.
	Probes(now Time, yield func(Probe))
}

// Capacity is what a link tells the users of its capacity (a PEP): the state
// of one station's share at an instant.
type Capacity struct {
	Version  uint64   // grows with each change
	Rate     Rate     // granted now, bits per second of Ethernet frames
	NextAt   Time     // when the next grant takes effect; Never if constant
	NextRate Rate     // that grant, when already known, else Rate
	Most     Rate     // the highest that may ever be granted; 0 when that is not known
	RTT      Duration // propagation and framing both ways, without queueing; below 0 when that is not known
	Queue    Size     // waiting for capacity now
	Room     Size     // how much may wait before some of it is lost or marked; 0 when that is not known
	OnDemand bool     // what is granted follows what is asked for, long after it
	Loop     Duration // how long packets must wait since capacity is asked for on their account; 0 where it is asked for ahead
	Mode     string   // MODCOD, CQI/MCS or "" where there is none
}

// Granter is a stage whose capacity is worth following.
type Granter interface {
	Capacity(now Time) Capacity
}
