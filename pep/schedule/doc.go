// Package schedule holds multipath schedulers: which path carries the next
// chunk of a connection, or that it is better to wait. Each is a function of
// a Snapshot and of the little it remembers (a turn, a weight, a flag); none
// knows sockets or clocks, so each is testable by hand.
//
//	paths {srtt, rttvar, cwnd, inflight, …} ─┐
//	connection {window, unsent, …} ──────────┴▶ Scheduler.Next ─▶ path | wait
//
// Bytes are payload, windows of paths are in packets (of the path's MSS),
// times in nanoseconds, rates in bits per second.
package schedule

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"farlink/emulator/link"
)

// State is what a path can be used for.
type State uint8

// The states of a path.
const (
	Up    State = iota // established, makes progress
	Loss               // in loss recovery after a timeout: takes nothing new
	Stale              // sent, and nothing came back for too long
	Gone               // not connected
)

// Path is a path as its congestion control sees it (TCP_INFO of a subflow).
type Path struct {
	SRTT, RTTVar link.Duration
	MSS          int // bytes of payload
	Cwnd         int // packets
	Inflight     int // packets: unacknowledged − sacked − lost + retransmitted
	NotSent      int // bytes the socket holds and has not sent
	Ssthresh     int // packets; math.MaxInt32 and above is "none yet"
	Rate         link.Rate
	Pacing       link.Rate // at which its law lets packets go; 0 is at once
	Paced        bool      // the law sets a rate and leaves ssthresh alone (BBR)
	State        State
	Full         bool // the socket takes no more bytes
	Backup       bool // only when no other path is up
	Behind       int  // bytes in flight on other paths of which this one has had no copy
}

// Snapshot is a connection at the instant of a decision.
type Snapshot struct {
	Now        link.Time
	Paths      []Path
	Chunk      int    // bytes of the next chunk
	Unsent     int    // bytes not yet given to any path, the chunk among them
	More       bool   // the source has more than Unsent: its end is not in sight
	Window     int    // bytes between the peer's data acknowledgement and the end of its window
	Left       int    // bytes of the window that are still free
	Reinjected uint64 // chunks sent again on another path, since the connection began
	Eager      bool   // fill socket buffers: decide early (what naive relays do)
}

// Wait is the choice of no path.
const Wait = -1

// Choice is a decision: which path, or Wait; Copy is a chunk that another
// path has in flight, not a new one.
type Choice struct {
	Path int
	Copy bool
}

var wait = Choice{Path: Wait}

// Scheduler chooses. It is used by one connection, in one direction.
type Scheduler interface {
	// Next chooses a path for the next chunk. It must choose Wait or a path
	// that is available.
	Next(s *Snapshot) Choice
}

// Options of the schedulers that have any.
type Options struct {
	NumSegments   int  // round robin: segments per turn; 0 is 1
	StrictRotate  bool // round robin: cwnd_limited=false, wait for the path whose turn it is
	BLESTLambda   float64
	ECFHysteresis float64
}

// Names lists the schedulers.
func Names() []string {
	return []string{"minrtt", "roundrobin", "redundant", "blest", "ecf", "arrival"}
}

// New returns a scheduler by name.
func New(name string, o Options) (Scheduler, error) {
	switch name {
	case "minrtt":
		return MinRTT{}, nil
	case "roundrobin":
		return &RoundRobin{Segments: max(o.NumSegments, 1), Strict: o.StrictRotate}, nil
	case "redundant":
		return Redundant{}, nil
	case "blest":
		return &BLEST{Lambda: max(o.BLESTLambda, 1)}, nil
	case "ecf":
		if o.ECFHysteresis == 0 {
			o.ECFHysteresis = 0.25
		}
		return &ECF{Beta: o.ECFHysteresis}, nil
	case "arrival":
		return Arrival{}, nil
	}
	return nil, fmt.Errorf("scheduler %q: want one of %s", name, strings.Join(Names(), ", "))
}

// usable reports whether path i may be used at all: it is up, and no backup
// while a path that is none is up.
func (s *Snapshot) usable(i int) bool {
	p := &s.Paths[i]
	if p.State != Up {
		return false
	}
	return !p.Backup || !slices.ContainsFunc(s.Paths, func(o Path) bool { return o.State == Up && !o.Backup })
}

// Available reports whether path i can send a chunk soon: its socket holds no
// more than a chunk, or what the path sends in Slack, and its window is open,
// or opens within Slack. A chunk given to a path that is not available only
// waits where no later insight can reach it.
func (s *Snapshot) Available(i int) bool {
	p := &s.Paths[i]
	if !s.usable(i) || p.Full {
		return false
	}
	soon := p.soon()
	return s.Eager || p.NotSent <= max(s.Chunk, soon, int(p.window()/8)) && (p.Cwnd-p.Inflight)*p.MSS+soon > p.NotSent
}

// Slack is how long a socket must be able to send on its own: whoever decides
// looks again after some milliseconds, on a busy machine later. A socket that
// runs dry meanwhile loses the time. And when one is written to that has
// nothing left and whose window is open, its kernel calls it limited by its
// application: BBR then never finds that its start is over, and keeps its
// queue full for good. A far path, where a little waiting is nothing beside
// its round trip, may hold an eighth of its window while that is open.
const Slack = 10 * link.Millisecond

// soon is what the path sends in Slack, in bytes: as it was seen to deliver,
// or as its law would have it, but of that no more than a window. On a near
// path a fresh window stands for any rate.
func (p *Path) soon() int {
	law := math.Max(p.window()/p.seconds(), float64(p.Pacing)/8) * Slack.Seconds()
	return int(math.Max(math.Min(law, p.window()), float64(p.Rate)/8*Slack.Seconds()))
}

// fits reports whether a new chunk is there and within the peer's window.
func (s *Snapshot) fits() bool { return s.Unsent > 0 && s.Left >= s.Chunk }

// least returns the path of those that pass with the least smoothed
// round-trip time; Wait if there is none.
func (s *Snapshot) least(pass func(i int) bool) int {
	best := Wait
	for i := range s.Paths {
		if pass(i) && (best == Wait || s.Paths[i].SRTT < s.Paths[best].SRTT) {
			best = i
		}
	}
	return best
}

// SlowStart reports whether the path's window is below its threshold.
func (p *Path) SlowStart() bool { return p.Cwnd < p.Ssthresh }

// window is the path's window in bytes, at least one packet.
func (p *Path) window() float64 { return float64(max(p.Cwnd, 1) * p.MSS) }

// rate is what the path carries, bytes per second: what it was seen to
// deliver, and before that what its window stands for.
func (p *Path) rate() float64 {
	byWindow := p.window() / p.seconds()
	if p.Rate <= 0 {
		return byWindow
	}
	if p.Paced || !p.SlowStart() {
		return float64(p.Rate) / 8
	}
	return math.Max(float64(p.Rate)/8, byWindow)
}

// seconds is the smoothed round-trip time, at least 10 µs.
func (p *Path) seconds() float64 { return math.Max(p.SRTT.Seconds(), 1e-5) }
