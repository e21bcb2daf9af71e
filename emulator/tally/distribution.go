package tally

import (
	"math/bits"

	"farlink/emulator/link"
)

// subBits is the resolution of a histogram: 2^8 cells per octave, so that a
// percentile is off by at most 0.2 %.
const subBits = 8

// Histogram counts durations in cells that widen with the value; each octave
// is made when something falls into it.
type Histogram struct {
	octaves  [64 - subBits]*[1 << subBits]uint32
	count    int64
	sum      int64 // ns
	min, max link.Duration
}

// cell returns where a duration counts: below 2^8 ns each has its own cell,
// above that the leading 9 bits (the first always 1) name it.
func cell(d link.Duration) (octave, index int) {
	v := uint64(max(d, 0))
	shift := bits.Len64(v >> subBits)
	if shift == 0 {
		return 0, int(v)
	}
	return shift, int(v>>(shift-1)) & (1<<subBits - 1)
}

// middle returns the duration in the middle of a cell.
func middle(octave, index int) link.Duration {
	if octave == 0 {
		return link.Duration(index)
	}
	width := uint64(1) << (octave - 1)
	return link.Duration((uint64(index)|1<<subBits)*width + width/2)
}

// Add counts a duration.
func (h *Histogram) Add(d link.Duration) {
	if h.count == 0 {
		h.min, h.max = d, d
	}
	h.count++
	h.sum += int64(d)
	h.min, h.max = min(h.min, d), max(h.max, d)
	o, i := cell(d)
	if h.octaves[o] == nil {
		h.octaves[o] = new([1 << subBits]uint32)
	}
	h.octaves[o][i]++
}

// quantile returns the value below which the share q of all lie; the least
// and the greatest are exact, and so is every quantile of equal values.
func (h *Histogram) quantile(q float64) link.Duration {
	rank := int64(q*float64(h.count) + 0.5)
	rank = max(1, min(rank, h.count))
	for o, cells := range h.octaves {
		if cells == nil {
			continue
		}
		for i, n := range cells {
			if rank -= int64(n); rank <= 0 {
				return max(h.min, min(middle(o, i), h.max))
			}
		}
	}
	return h.max
}

// Distribution sums up durations, in milliseconds.
type Distribution struct {
	Count int64   `json:"count"`
	Min   float64 `json:"min_ms"`
	Mean  float64 `json:"mean_ms"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p99_9_ms"`
	Max   float64 `json:"max_ms"`
}

// Distribution sums up what was counted.
func (h *Histogram) Distribution() Distribution {
	if h.count == 0 {
		return Distribution{}
	}
	at := func(q float64) float64 { return h.quantile(q).Milliseconds() }
	return Distribution{
		Count: h.count,
		Min:   h.min.Milliseconds(),
		Mean:  float64(h.sum) / float64(h.count) / 1e6,
		P50:   at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999),
		Max: h.max.Milliseconds(),
	}
}
