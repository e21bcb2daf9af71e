package sat

import (
	"farlink/emulator/link"
	"farlink/emulator/rain"
)

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
func (r Rain) path(frequency float64) rain.Path {
	return rain.Path{Latitude: r.Lat, Elevation: r.Elevation, Height: r.Height, RainHeight: either(r.RainHeight, 3),
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
