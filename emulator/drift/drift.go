// Package drift is a random process in time whose value at any slot can be
// had at once: what weather and shadowing are made of.
//
//	X ─╮   ╭──╮        ╭
//	   ╰╮ ╭╯  ╰─╮   ╭──╯     drawn far apart, filled in by halving
//	    ╰─╯     ╰───╯
package drift

import (
	"math"

	"farlink/emulator/link"
)

// maxLevels bounds how often a span is halved: slots from a microsecond up.
const maxLevels = 40

// Process is a stationary Gaussian process of mean 0 and variance 1 in slots,
// X_k = rho·X_(k-1) + sqrt(1-rho²)·n_k with rho = exp(-slot/fading), with
// random access: X at slot k is a function of (draw, k) alone, at the cost of
// a dozen or two draws, whichever slot was asked for before.
//
// The process is Markov, so between two values it is a bridge: its middle is
// normal with mean r/(1+r²) times their sum and variance (1-r²)/(1+r²),
// where r = exp(-half the span/fading). Slots a whole span apart, 26 time
// constants or more (correlation below 1e-11), are drawn independently; the
// slots between by halving, each from its own draw.
type Process struct {
	draw   link.Draw
	levels int
	pull   [maxLevels]float64 // by level: the weight of the two neighbours
	spread [maxLevels]float64 // by level: the deviation of the middle
}

// New returns the process in slots of the given length; fading is the time in
// which its correlation falls to 1/e.
func New(slot, fading link.Duration, draw link.Draw) *Process {
	w := &Process{draw: draw}
	step := float64(slot) / float64(fading)
	for half := 1.0; half*step < 26 && w.levels < maxLevels; half *= 2 {
		r := math.Exp(-step * half)
		w.pull[w.levels] = r / (1 + r*r)
		w.spread[w.levels] = math.Sqrt((1 - r*r) / (1 + r*r))
		w.levels++
	}
	return w
}

// At returns X at slot k.
func (w *Process) At(k uint64) float64 {
	span := uint64(1) << w.levels
	from := k &^ (span - 1)
	left, right := w.draw.Normal(from), w.draw.Normal(from+span)
	for n := w.levels - 1; k != from; n-- {
		span >>= 1
		middle := w.pull[n]*(left+right) + w.spread[n]*w.draw.Normal(from+span)
		if k < from+span {
			right = middle
		} else {
			from, left = from+span, middle
		}
	}
	return left
}
