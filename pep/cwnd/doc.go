// Package cwnd holds window laws: how a TCP sender's congestion window
// follows acknowledgements, losses, round-trip times and, where a link tells
// it, its granted capacity. Each law is a pure function over a Flow and the
// reference for the BPF program of the same name.
//
// Windows are in packets (of the flow's MSS), times in nanoseconds, rates in
// bits per second.
//
//	Acked(n) ─▶ ┌─────┐ ─▶ Flow.Cwnd
//	Lost()   ─▶ │ Law │ ─▶ Flow.Ssthresh
//	capacity ─▶ └─────┘ ─▶ pacing rate (XLayer)
package cwnd

import (
	"math"

	"farlink/emulator/link"
)

// Flow is one connection, or one subflow of a multipath connection, as its
// law sees it.
type Flow struct {
	Cwnd     float64 // packets
	Ssthresh float64 // packets; math.Inf(1) before the first loss
	SRTT     link.Duration
	MinRTT   link.Duration // the least ever
}

// NewFlow returns a flow at its start: a window of 10 packets (RFC 6928).
func NewFlow(rtt link.Duration) *Flow {
	return &Flow{Cwnd: 10, Ssthresh: math.Inf(1), SRTT: rtt, MinRTT: rtt}
}

// SlowStart reports whether the flow is below its threshold.
func (f *Flow) SlowStart() bool { return f.Cwnd < f.Ssthresh }

// rate is the flow's packets per second, w/r.
func (f *Flow) rate() float64 { return f.Cwnd / f.seconds() }

// seconds is the smoothed round-trip time; a flow without a sample counts as
// one millisecond.
func (f *Flow) seconds() float64 {
	if f.SRTT <= 0 {
		return 1e-3
	}
	return f.SRTT.Seconds()
}

// Law is a congestion control.
type Law interface {
	// Acked grows the window for n packets newly acknowledged while the
	// window was in use.
	Acked(f *Flow, n int)
	// Lost sets threshold and window at a loss event (once per window).
	Lost(f *Flow)
}

// slowStart grows f by n packets up to its threshold and returns how many are
// left over for congestion avoidance (Linux's tcp_slow_start).
func slowStart(f *Flow, n int) int {
	if !f.SlowStart() {
		return n
	}
	grown := math.Min(f.Cwnd+float64(n), f.Ssthresh)
	left := n - int(grown-f.Cwnd)
	f.Cwnd = grown
	return left
}

// halve is Reno's answer to loss (RFC 5681 equation 4), with a floor of two.
func halve(f *Flow) {
	f.Ssthresh = math.Max(f.Cwnd/2, 2)
	f.Cwnd = f.Ssthresh
}
