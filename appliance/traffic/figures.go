package traffic

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"farlink/emulator/tally"
)

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// point is a value at a time after the beginning.
type point struct {
	at    time.Duration
	value float64
}

// spread makes a series of points: the mean of those in each step. Where none
// is, the value before holds for so long; then it is not known.
func spread(name string, of []point, length, hold time.Duration) Column {
	c := Column{name, make([]tally.Value, steps(length))}
	count := make([]float64, len(c.Values))
	for _, p := range of {
		if i := int(p.at / Step); i >= 0 && i < len(count) {
			c.Values[i] += tally.Value(p.value)
			count[i]++
		}
	}
	last := -1
	for i, n := range count {
		switch {
		case n > 0:
			c.Values[i] /= tally.Value(n)
			last = i
		case last >= 0 && time.Duration(i-last)*Step <= hold:
			c.Values[i] = c.Values[last]
		default:
			c.Values[i] = tally.Value(math.NaN())
		}
	}
	return c
}

// rate makes the rate over time of what was counted: the growth in each step,
// times eight.
func rate(name string, count []point, length time.Duration) Column {
	c := Column{name, make([]tally.Value, steps(length))}
	at := func(t time.Duration) float64 {
		i, _ := slices.BinarySearchFunc(count, t, func(p point, t time.Duration) int { return cmp.Compare(p.at, t) })
		switch {
		case i == len(count):
			return count[i-1].value
		case count[i].at == t:
			return count[i].value
		case i == 0:
			return math.NaN() // before the first count
		}
		before, next := count[i-1], count[i]
		return before.value + (next.value-before.value)*float64(t-before.at)/float64(next.at-before.at)
	}
	for i := range c.Values {
		from := time.Duration(i) * Step
		c.Values[i] = tally.Value((at(from+Step) - at(from)) * 8 / Step.Seconds())
	}
	return c
}

func steps(length time.Duration) int { return int((length + Step - 1) / Step) }

// after returns the values of the points from a time on.
func after(of []point, from time.Duration) (values []float64) {
	for _, p := range of {
		if p.at >= from {
			values = append(values, p.value)
		}
	}
	return values
}

// mean of none is NaN.
func mean(of []float64) float64 {
	sum := 0.0
	for _, x := range of {
		sum += x
	}
	return sum / float64(len(of))
}

// quantile returns the value below which the fraction q lies, by rank; of
// none it is NaN.
func quantile(of []float64, q float64) float64 {
	if len(of) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// known leaves out what is not a number.
func known(figures map[string]float64) map[string]float64 {
	maps.DeleteFunc(figures, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	return figures
}
