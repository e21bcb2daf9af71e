package schedule

import (
	"math"

	"farlink/emulator/link"
)

// BLEST estimates blocking (Ferlin, Alay, Mehani, Boreli, "BLEST: blocking
// estimation-based MPTCP scheduler for heterogeneous networks", 2016): a
// chunk on the slow path S occupies the connection's window for a round-trip
// time of S. If the fast path F could use more than what is left of the
// window meanwhile, it is better to wait for F.
//
//	X = MSS_F·(w_F + (n−1)/2)·n, n = RTT_S/RTT_F    what F sends meanwhile
//	Y = window − MSS_S·(inflight_S + 1)             what S would leave
//	wait if X·lambda > Y
type BLEST struct {
	// Lambda corrects X; 1 at first, within 1 to 1.3.
	Lambda float64

	since      link.Time // of the last correction
	reinjected uint64
}

// The steps and bounds of lambda.
const (
	lambdaUp, lambdaDown    = 0.04, 0.01
	lambdaLeast, lambdaMost = 1.0, 1.3
	slowStartRounds         = 16 // of doubling, at most
)

// Next chooses.
func (b *BLEST) Next(s *Snapshot) Choice {
	if !s.fits() {
		return wait
	}
	fast, slow := s.least(s.usable), s.least(s.Available)
	if slow == Wait || slow == fast {
		return Choice{Path: slow}
	}
	f, p := &s.Paths[fast], &s.Paths[slow]
	b.correct(s, p.SRTT)
	y := float64(s.Window - p.MSS*(p.Inflight+1))
	if Meanwhile(f, p)*b.Lambda > y {
		return wait
	}
	return Choice{Path: slow}
}

// Meanwhile is X: the bytes that f can send during a round-trip time of p.
// A paced law never leaves what looks like slow start, so its rate is taken:
// else X explodes and the slow path starves.
func Meanwhile(f, p *Path) float64 {
	if f.Paced && f.Rate > 0 {
		return float64(f.Rate) / 8 * p.seconds()
	}
	n := p.seconds() / f.seconds()
	mss, w := float64(f.MSS), float64(f.Cwnd)
	if f.SlowStart() {
		return mss * w * (math.Exp2(math.Min(n, slowStartRounds)) - 1)
	}
	return mss * (w + (n-1)/2) * n
}

// correct moves lambda once per round-trip time of the slow path: up if a
// chunk had to be sent again because it blocked the window.
func (b *BLEST) correct(s *Snapshot, rtt link.Duration) {
	if s.Now-b.since < link.Time(rtt) {
		return
	}
	if s.Reinjected > b.reinjected {
		b.Lambda += lambdaUp
	} else {
		b.Lambda -= lambdaDown
	}
	b.Lambda = min(max(b.Lambda, lambdaLeast), lambdaMost)
	b.since, b.reinjected = s.Now, s.Reinjected
}
