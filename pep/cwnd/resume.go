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

	pipe float64 // packets acknowledged since the jump
	jump float64 // window of the jump
	mark float64 // flight size at the jump: its acknowledgement validates
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
// without loss. It jumps, or stays normal, and returns the window.
func (r *Resume) FirstRound(f *Flow, rtt link.Duration, now link.Time) {
	r.Phase = Normal
	if !r.Confirmed(rtt, now) || r.Saved.Cwnd/2 <= f.Cwnd {
		return
	}
	r.Phase, r.mark, r.pipe = Unvalidated, f.Cwnd, f.Cwnd
	r.jump = r.Saved.Cwnd / 2
	f.Cwnd = r.jump
}

// Acked books n acknowledged packets; inflight is what is unacknowledged now.
func (r *Resume) Acked(f *Flow, n, inflight int) {
	switch r.Phase {
	case Unvalidated:
		r.pipe += float64(n)
		// The first acknowledgement of the jump: what is in flight is all
		// that may be validated.
		r.Phase = Validating
		f.Cwnd = math.Max(r.pipe, math.Min(f.Cwnd, float64(inflight+n)))
		r.mark = r.pipe + float64(inflight)
	case Validating:
		r.pipe += float64(n)
		if r.pipe >= r.mark {
			r.Phase = Normal
			f.Ssthresh = math.Inf(1)
		}
	case SafeRetreat:
		r.pipe += float64(n)
		if inflight == 0 {
			r.Phase = Normal
			f.Ssthresh = math.Max(r.pipe*beta, 2)
		}
	}
}

// beta is the reduction of the law that goes on (Reno's half).
const beta = 0.5

// Lost answers a loss. It reports whether the law below is to answer it
// instead.
func (r *Resume) Lost(f *Flow) bool {
	switch r.Phase {
	case Reconnaissance:
		r.Phase = Normal
		return true
	case Unvalidated, Validating:
		r.Phase = SafeRetreat
		// Below what the path has proven to carry, whatever was jumped to.
		f.Cwnd = math.Max(r.pipe*beta, 10*beta)
		f.Ssthresh = f.Cwnd
		return false
	case SafeRetreat:
		return false
	}
	return true
}
