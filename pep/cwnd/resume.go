package cwnd

import (
	"math"

	"farlink/emulator/link"
)

// Saved is what is remembered of a path for later connections (RFC 9959,
// section on the Observing phase): only from connections that used it well.
type Saved struct {
	Cwnd   float64 // packets in use and acknowledged within a round
	MinRTT link.Duration
	At     link.Time // when it was saved
}

// Phase of a connection that resumes (RFC 9959).
type Phase uint8

// The phases, in order.
const (
	Reconnaissance Phase = iota // probing with the initial window
	Unvalidated                 // jumped; nothing of the jump acknowledged
	Validating                  // the jump is being acknowledged
	SafeRetreat                 // the jump met congestion
	Normal                      // the law below rules
)

// Resume is Careful Resume: a new connection jumps to half of the window that
// an earlier one had on the path, once a round has shown that the path is the
// same, and retreats below what was proven when the jump meets congestion.
type Resume struct {
	Saved    Saved
	Lifetime link.Duration // how long Saved is trusted; 0 is one hour
	Phase    Phase

	pipe  float64 // packets that the path has carried, as far as is known
	ahead float64 // packets in flight at the jump: the path carries them already
	mark  float64 // packets to be acknowledged before the jump, or the retreat, is over
}

// Confirmed reports whether a round-trip sample fits the saved path: not
// below half of the saved minimum, not above ten times (RFC 9959, exit
// conditions of Reconnaissance).
func (r *Resume) Confirmed(rtt link.Duration, now link.Time) bool {
	life := r.Lifetime
	if life == 0 {
		life = 3600 * link.Second
	}
	return r.Saved.Cwnd > 0 && now.Sub(r.Saved.At) <= life && rtt >= r.Saved.MinRTT/2 && rtt <= 10*r.Saved.MinRTT
}

// FirstRound ends the reconnaissance: the initial window was acknowledged
// without loss, and inflight packets follow it. It jumps, or stays normal.
func (r *Resume) FirstRound(f *Flow, rtt link.Duration, now link.Time, inflight int) {
	r.Phase = Normal
	if !r.Confirmed(rtt, now) || r.Saved.Cwnd/2 <= f.Cwnd {
		return
	}
	r.Phase, r.pipe, r.ahead = Unvalidated, float64(inflight), float64(inflight)
	f.Cwnd = r.Saved.Cwnd / 2
}

// Acked books n acknowledged packets; inflight is what is unacknowledged now.
// Until the phase is normal the window does not grow.
func (r *Resume) Acked(f *Flow, n, inflight int) {
	switch r.Phase {
	case Unvalidated:
		fresh := math.Max(float64(n)-r.ahead, 0)
		r.ahead = math.Max(r.ahead-float64(n), 0)
		if fresh == 0 {
			return
		}
		// The first acknowledgement of the jump: what is in flight is all
		// that may be validated.
		r.pipe += fresh
		r.Phase, r.mark = Validating, float64(inflight)
		f.Cwnd = math.Max(r.pipe, math.Min(f.Cwnd, float64(inflight+n)))
		r.over(f)
	case Validating, SafeRetreat:
		r.pipe += float64(n)
		r.mark -= float64(n)
		r.over(f)
	}
}

// over ends the phase once all that was in flight when it began is
// acknowledged.
func (r *Resume) over(f *Flow) {
	if r.mark > 0 {
		return
	}
	if r.Phase == SafeRetreat {
		f.Ssthresh = math.Max(r.pipe*beta, 2)
	} else {
		f.Ssthresh = math.Inf(1)
	}
	r.Phase = Normal
}

// beta is the reduction of a retreat.
const beta = 0.5

// Lost answers a loss, with inflight packets under way. It reports whether
// the law below is to answer it instead.
func (r *Resume) Lost(f *Flow, inflight int) bool {
	switch r.Phase {
	case Unvalidated, Validating:
		r.Phase, r.mark = SafeRetreat, float64(inflight)
		// Below what the path has proven to carry, whatever was jumped to.
		f.Cwnd = math.Max(r.pipe*beta, initialWindow*beta)
		f.Ssthresh = f.Cwnd
		return false
	case SafeRetreat:
		return false
	}
	r.Phase = Normal
	return true
}

// initialWindow is that of RFC 6928, in packets.
const initialWindow = 10
