package ledger

import "math/bits"

// A Histogram has steps values to an octave and covers octaves of them, so a
// quantile is good to 1 part in 16 and the largest value is 2^40 ns = 18 min.
const (
	steps   = 16
	octaves = 37
)

// Histogram counts durations in log-linear buckets. The zero value is empty.
type Histogram struct {
	Buckets [steps * octaves]uint64
	Count   uint64
	Sum     int64 // ns
	Max     int64 // ns
}

// Add counts one duration of ns; a negative one counts as 0.
func (h *Histogram) Add(ns int64) {
	ns = max(ns, 0)
	h.Buckets[bucket(ns)]++
	h.Count++
	h.Sum += ns
	h.Max = max(h.Max, ns)
}

func bucket(ns int64) int {
	if ns < steps {
		return int(ns)
	}
	shift := bits.Len64(uint64(ns)) - 5
	return min((shift+1)*steps+int(ns>>shift)%steps, steps*octaves-1)
}

// floor is the least value that falls into bucket i.
func floor(i int) int64 {
	if i < steps {
		return int64(i)
	}
	return int64(steps+i%steps) << (i/steps - 1)
}

// Quantile returns the value in ns below which the fraction q (0..1) of what
// was counted lies: the middle of its bucket, and the maximum for q = 1. It
// is 0 when nothing was counted.
func (h *Histogram) Quantile(q float64) int64 {
	rank := uint64(q * float64(h.Count))
	for i, n := range h.Buckets {
		if n > rank {
			return min((floor(i)+floor(i+1))/2, h.Max)
		}
		rank -= n
	}
	return h.Max
}

// Mean returns the mean in ns, 0 when nothing was counted.
func (h *Histogram) Mean() int64 {
	if h.Count == 0 {
		return 0
	}
	return h.Sum / int64(h.Count)
}

// Merge adds what other counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.Buckets {
		h.Buckets[i] += n
	}
	h.Count += other.Count
	h.Sum += other.Sum
	h.Max = max(h.Max, other.Max)
}
