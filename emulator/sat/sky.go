package sat

import (
	"math"

	"farlink/emulator/link"
)

// exceeding is Q^-1: the value that a standard normal variable exceeds
// percent % of the time.
func exceeding(percent float64) float64 { return -link.Quantile(percent / 100) }

// fadeBeta is beta of P.1853-1, per second: the correlation of X falls to
// 1/e in 5,000 s.
const fadeBeta = 2e-4

// maxLevels bounds how often a span is halved: slots from a microsecond up.
const maxLevels = 40

// walk is the Gaussian process X of P.1853-1, X_k = rho·X_(k-1) +
// sqrt(1-rho²)·n_k, with random access: X at slot k is a function of (draw,
// k) alone, at the cost of a dozen or two draws, whichever slot was asked
// for before.
//
// The process is Markov, so between two values it is a bridge: its middle is
// normal with mean r/(1+r²) times their sum and variance (1-r²)/(1+r²),
// where r = exp(-beta·half the span). Slots a whole span apart, 26 time
// constants or more (correlation below 1e-11), are drawn independently; the
// slots between by halving, each from its own draw.
type walk struct {
	draw   link.Draw
	levels int
	pull   [maxLevels]float64 // by level: the weight of the two neighbours
	spread [maxLevels]float64 // by level: the deviation of the middle
}

// newWalk returns the process in slots of the given length.
func newWalk(slot link.Duration, draw link.Draw) *walk {
	w := &walk{draw: draw}
	step := slot.Seconds() * fadeBeta
	for half := 1.0; half*step < 26 && w.levels < maxLevels; half *= 2 {
		r := math.Exp(-step * half)
		w.pull[w.levels] = r / (1 + r*r)
		w.spread[w.levels] = math.Sqrt((1 - r*r) / (1 + r*r))
		w.levels++
	}
	return w
}

// at returns X at slot k.
func (w *walk) at(k uint64) float64 {
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

// Rain is a table of a carrier's leg: rain on the path, as P.618-13 gives
// its statistics and P.1853-1 its course in time.
type Rain struct {
	// Rate is R0.01, the rain rate exceeded 0.01 % of the year, mm/h; 0 is
	// no rain. Temperate 20..40, Korea about 50, tropics 90..120.
	Rate float64 `toml:"rate"`
	// Rainy is P0, the percentage of time in which it rains; 5 when 0.
	Rainy float64 `toml:"rainy"`
	// Lat is the station's latitude; taken from [geo] when 0.
	Lat float64 `toml:"lat"`
	// Elevation of the satellite in degrees, 5..90; from [geo] when 0.
	Elevation float64 `toml:"elevation"`
	// Height of the station above sea, km.
	Height float64 `toml:"height"`
	// RainHeight above sea, km; 3 when 0. P.839: 0 degree isotherm + 0.36.
	RainHeight float64 `toml:"rain_height"`
	// Tilt of the polarisation: 0 horizontal, 90 vertical, 45 circular.
	Tilt float64 `toml:"tilt"`
	// Bias is added to the X of the course: 0 is an average year, 2 weather
	// near the worst 2 %, so that a short run sees rain at all.
	Bias float64 `toml:"bias"`
}

// path returns the slant path at a frequency in GHz.
func (r Rain) path(frequency float64) Path {
	return Path{Latitude: r.Lat, Elevation: r.Elevation, Height: r.Height, RainHeight: either(r.RainHeight, 3),
		Frequency: frequency, Tilt: r.Tilt, Rate: r.Rate}
}

// Fade is a scripted fade, for tests and demonstrations: the attenuation
// rises by Slope to Depth, stays for Hold, and falls by Slope again.
type Fade struct {
	// Depth in dB, 0..60; 0 is no fade.
	Depth float64 `toml:"depth"`
	// Slope in dB/s, 0.01..100; 0.5 when 0.
	Slope float64 `toml:"slope"`
	// Hold is how long the fade stays at its depth.
	Hold link.Duration `toml:"hold"`
	// At is when it begins.
	At link.Duration `toml:"at"`
	// Every is the distance of its repetitions; 0 is once.
	Every link.Duration `toml:"every"`
}

// ramp returns how long the fade takes to reach its depth, in seconds.
func (f Fade) ramp() float64 { return f.Depth / either(f.Slope, 0.5) }

// Attenuation returns the fade in dB at an instant.
func (f Fade) Attenuation(now link.Time) float64 {
	since := now.Sub(link.Time(f.At))
	if f.Depth == 0 || since < 0 {
		return 0
	}
	if f.Every > 0 {
		since %= f.Every
	}
	s, ramp := since.Seconds(), f.ramp()
	rising, falling := s/ramp, (2*ramp+f.Hold.Seconds()-s)/ramp
	return f.Depth * max(0, min(rising, 1, falling))
}

// either returns v, or the default when v is 0.
func either[T ~float64 | ~int64](v, instead T) T {
	if v == 0 {
		return instead
	}
	return v
}
