package carriers

import (
	"fmt"
	"strings"
)

// Verdict is what became of one thing that seed 000 published.
type Verdict struct {
	Claim string `json:"claim"`
	Holds bool   `json:"holds"`
	Found string `json:"found"`
}

// Word says it in a word.
func (v Verdict) Word() string {
	if v.Holds {
		return "REPRODUCED"
	}
	return "NOT REPRODUCED"
}

// published are the schedulers of seed 000.
var published = []string{"minrtt", "roundrobin", "redundant", "blest", "ecf"}

// Verdicts compares the matrix with what seed 000 published: one number and
// ten orderings. What differs within a twentieth counts as alike.
func (r *Result) Verdicts() []Verdict {
	return []Verdict{
		r.best(), r.uncoupledWin(), r.controlsInOrder(), r.coupledAlike(), r.coupledBelowSingle(),
		r.bbrBest(), r.cubicBest(), r.renoLowest(), r.redundantIsOne(), r.moreThanSingle(), r.wvegasWorst(),
	}
}

// alike is the share by which two figures may differ and mean the same.
const alike = 0.05

func (r *Result) best() Verdict {
	s, c, got := r.Best()
	blest := r.Cell("blest", "bbr")
	return Verdict{
		"the best cell is BLEST with BBR, 89.8 % of the sum",
		blest >= 0.898*r.SumMbps && blest >= got*(1-alike),
		fmt.Sprintf("BLEST with BBR %.1f %%; best %s with %s, %.1f %%", 100*blest/r.SumMbps, s, c, 100*got/r.SumMbps),
	}
}

// mean of a scheduler's row over some controls.
func (r *Result) mean(scheduler string, controls []string) (m float64) {
	for _, c := range controls {
		m += r.Cell(scheduler, c) / float64(len(controls))
	}
	return m
}

// all collects for which schedulers something does not hold.
func all(claim string, schedulers []string, holds func(s string) bool) Verdict {
	var not []string
	for _, s := range schedulers {
		if !holds(s) {
			not = append(not, s)
		}
	}
	if len(not) == 0 {
		return Verdict{claim, true, "with every scheduler it names"}
	}
	return Verdict{claim, false, "not with " + strings.Join(not, ", ")}
}

func (r *Result) uncoupledWin() Verdict {
	return all("uncoupled controls carry more than coupled ones, with every scheduler", published, func(s string) bool {
		return r.mean(s, Controls[coupled:]) > r.mean(s, Controls[:coupled])
	})
}

func (r *Result) controlMean(c string) (m float64) {
	for _, s := range published {
		m += r.Cell(s, c) / float64(len(published))
	}
	return m
}

func (r *Result) controlsInOrder() Verdict {
	b, c, n := r.controlMean("bbr"), r.controlMean("cubic"), r.controlMean("reno")
	return Verdict{"in the mean BBR carries more than CUBIC, CUBIC more than Reno", b > c && c > n, fmt.Sprintf("%.1f, %.1f, %.1f Mbit/s", b, c, n)}
}

func (r *Result) coupledAlike() Verdict {
	l, o, b, w := r.controlMean("lia"), r.controlMean("olia"), r.controlMean("balia"), r.controlMean("wvegas")
	least, most := min(l, o, b), max(l, o, b)
	return Verdict{
		"LIA, OLIA and Balia are alike, wVegas far below", least >= 0.9*most && w < 0.7*least,
		fmt.Sprintf("%.1f, %.1f, %.1f, and %.1f Mbit/s", l, o, b, w),
	}
}

func (r *Result) coupledBelowSingle() Verdict {
	most, single := 0.0, 0.0
	for _, c := range Controls {
		single = max(single, r.bestAlone(c))
	}
	for _, s := range published {
		for _, c := range Controls[:coupled] {
			most = max(most, r.Cell(s, c))
		}
	}
	return Verdict{"coupled controls carry less over both than the best single path", most < single, fmt.Sprintf("up to %.1f against %.1f Mbit/s", most, single)}
}

func (r *Result) bestOf(s string) (best string) {
	for _, c := range Controls {
		if best == "" || r.Cell(s, c) > r.Cell(s, best) {
			best = c
		}
	}
	return best
}

func (r *Result) bbrBest() Verdict {
	return all("BBR is the best control with RR, Redundant, BLEST and ECF", []string{"roundrobin", "redundant", "blest", "ecf"}, func(s string) bool {
		return r.bestOf(s) == "bbr"
	})
}

func (r *Result) cubicBest() Verdict {
	best := r.bestOf("minrtt")
	return Verdict{"CUBIC is the best control with minRTT", best == "cubic", fmt.Sprintf("%s is, %.1f Mbit/s; CUBIC %.1f", best, r.Cell("minrtt", best), r.Cell("minrtt", "cubic"))}
}

func (r *Result) renoLowest() Verdict {
	return all("Reno is the lowest of the uncoupled, except with RR", []string{"minrtt", "redundant", "blest", "ecf"}, func(s string) bool {
		return r.Cell(s, "reno") <= min(r.Cell(s, "cubic"), r.Cell(s, "bbr"))
	})
}

func (r *Result) redundantIsOne() Verdict {
	var over []string
	for _, c := range Controls {
		if r.Cell("redundant", c) > (1+alike)*r.bestAlone(c) {
			over = append(over, c)
		}
	}
	found := "with every control"
	if over != nil {
		found = "more with " + strings.Join(over, ", ")
	}
	return Verdict{"Redundant carries no more than the best single path", over == nil, found}
}

func (r *Result) moreThanSingle() Verdict {
	return all("multipath carries more than a single path with BBR, CUBIC and Reno over BLEST, ECF and minRTT", []string{"blest", "ecf", "minrtt"}, func(s string) bool {
		return r.Cell(s, "bbr") > r.bestAlone("bbr") && r.Cell(s, "cubic") > r.bestAlone("cubic") && r.Cell(s, "reno") > r.bestAlone("reno")
	})
}

func (r *Result) wvegasWorst() Verdict {
	var not []string
	worst := func(where string, of func(c string) float64) {
		for _, c := range Controls {
			if of(c) < of("wvegas") {
				not = append(not, where)
				return
			}
		}
	}
	for _, s := range published {
		worst(s, func(c string) float64 { return r.Cell(s, c) })
	}
	for _, name := range r.Carriers {
		worst(name+" alone", func(c string) float64 { return r.Alone(name, c) })
	}
	if not != nil {
		return Verdict{"wVegas is the worst control, over both and alone", false, "not with " + strings.Join(not, ", ")}
	}
	return Verdict{"wVegas is the worst control, over both and alone", true, "everywhere"}
}
