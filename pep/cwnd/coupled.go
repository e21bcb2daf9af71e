package cwnd

import "math"

// Group is the subflows of one multipath connection. The coupled laws look at
// all of them.
type Group struct{ Flows []*Flow }

// rates returns the sum and the maximum of the subflows' rates w/r.
func (g *Group) rates() (sum, most float64) {
	for _, f := range g.Flows {
		sum += f.rate()
		most = math.Max(most, f.rate())
	}
	return sum, most
}

// LIA is the linked increase of RFC 6356: per acknowledged packet
// min(alpha/W, 1/w), with W the sum of windows and
// alpha = W · max(w/r²) / (sum w/r)².
type LIA struct{ Group *Group }

// Increase is what one acknowledged packet adds to f's window beyond slow
// start.
func (l LIA) Increase(f *Flow) float64 {
	sum, _ := l.Group.rates()
	best := 0.0
	for _, k := range l.Group.Flows {
		best = math.Max(best, k.rate()/k.seconds())
	}
	return math.Min(best/(sum*sum), 1/f.Cwnd)
}

// Acked grows the window.
func (l LIA) Acked(f *Flow, n int) {
	for range slowStart(f, n) {
		f.Cwnd += l.Increase(f)
	}
}

// Lost halves it.
func (LIA) Lost(f *Flow) { halve(f) }

// Balia is the balanced linked adaptation (Peng, Walid, Hwang, Low, "Multipath
// TCP: analysis, design, and implementation", 2016): with x = w/r and
// A = max x / x, +x/(r·(sum x)²) · (1+A)/2 · (4+A)/5 per acknowledged packet,
// −w/2 · min(A, 1.5) at a loss.
type Balia struct{ Group *Group }

// Increase is what one acknowledged packet adds to f's window beyond slow
// start.
func (b Balia) Increase(f *Flow) float64 {
	sum, most := b.Group.rates()
	a := most / f.rate()
	return f.rate() / (f.seconds() * sum * sum) * (1 + a) / 2 * (4 + a) / 5
}

// Acked grows the window.
func (b Balia) Acked(f *Flow, n int) {
	for range slowStart(f, n) {
		f.Cwnd += b.Increase(f)
	}
}

// Lost cuts the window by the path's share.
func (b Balia) Lost(f *Flow) {
	_, most := b.Group.rates()
	cut := f.Cwnd / 2 * math.Min(most/f.rate(), 1.5)
	f.Ssthresh = math.Max(f.Cwnd-cut, 2)
	f.Cwnd = f.Ssthresh
}
