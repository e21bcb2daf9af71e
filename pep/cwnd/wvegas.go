package cwnd

import (
	"math"

	"farlink/emulator/link"
)

// WVegas is weighted Vegas (Cao, Xu, Fu, "Delay-based congestion control for
// multipath TCP", 2012): once a round, a path with more packets queued than
// its share alpha of the total gives one up, one with fewer takes one.
type WVegas struct {
	Group *Group
	Paths []*VegasPath // of the flows of the group, in the same order
}

// VegasPath is what wVegas remembers of a path.
type VegasPath struct {
	Alpha      float64 // packets this path may keep queued; starts at 2
	QueueDelay link.Duration
}

// vegasTotal is the number of packets that all paths together may keep
// queued.
const vegasTotal = 10

// Round ends a round of the i-th path in which the mean round-trip time was
// rtt: the window moves by at most one packet, and is cut back when the queue
// delay has grown to twice its least.
func (v WVegas) Round(i int, rtt link.Duration) {
	f, p := v.Group.Flows[i], v.Paths[i]
	base, now := f.MinRTT.Seconds(), rtt.Seconds()
	diff := f.Cwnd * (now - base) / now
	if f.SlowStart() {
		if diff > 1 {
			f.Cwnd = math.Max(math.Min(f.Cwnd, f.Cwnd*base/now+1), 2)
			f.Ssthresh = math.Max(f.Cwnd-1, 2)
		} else {
			f.Cwnd *= 2
		}
		return
	}
	if diff >= p.Alpha {
		p.Alpha = math.Max(2, vegasTotal*v.weight(i, now))
	}
	switch {
	case diff > p.Alpha:
		f.Cwnd--
	case diff < p.Alpha:
		f.Cwnd++
	}
	v.drain(i, rtt)
	f.Cwnd = math.Max(f.Cwnd, 2)
}

// weight is the path's share of the connection's rate.
func (v WVegas) weight(i int, now float64) float64 {
	var sum float64
	for k, f := range v.Group.Flows {
		if k != i {
			sum += f.rate()
		}
	}
	own := v.Group.Flows[i].Cwnd / now
	return own / (sum + own)
}

// drain empties the queue that builds up while base round-trip times drift.
func (v WVegas) drain(i int, rtt link.Duration) {
	f, p := v.Group.Flows[i], v.Paths[i]
	queue := rtt - f.MinRTT
	if p.QueueDelay == 0 || queue < p.QueueDelay {
		p.QueueDelay = queue
	}
	if p.QueueDelay > 0 && queue >= 2*p.QueueDelay {
		f.Cwnd *= f.MinRTT.Seconds() / (2 * rtt.Seconds())
		p.QueueDelay = 0
	}
}

// Lost halves the window.
func (v WVegas) Lost(f *Flow) { halve(f) }
