package dama

import "farlink/emulator/link"

// outbox keeps fates that are decided until the station is told that their
// time has come: a ring that grows.
type outbox struct {
	ring   []link.Fate
	first  int
	length int
}

// push adds a fate; fates leave in the order of their instants, so one does
// not come before the last.
func (o *outbox) push(f link.Fate) {
	if o.length > 0 {
		last := &o.ring[(o.first+o.length-1)&(len(o.ring)-1)]
		f.Packet.When = max(f.Packet.When, last.Packet.When)
	}
	if o.length == len(o.ring) {
		o.grow()
	}
	o.ring[(o.first+o.length)&(len(o.ring)-1)] = f
	o.length++
}

func (o *outbox) grow() {
	ring := make([]link.Fate, max(64, 2*len(o.ring)))
	for i := range o.length {
		ring[i] = o.ring[(o.first+i)&(len(o.ring)-1)]
	}
	o.ring, o.first = ring, 0
}

// due returns when the first fate leaves, Never if there is none.
func (o *outbox) due() link.Time {
	if o.length == 0 {
		return link.Never
	}
	return o.ring[o.first].Packet.When
}

// pop removes the first fate; there must be one.
func (o *outbox) pop() link.Fate {
	f := o.ring[o.first]
	o.first = (o.first + 1) & (len(o.ring) - 1)
	o.length--
	return f
}

// flush tells out what has come to its time by now.
func (o *outbox) flush(now link.Time, out link.Sink) {
	for o.length > 0 && o.ring[o.first].Packet.When <= now {
		if f := o.pop(); f.Lost() {
			out.Lose(f.Packet, f.Cause)
		} else {
			out.Deliver(f.Packet)
		}
	}
}
