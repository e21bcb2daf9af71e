package cwnd

import "farlink/emulator/link"

// Predictor is Reno that tells radio loss from congestion by the smoothed
// round-trip time, and reduces before the buffer of a WLAN access point
// overflows: it remembers the SRTT at which congestion last cost a packet and
// steps back when it is reached again.
//
// At a loss, base/(base+SRTT) ≥ 1/2 means that the queue was empty, so the
// radio lost the packet and nothing is learnt; else the SRTT becomes the
// limit, which then grows by a clock tick with every acknowledgement.
type Predictor struct {
	Base  link.Duration // the first SRTT
	Limit link.Duration // SRTT at which to step back; 0 is none yet
	// Tick is how much the limit grows per acknowledgement; 0 is 10 ms, a
	// tick of ns-2's TCP clock.
	Tick link.Duration
}

// Acked grows the window as Reno does, or steps back when the SRTT has
// reached the limit.
func (p *Predictor) Acked(f *Flow, n int) {
	if p.Base == 0 {
		p.Base = f.SRTT
	}
	if p.Limit > 0 && f.SRTT >= p.Limit {
		halve(f)
		p.Limit = 0
		return
	}
	if p.Limit > 0 {
		p.Limit += p.tick()
	}
	Reno{}.Acked(f, n)
}

func (p *Predictor) tick() link.Duration {
	if p.Tick == 0 {
		return 10 * link.Millisecond
	}
	return p.Tick
}

// Lost learns from a loss by congestion, and halves in any case.
func (p *Predictor) Lost(f *Flow) {
	if p.Congested(f) {
		p.Limit = f.SRTT
	}
	halve(f)
}

// Congested reports whether the SRTT says that a queue stood when a packet
// was lost: base/(base+SRTT) < 1/2, that is SRTT above base.
func (p *Predictor) Congested(f *Flow) bool {
	return p.Base > 0 && float64(p.Base)/float64(p.Base+f.SRTT) < 0.5
}
