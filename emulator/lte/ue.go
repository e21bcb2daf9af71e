package lte

import "farlink/emulator/link"

// UE is a user equipment: one station of the cell, with a bearer each way.
// Its two ways share DRX, RRC and mobility, so one goroutine at a time may
// call either.
type UE struct {
	cell    *Cell
	number  int
	weight  int
	bearers [2]Bearer
	offset  int64 // of its SR and DRX occasions within the frame structure

	lastActive int64 // TTI in which it last sent or received
	promoteAt  int64 // TTI at which RRC promotion ends; 0 is none under way
	outage     [2]int64
	seamless   bool // the outage under way loses what is in flight
}

// Bearer returns the stage of one way.
func (u *UE) Bearer(w link.Way) *Bearer { return &u.bearers[w] }

// Handover interrupts both ways from at for d: with lossless, packets wait
// and burst out behind it; else those in flight are lost.
func (u *UE) Handover(at link.Time, d link.Duration, lossless bool) {
	first := int64(at) / ms
	u.outage = [2]int64{first, first + int64(d)/ms}
	u.seamless = !lossless
	if u.seamless {
		for w := range u.bearers {
			u.bearers[w].loseInFlight(at)
		}
	}
}

// interrupted reports whether mobility keeps the UE off the air in a TTI.
func (u *UE) interrupted(tti int64) bool {
	if tti >= u.outage[0] && tti < u.outage[1] {
		return true
	}
	m := &u.cell.cfg.Mobility
	return within(tti, m.HandoverEvery, m.Interruption) || within(tti, m.FailureEvery, m.FailureOutage)
}

// within reports whether a TTI lies in the first d of a period after the
// first one.
func within(tti int64, every, d link.Duration) bool {
	if every == 0 {
		return false
	}
	t := tti * ms
	return t >= int64(every) && t%int64(every) < int64(d)
}

// reachable reports whether the UE can be sent to, or send, in a TTI; first
// is when the packet at the front arrived.
func (u *UE) reachable(w link.Way, tti, first int64) bool {
	if u.interrupted(tti) {
		return false
	}
	if !u.connected(tti) {
		u.promote(w, first)
		if tti < u.promoteAt {
			return false
		}
		u.promoteAt, u.lastActive = 0, tti
	}
	return w == link.Up || u.awake(tti)
}

// connected reports whether RRC has not yet released the UE.
func (u *UE) connected(tti int64) bool {
	limit := int64(u.cell.cfg.RRC.Inactivity) / ms
	return limit == 0 || u.promoteAt == 0 && tti-u.lastActive < limit
}

// promote starts the way from idle to connected for a packet that arrived in
// TTI first: the network has to wait for a paging occasion, the UE has not
// (TS 36.304 clause 7).
func (u *UE) promote(w link.Way, first int64) {
	at := first
	if w == link.Down {
		cycle := int64(u.cell.cfg.RRC.Paging) / ms
		at = first + cycle - 1 - (first+u.offset+cycle-1)%cycle
	}
	at += int64(u.cell.cfg.RRC.Promotion) / ms
	if u.promoteAt == 0 || at < u.promoteAt {
		u.promoteAt = at
	}
}

// awake reports whether DRX lets the UE listen in a TTI (TS 36.321 clause
// 5.7).
func (u *UE) awake(tti int64) bool {
	d := &u.cell.cfg.DRX
	if d.LongCycle == 0 {
		return true
	}
	asleep := tti - u.lastActive - int64(d.Inactivity)/ms
	if asleep < 0 {
		return true
	}
	on := int64(d.OnDuration) / ms
	if short := int64(d.ShortCycle) / ms; asleep < short*int64(d.ShortCycles) {
		return (tti+u.offset)%short < on
	}
	return (tti+u.offset)%(int64(d.LongCycle)/ms) < on
}
