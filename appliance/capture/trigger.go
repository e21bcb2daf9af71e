package capture

import (
	"fmt"

	"farlink/emulator/link"
)

// Trigger is what a capture waits for: whichever of its conditions is met
// first. The zero Trigger is never met.
type Trigger struct {
	Lost      link.Reason   // a frame lost for this reason
	Mark      link.Mark     // a frame with one of these marks
	Way       link.Way      // whose delivered rate RateBelow and RateAbove look at
	RateBelow link.Rate     // the rate of the last second falls below this; > 0
	RateAbove link.Rate     // the rate of the last second rises above this; > 0
	RTTAbove  link.Duration // propagation and queues of both ways together exceed this; > 0
	RunMark   string        // a mark with this text is put into a run, AnyMark: with any
}

// AnyMark as Trigger.RunMark is met by a mark of any text.
const AnyMark = "*"

// rateOver is how many looks at the figures a rate is averaged over: a
// second of them, since a single tenth holds less than one burst of a
// slotted link.
const rateOver = 10

// Figures are what a pair did in the last tenth of a second.
type Figures struct {
	Delivered [2]float64 // bit/s, by way
	RTT       link.Duration
}

// level is the delivered rate since a trigger is watched.
type level struct {
	last    [rateOver]float64
	seen    int
	reached bool // it was at or above RateBelow: what never flowed cannot fall
}

// met says why the fate is what the trigger waits for, "" if it is not.
func (t Trigger) met(f link.Fate) string {
	switch {
	case t.Lost != link.None && f.Cause.Reason == t.Lost:
		return "lost " + t.Lost.String()
	case t.Mark&f.Packet.Mark != 0:
		return "marked"
	}
	return ""
}

// reached says why the figures are what the trigger waits for, "" if they
// are not.
func (t Trigger) reached(l *level, f Figures) string {
	if t.RTTAbove > 0 && f.RTT > t.RTTAbove {
		return fmt.Sprintf("rtt %s above %s", f.RTT, t.RTTAbove)
	}
	rate, full := l.mean(f.Delivered[t.Way])
	if !full {
		return ""
	}
	if t.RateAbove > 0 && rate > t.RateAbove {
		return fmt.Sprintf("rate %s %s above %s", t.Way, rounded(rate), t.RateAbove)
	}
	if t.RateBelow > 0 && rate < t.RateBelow && l.reached {
		return fmt.Sprintf("rate %s %s below %s", t.Way, rounded(rate), t.RateBelow)
	}
	l.reached = l.reached || rate >= t.RateBelow
	return ""
}

// mean takes a figure in and returns the mean of the last second; full says
// that a second has been seen.
func (l *level) mean(bps float64) (rate link.Rate, full bool) {
	l.last[l.seen%rateOver] = bps
	l.seen++
	sum := 0.0
	for _, one := range l.last {
		sum += one
	}
	return link.Rate(sum / rateOver), l.seen >= rateOver
}

// rounded is a rate to the kbit/s, for people.
func rounded(r link.Rate) link.Rate { return (r + 500) / 1000 * 1000 }

// Look tells the recorder the pair's figures, ten times a second.
func (r *Recorder) Look(f Figures) {
	r.fire(func() string { return r.trigger.reached(&r.level, f) })
}

// Marked tells the recorder that a mark was put into a run of its pair.
func (r *Recorder) Marked(text string) {
	r.fire(func() string {
		if want := r.trigger.RunMark; want == "" || want != AnyMark && want != text {
			return ""
		}
		return "mark " + text
	})
}

// fire lets the trigger go off if an armed recorder waits for it and why has
// something to say.
func (r *Recorder) fire(why func() string) {
	r.mu.Lock()
	said, fires := "", r.fires
	if r.armed && fires != nil {
		said = why()
	}
	if said != "" {
		r.fires, r.trigger = nil, Trigger{}
	}
	r.mu.Unlock()
	if said != "" {
		fires(said)
	}
}
