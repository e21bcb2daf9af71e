package lte

import (
	"cmp"
	"slices"

	"farlink/emulator/link"
	"farlink/emulator/lte/radio"
)

// Overheads of the user plane in bits: PDCP 2 B a packet (12-bit SN, TS
// 36.323), MAC and RLC 5 B a block (TS 36.321, 36.322). LTE carries the IP
// packet: the Ethernet header does not go over the air.
const (
	packetOverhead = 16
	blockOverhead  = 40
	ethernetHeader = 14
)

// Bearer is one way of a UE: the Stage that a link puts its packets into.
type Bearer struct {
	ue      *UE
	way     link.Way
	channel radio.Channel
	harq    []link.Draw // one per component carrier

	waiting link.FIFO // RLC buffer; When is the arrival
	left    int       // bits of the front packet still to send; 0 is untouched
	spoiled bool      // a block with a part of the front packet was lost
	flight  link.FIFO // sent; When is the in-order release
	release link.Time // of the last packet or lost block
	lost    []link.Fate
	ready   bool // may be sent to in the TTI being scheduled
	ahead   bool // uplink that is granted without being asked for

	average float64 // bits per TTI served, for proportional fair
	rate    float64 // bits per TTI granted, smoothed, for Capacity
	rateAt  int64

	uplink
}

// Put takes a packet into the RLC buffer; a full buffer drops it.
func (b *Bearer) Put(p link.Packet, out link.Sink) {
	b.Run(p.When, out)
	if b.waiting.Bytes()+int(p.Size) > int(b.ue.cell.cfg.RLC.Buffer) {
		out.Lose(p, link.Cause{Reason: link.QueueFull})
		return
	}
	b.Adopt(p.When, p)
}

// Adopt takes a packet regardless of the limit.
func (b *Bearer) Adopt(now link.Time, p link.Packet) {
	p.When = min(p.When, now)
	b.waiting.Push(p)
	b.ue.cell.busy = true
	if b.way == link.Up {
		b.request(int64(p.When))
	}
}

// Next returns when the next packet is released or the next TTI decided.
func (b *Bearer) Next() link.Time {
	next := link.Never
	if b.flight.Len() > 0 {
		next = b.flight.Front().When
	}
	for _, f := range b.lost {
		next = min(next, f.Packet.When)
	}
	if b.busy() {
		next = min(next, link.Time(b.ue.cell.tti*ms))
	}
	return next
}

// Run advances the cell to now and lets out what this bearer has by then.
func (b *Bearer) Run(now link.Time, out link.Sink) {
	b.ue.cell.advance(now)
	for b.flight.Len() > 0 && b.flight.Front().When <= now {
		out.Deliver(b.flight.Pop())
	}
	if len(b.lost) == 0 {
		return
	}
	later := b.lost[:0]
	for _, f := range b.lost {
		if f.Packet.When <= now {
			out.Lose(f.Packet, f.Cause)
		} else {
			later = append(later, f)
		}
	}
	b.lost = later
}

// Held returns what is inside, losses not yet told included.
func (b *Bearer) Held() (packets, bytes int) {
	packets = b.waiting.Len() + b.flight.Len() + len(b.lost)
	bytes = b.waiting.Bytes() + b.flight.Bytes()
	for _, f := range b.lost {
		bytes += int(f.Packet.Size)
	}
	return packets, bytes
}

// Drain gives up all that is inside, in order: what was in flight, or lost
// without yet being told, is sent again by whoever adopts it.
func (b *Bearer) Drain(yield func(link.Packet)) {
	var all []link.Packet
	for _, f := range b.lost {
		all = append(all, f.Packet)
	}
	for _, q := range []*link.FIFO{&b.flight, &b.waiting} {
		for q.Len() > 0 {
			all = append(all, q.Pop())
		}
	}
	slices.SortStableFunc(all, func(p, q link.Packet) int { return cmp.Compare(p.Seq, q.Seq) })
	for _, p := range all {
		yield(p)
	}
	b.left, b.spoiled, b.lost = 0, false, nil
}

// busy reports whether the bearer has anything to send or be told about.
func (b *Bearer) busy() bool { return b.waiting.Len() > 0 || b.way == link.Up && b.expecting() }

// prepare decides whether the bearer takes part in a TTI.
func (b *Bearer) prepare(tti int64) bool {
	b.ready = false
	b.average -= b.average / fairWindow
	b.rate -= b.rate / rateWindow
	if !b.busy() {
		return false
	}
	if b.way == link.Up && !b.ahead {
		b.learn(tti)
	}
	b.discard(tti)
	first := tti
	if b.waiting.Len() > 0 {
		first = int64(b.waiting.Front().When) / ms
	}
	b.ready = b.eligible(tti) && b.channel.Report(tti) > 0 && b.ue.reachable(b.way, tti, first)
	return b.ready
}

// eligible reports whether the cell may send for this bearer in a TTI: the
// front packet is processed and, uplink, a grant was given in time.
func (b *Bearer) eligible(tti int64) bool {
	if b.way == link.Up && !b.ahead {
		return b.granted(tti)
	}
	return b.processed(tti)
}

// processed reports whether the front packet arrived its processing time ago.
func (b *Bearer) processed(tti int64) bool {
	return b.waiting.Len() > 0 && int64(b.waiting.Front().When) <= (tti-processing)*ms
}

// discard drops from the front what PDCP's timer has given up (TS 36.323
// clause 5.4). A packet with a part already sent stays.
func (b *Bearer) discard(tti int64) {
	limit := int64(b.ue.cell.cfg.RLC.Discard)
	if limit == 0 || b.left > 0 {
		return
	}
	for b.waiting.Len() > 0 && int64(b.waiting.Front().When)+limit <= tti*ms {
		p := b.waiting.Pop()
		p.When = p.When.Add(link.Duration(limit))
		b.lost = append(b.lost, link.Fate{Packet: p, Cause: link.Cause{Reason: link.TimedOut}})
	}
}

// blockBits is the transport block that prb resource blocks carry in a TTI
// at the CQI known then.
func (b *Bearer) blockBits(tti int64, prb int) int {
	return int(b.ue.cell.sizes[b.way][b.channel.Report(tti)][prb])
}

// send fills one block on up to prb resource blocks of a carrier and returns
// how many it took.
func (b *Bearer) send(tti int64, carrier, prb int) int {
	b.ready = false
	size := b.blockBits(tti, prb)
	want := size
	if b.way == link.Up {
		want = b.allowance(tti, size)
	}
	cell := b.ue.cell
	o := b.transmit(tti, carrier, b.channel.Report(tti))
	used := b.fill(tti, want-blockOverhead, o) + blockOverhead
	took := min(prb, max(1, (prb*used+size-1)/size))
	for k := 1; k < o.transmissions; k++ {
		slot := &cell.ways[b.way].carriers[carrier].taken[(tti+int64(k)*harqRTT)&255]
		*slot = int16(min(cell.cfg.PRB, int(*slot)+took))
	}
	cell.metrics.blocks++
	cell.metrics.retransmissions += uint64(o.transmissions - 1)
	if o.lost {
		cell.metrics.failed++
	}
	b.ue.lastActive = tti
	b.account(tti, used)
	if b.way == link.Up && !b.ahead {
		b.sent(tti, used)
	}
	// With room left the bearer has nothing more; with none it may go on
	// on the next carrier.
	b.ready = used >= size-8 && b.eligible(tti) && b.waiting.Len() > 0
	return took
}

// fill moves up to bits from the buffer into a block with outcome o and
// returns how many it moved.
func (b *Bearer) fill(tti int64, bits int, o outcome) int {
	at := link.Time((tti + airTime + processing + o.delay) * ms)
	moved := 0
	for bits > moved && b.waiting.Len() > 0 && b.mayLeave(tti) {
		p := b.waiting.Front()
		if b.left == 0 {
			b.left = (max(int(p.Size)-ethernetHeader, 1))*8 + packetOverhead
		}
		part := min(b.left, bits-moved)
		moved += part
		b.left -= part
		b.spoiled = b.spoiled || o.lost
		b.release = max(b.release, at)
		if b.left == 0 {
			b.finish(b.waiting.Pop())
		}
	}
	return moved
}

// mayLeave reports whether the front packet is processed by a TTI; an uplink
// grant implies that it is.
func (b *Bearer) mayLeave(tti int64) bool {
	return b.way == link.Up && !b.ahead || b.processed(tti)
}

// finish sends a packet whose last bit is in a block on its way.
func (b *Bearer) finish(p link.Packet) {
	p.When = b.release
	if b.spoiled {
		b.spoiled = false
		b.lost = append(b.lost, link.Fate{Packet: p, Cause: link.Cause{Reason: link.RetryLimit}})
		return
	}
	b.flight.Push(p)
}

// loseInFlight loses, at an instant, all that was sent and not yet released.
func (b *Bearer) loseInFlight(at link.Time) {
	b.ue.cell.advance(at)
	for range b.flight.Len() {
		p := b.flight.Pop()
		if p.When <= at {
			b.flight.Push(p)
			continue
		}
		p.When = at
		b.lost = append(b.lost, link.Fate{Packet: p, Cause: link.Cause{Reason: link.Handover}})
	}
}

// rateWindow is the averaging window of the granted rate in TTIs.
const rateWindow = 20

// account smooths the served rate.
func (b *Bearer) account(tti int64, bits int) {
	b.average += float64(bits) / fairWindow
	b.rate += float64(bits) / rateWindow
	b.rateAt = tti
}
