package lte

import "farlink/emulator/link"

// grantLag is from the opportunity in which a scheduling request goes out to
// the TTI in which the first granted block is sent: request 1, cell 3, grant
// 1, UE 3 (TS 36.881 table 5.2.1-1).
const grantLag = 8

// reportLag is from a block that carries a buffer status report to the first
// block that a grant for it can be sent in: air and decoding 4, grant to
// transmission 4.
const reportLag = 8

// report is a buffer status report in the block of a TTI.
type report struct {
	tti    int64
	buffer int // bits left behind after the block
	sent   int // bits in the block
}

// uplink is what the cell knows of a UE's buffer, and what the UE expects.
type uplink struct {
	requestAt int64 // TTI of the block for a pending request; 0 is none
	reports   [16]report
	reportOf  int64 // TTI of the newest report that the cell has used
	known     int   // bits the cell believes waiting
	last      int   // bits in the newest report sent
}

// expecting reports whether grants are still to come for what was reported.
func (b *Bearer) expecting() bool { return b.last > 0 || b.known > 0 || b.requestAt > 0 }

// request asks for resources when nothing is expected that would carry a
// buffer status report: at the next opportunity of the UE's SR cycle.
func (b *Bearer) request(when int64) {
	access := &b.ue.cell.cfg.Access
	if access.Grants == "prescheduled" || b.requestAt > 0 || b.last > 0 {
		return
	}
	cycle, lag := int64(access.SRPeriod)/ms, int64(grantLag)
	if access.Grants == "semi_persistent" {
		cycle, lag = int64(access.Period)/ms, processing
	}
	tti := max((when+ms-1)/ms, b.ue.cell.tti)
	b.requestAt = tti + (cycle-(tti+b.ue.offset)%cycle)%cycle + lag
}

// learn lets the cell use the newest report that has reached it by a TTI.
func (b *Bearer) learn(tti int64) {
	newest := -1
	for i := range b.reports {
		r := &b.reports[i]
		if r.tti > b.reportOf && r.tti <= tti-reportLag && (newest < 0 || r.tti > b.reports[newest].tti) {
			newest = i
		}
	}
	if newest < 0 {
		return
	}
	b.reportOf = b.reports[newest].tti
	b.known = b.reports[newest].buffer
	for i := range b.reports {
		if b.reports[i].tti > b.reportOf {
			b.known -= b.reports[i].sent
		}
	}
	b.known = max(b.known, 0)
}

// granted reports whether the UE has a grant for a TTI.
func (b *Bearer) granted(tti int64) bool {
	return b.known > 0 || b.requestAt > 0 && tti >= b.requestAt
}

// allowance is how many bits of a block of size bits the UE may fill.
func (b *Bearer) allowance(tti int64, size int) int {
	access := &b.ue.cell.cfg.Access
	switch {
	case access.Grants == "prescheduled":
		return size
	case b.known > 0:
		return min(size, b.known+packetOverhead*8+blockOverhead)
	case access.Grants == "semi_persistent":
		return min(size, int(access.Block)*8+blockOverhead)
	default:
		return min(size, int(access.FirstGrant)*8+blockOverhead)
	}
}

// sent books a block of a TTI and the report in it.
func (b *Bearer) sent(tti int64, bits int) {
	if b.requestAt > 0 && tti >= b.requestAt {
		b.requestAt = 0
	}
	b.known = max(0, b.known-bits)
	b.last = 0
	if b.waiting.Len() == 0 {
		b.known = 0
	} else {
		b.last = b.waiting.Bytes()*8 + packetOverhead*b.waiting.Len()
	}
	r := &b.reports[tti&15]
	if r.tti != tti {
		*r = report{tti: tti}
	}
	r.buffer, r.sent = b.last, r.sent+bits
}

// Capacity tells the rate granted of late (or, idle, what a lone block each
// TTI would give), the next TTI and the radio's round trip.
func (b *Bearer) Capacity(now link.Time) link.Capacity {
	cell := b.ue.cell
	tti := int64(now) / ms
	bits := b.rate
	if tti-b.rateAt > rateWindow {
		share := (1 - cell.ways[b.way].share) / float64(1+cell.load.at(tti))
		bits = float64(b.blockBits(tti, cell.cfg.PRB)*cell.cfg.Carriers) * share
	}
	rate := link.Rate(bits * 1000)
	return link.Capacity{
		Version: uint64(max(b.rateAt, 0)), Rate: rate, NextAt: link.Time(cell.tti * ms), NextRate: rate,
		RTT: b.radioRTT(), Queue: link.Size(b.waiting.Bytes()), Mode: b.mode(tti),
	}
}
