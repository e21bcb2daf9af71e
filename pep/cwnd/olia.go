package cwnd

import "math"

// OLIA is the opportunistic linked increase (Khalili, Gast, Popovic, Le
// Boudec, "MPTCP is not Pareto-optimal", 2013): per acknowledged packet
// (w/r²)/(sum w/r)² + e/w, where e moves window from the paths with the
// largest window to the best paths that have not got it.
type OLIA struct {
	Group *Group
	// History of each flow of the group, in the same order.
	History []*History
}

// History is what OLIA remembers of a path: packets acknowledged since the
// last loss, and between the last two.
type History struct{ Since, Between float64 }

// length is l_k, the larger of the two.
func (h *History) length() float64 { return math.Max(h.Since, h.Between) }

// Epsilon is e for the i-th flow of the group: +1/(N·|C|) for the best paths
// without the largest window, −1/(N·|M|) for those with it while the former
// exist, else 0.
func (o OLIA) Epsilon(i int) float64 {
	best, largest := o.best(), o.largest()
	var collected, most int
	for k := range o.Group.Flows {
		if best[k] && !largest[k] {
			collected++
		}
		if largest[k] {
			most++
		}
	}
	n := float64(len(o.Group.Flows))
	switch {
	case collected == 0:
		return 0
	case best[i] && !largest[i]:
		return 1 / (n * float64(collected))
	case largest[i]:
		return -1 / (n * float64(most))
	}
	return 0
}

// best marks the paths with the largest l/r².
func (o OLIA) best() []bool {
	return argmax(len(o.Group.Flows), func(k int) float64 {
		r := o.Group.Flows[k].seconds()
		return o.History[k].length() / (r * r)
	})
}

// largest marks the paths with the largest window.
func (o OLIA) largest() []bool {
	return argmax(len(o.Group.Flows), func(k int) float64 { return o.Group.Flows[k].Cwnd })
}

func argmax(n int, value func(int) float64) []bool {
	top := math.Inf(-1)
	for k := range n {
		top = math.Max(top, value(k))
	}
	marks := make([]bool, n)
	for k := range n {
		marks[k] = value(k) >= top
	}
	return marks
}

// Increase is what one acknowledged packet adds to the window of the i-th
// flow beyond slow start; it may be negative.
func (o OLIA) Increase(i int) float64 {
	f := o.Group.Flows[i]
	sum, _ := o.Group.rates()
	r := f.seconds()
	return f.Cwnd/(r*r)/(sum*sum) + o.Epsilon(i)/f.Cwnd
}

func (o OLIA) index(f *Flow) int {
	for i, k := range o.Group.Flows {
		if k == f {
			return i
		}
	}
	return -1
}

// Acked grows (or shrinks, to no less than one) the window.
func (o OLIA) Acked(f *Flow, n int) {
	i := o.index(f)
	o.History[i].Since += float64(n)
	for range slowStart(f, n) {
		f.Cwnd = math.Max(f.Cwnd+o.Increase(i), 1)
	}
}

// Lost halves the window and begins a new interval.
func (o OLIA) Lost(f *Flow) {
	h := o.History[o.index(f)]
	h.Between, h.Since = h.Since, 0
	halve(f)
}
