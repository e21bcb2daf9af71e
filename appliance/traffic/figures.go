package traffic

import (
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

// spread makes a series of points: the mean of those in each step.
func spread(name string, of []point, length time.Duration) Column {
	c := Column{name, make([]tally.Value, steps(length))}
	count := make([]float64, len(c.Values))
	for _, p := range of {
		if i := int(p.at / Step); i >= 0 && i < len(count) {
			c.Values[i] += tally.Value(p.value)
			count[i]++
		}
	}
	for i, n := range count {
		c.Values[i] /= tally.Value(n) // of none, NaN
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
