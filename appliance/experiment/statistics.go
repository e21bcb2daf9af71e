package experiment

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Estimate is a mean with the half width of its 95 % interval, which is
// unknown of one value.
type Estimate struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	Half float64 `json:"half"` // meaningful from N = 2 on
}

// Known reports whether there is an interval.
func (e Estimate) Known() bool { return e.N >= 2 }

// Clear reports whether the interval leaves out zero.
func (e Estimate) Clear() bool { return e.Known() && math.Abs(e.Mean) > e.Half }

// estimate the mean of independent values, normal about it (Student 1908):
// mean ± t·s/√n.
func estimate(values []float64) Estimate {
	n := float64(len(values))
	if n == 0 {
		return Estimate{}
	}
	mean, square := 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		square += (v - mean) * (v - mean)
	}
	e := Estimate{N: len(values), Mean: mean}
	if n >= 2 {
		e.Half = student(len(values)-1) * math.Sqrt(square/(n-1)/n)
	}
	return e
}

// studentTable holds the quantiles 0.975 of Student's distribution for 1 to 30
// degrees of freedom.
var studentTable = [...]float64{12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
	2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
	2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423}

// student returns the quantile 0.975; beyond the table by the first terms of
// the expansion about the normal one (Abramowitz and Stegun 26.7.5), good to
// 1e-4 there.
func student(freedom int) float64 {
	if freedom <= len(studentTable) {
		return studentTable[freedom-1]
	}
	const z = 1.959964
	v := float64(freedom)
	return z + (z*z*z+z)/(4*v) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*v*v)
}

// Summary is a metric in a profile with a setting.
type Summary struct {
	Profile string `json:"profile"`
	Setting string `json:"setting"`
	Metric  string `json:"metric"`
	Estimate
}

// Difference is a metric with a setting less the same with the baseline, by
// pairs of cells on the same channel.
type Difference struct {
	Profile  string  `json:"profile"`
	Setting  string  `json:"setting"`
	Baseline string  `json:"baseline"`
	Metric   string  `json:"metric"`
	Percent  float64 `json:"percent"` // of the baseline's mean; 0 when that is 0
	Estimate
}

// Metrics lists the metrics that some cell has.
func Metrics(records []Record) []string {
	all := map[string]bool{}
	for _, r := range records {
		for m := range r.Metrics {
			all[m] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// values are those of a metric in the cells that may be counted in, by seed
// and repetition.
func values(records []Record, profile, setting, metric string) map[Cell]float64 {
	out := map[Cell]float64{}
	for _, r := range records {
		if v, ok := r.Metrics[metric]; ok && r.Fit() && r.Profile == profile && r.Setting == setting {
			out[Cell{Profile: profile, Seed: r.Seed, Repetition: r.Repetition}] = v
		}
	}
	return out
}

// Summaries of all metrics, in the order of the document.
func (e *Experiment) Summaries(records []Record) (out []Summary) {
	for _, p := range e.Profiles {
		for _, m := range Metrics(records) {
			for _, s := range e.Settings {
				if v := ordered(values(records, p, s.Name, m)); len(v) > 0 {
					out = append(out, Summary{p, s.Name, m, estimate(v)})
				}
			}
		}
	}
	return out
}

// Differences of all metrics against the baseline.
func (e *Experiment) Differences(records []Record) (out []Difference) {
	for _, p := range e.Profiles {
		for _, m := range Metrics(records) {
			base := values(records, p, e.Baseline, m)
			for _, s := range e.Settings {
				if s.Name == e.Baseline {
					continue
				}
				pairs := values(records, p, s.Name, m)
				sum := 0.0
				maps.DeleteFunc(pairs, func(c Cell, _ float64) bool { _, ok := base[c]; return !ok })
				for _, c := range channels(pairs) {
					sum += base[c]
					pairs[c] -= base[c]
				}
				if len(pairs) == 0 {
					continue
				}
				d := Difference{Profile: p, Setting: s.Name, Baseline: e.Baseline, Metric: m, Estimate: estimate(ordered(pairs))}
				if sum != 0 {
					d.Percent = 100 * d.Mean / math.Abs(sum/float64(len(pairs)))
				}
				out = append(out, d)
			}
		}
	}
	return out
}

// channels lists the keys in order, so that sums are the same each time.
func channels(of map[Cell]float64) []Cell {
	return slices.SortedFunc(maps.Keys(of), func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Repetition, b.Repetition))
	})
}

func ordered(of map[Cell]float64) (out []float64) {
	for _, c := range channels(of) {
		out = append(out, of[c])
	}
	return out
}
