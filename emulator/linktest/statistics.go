package linktest

import (
	"math"
	"slices"
)

// logChoose returns ln(n over k).
func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n) + 1)
	b, _ := math.Lgamma(float64(k) + 1)
	c, _ := math.Lgamma(float64(n-k) + 1)
	return a - b - c
}

// upTo returns P(X <= k) for X binomial in n and p.
func upTo(k, n int, p float64) float64 {
	sum := 0.0
	for i := max(0, k-2000); i <= k; i++ {
		sum += math.Exp(logChoose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// Covers reports whether the 95 % interval of Clopper and Pearson about k
// of n holds p: whether neither tail beyond k has less than 2.5 %.
func Covers(k, n int, p float64) bool {
	return upTo(k, n, p) > 0.025 && 1-upTo(k-1, n, p) > 0.025
}

// ChiSquare returns the statistic of counts against expected ones, and the
// value that chance exceeds once in a thousand times (Wilson and Hilferty).
func ChiSquare(got []int, want []float64) (statistic, critical float64) {
	for i, w := range want {
		statistic += (float64(got[i]) - w) * (float64(got[i]) - w) / w
	}
	free := float64(len(want) - 1)
	x := 1 - 2/(9*free) + 3.0902*math.Sqrt(2/(9*free))
	return statistic, free * x * x * x
}

// Geometric checks that lengths, 1 and more, go on with probability stay:
// counts by length up to a tail class of 20 or so, against the law.
func Geometric(lengths []int, stay float64) (statistic, critical float64) {
	classes := 2
	for float64(len(lengths))*math.Pow(stay, float64(classes)) > 20 && classes < 400 {
		classes++
	}
	got, want := make([]int, classes), make([]float64, classes)
	for _, l := range lengths {
		got[min(l, classes)-1]++
	}
	for i := range want {
		want[i] = float64(len(lengths)) * math.Pow(stay, float64(i))
		if i < classes-1 {
			want[i] *= 1 - stay
		}
	}
	return ChiSquare(got, want)
}

// Runs returns the lengths of the runs of true, and of those of false
// between them.
func Runs(lost []bool) (of, between []int) {
	for i := 0; i < len(lost); {
		j := i
		for j < len(lost) && lost[j] == lost[i] {
			j++
		}
		if i > 0 && j < len(lost) { // the ends are cut off
			if lost[i] {
				of = append(of, j-i)
			} else {
				between = append(between, j-i)
			}
		}
		i = j
	}
	return of, between
}

// Kolmogorov returns the largest distance between the values' distribution
// and the law, times the root of their number. Chance exceeds 1.628 once in
// a hundred times.
func Kolmogorov(values []float64, law func(float64) float64) float64 {
	slices.Sort(values)
	n, most := float64(len(values)), 0.0
	for i, v := range values {
		f := law(v)
		most = max(most, f-float64(i)/n, float64(i+1)/n-f)
	}
	return most * math.Sqrt(n)
}

// MeanSD returns mean and standard deviation.
func MeanSD(values []float64) (mean, sd float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, math.Sqrt(sd)
}
