// Package rain is the rain on a slant path: specific attenuation (ITU-R
// P.838-3), attenuation exceeded for a share of the time (P.618-13), and the
// law of its course in time (P.1853-1).
//
// Units: GHz, degrees, km, mm/h, dB, percent of time.
package rain

import (
	"math"

	"farlink/emulator/link"
)

// degree is one degree in radians.
const degree = math.Pi / 180

// regression is one curve of P.838-3: a sum of bells in x = log10 f plus a
// line.
type regression struct {
	a, b, c []float64
	m, k    float64
}

func (r regression) at(x float64) float64 {
	y := r.m*x + r.k
	for i, a := range r.a {
		u := (x - r.b[i]) / r.c[i]
		y += a * math.Exp(-u*u)
	}
	return y
}

// The coefficients of ITU-R P.838-3, Tables 1 to 4.
var (
	kH = regression{
		[]float64{-5.33980, -0.35351, -0.23789, -0.94158},
		[]float64{-0.10008, 1.26970, 0.86036, 0.64552},
		[]float64{1.13098, 0.45400, 0.15354, 0.16817}, -0.18961, 0.71147}
	kV = regression{
		[]float64{-3.80595, -3.44965, -0.39902, 0.50167},
		[]float64{0.56934, -0.22911, 0.73042, 1.07319},
		[]float64{0.81061, 0.51059, 0.11899, 0.27195}, -0.16398, 0.63297}
	alphaH = regression{
		[]float64{-0.14318, 0.29591, 0.32177, -5.37610, 16.1721},
		[]float64{1.82442, 0.77564, 0.63773, -0.96230, -3.29980},
		[]float64{-0.55187, 0.19822, 0.13164, 1.47828, 3.43990}, 0.67849, -1.95537}
	alphaV = regression{
		[]float64{-0.07771, 0.56727, -0.20238, -48.2991, 48.5833},
		[]float64{2.33840, 0.95545, 1.14520, 0.791669, 0.791459},
		[]float64{-0.76284, 0.54039, 0.26809, 0.116226, 0.116479}, -0.053739, 0.83433}
)

// Coefficients returns k and alpha of gamma = k·R^alpha (P.838-3, eq. 1 to
// 5) at a frequency in GHz (1..1000), seen at an elevation, with a
// polarisation tilt: 0 horizontal, 90 vertical, 45 circular (degrees).
func Coefficients(frequency, elevation, tilt float64) (k, alpha float64) {
	x := math.Log10(frequency)
	h, v := math.Pow(10, kH.at(x)), math.Pow(10, kV.at(x))
	ah, av := alphaH.at(x), alphaV.at(x)
	cos := math.Cos(elevation * degree)
	q := cos * cos * math.Cos(2*tilt*degree)
	k = (h + v + (h-v)*q) / 2
	return k, (h*ah + v*av + (h*ah-v*av)*q) / (2 * k)
}

// Specific returns the attenuation in dB/km of rain of rate mm/h, with the
// arguments of Coefficients.
func Specific(frequency, elevation, tilt, rate float64) float64 {
	k, alpha := Coefficients(frequency, elevation, tilt)
	return k * math.Pow(rate, alpha)
}

// Path is a slant path through rain, as ITU-R P.618-13 section 2.2.1.1
// describes it.
type Path struct {
	Latitude   float64 // of the station, degrees North
	Elevation  float64 // of the satellite, degrees, 5..90
	Height     float64 // of the station above sea, km
	RainHeight float64 // above sea, km: P.839, h0 + 0.36
	Frequency  float64 // GHz, up to 55
	Tilt       float64 // of the polarisation, degrees; 45 is circular
	Rate       float64 // rain rate exceeded 0.01 % of the year, mm/h
}

// extent holds the lengths and factors that lead to the attenuation exceeded
// 0.01 % of the time.
type extent struct {
	slant      float64 // Ls, km below the rain height
	ground     float64 // LG, its projection, km
	horizontal float64 // r, reduction factor
	rain       float64 // LR, km
	vertical   float64 // v, adjustment factor
	a001       float64 // dB
}

// extent is steps 2 to 9 of P.618-13 section 2.2.1.1.
func (p Path) extent() extent {
	var x extent
	rise := p.RainHeight - p.Height
	if rise <= 0 || p.Rate <= 0 {
		return x
	}
	sin, cos := math.Sincos(p.Elevation * degree)
	x.slant = rise / sin
	x.ground = x.slant * cos
	g := Specific(p.Frequency, p.Elevation, p.Tilt, p.Rate)
	x.horizontal = 1 / (1 + 0.78*math.Sqrt(x.ground*g/p.Frequency) - 0.38*(1-math.Exp(-2*x.ground)))

	x.rain = x.slant
	if math.Atan2(rise, x.ground*x.horizontal) > p.Elevation*degree {
		x.rain = x.ground * x.horizontal / cos
	}
	chi := max(0, 36-math.Abs(p.Latitude))
	x.vertical = 1 / (1 + math.Sqrt(sin)*
		(31*(1-math.Exp(-p.Elevation/(1+chi)))*math.Sqrt(x.rain*g)/(p.Frequency*p.Frequency)-0.45))
	x.a001 = g * x.rain * x.vertical
	return x
}

// Exceeded returns the attenuation in dB that is exceeded percent % of an
// average year, 0.001 <= percent <= 5 (step 10 of P.618-13 section
// 2.2.1.1).
func (p Path) Exceeded(percent float64) float64 { return p.scale(p.extent().a001, percent) }

func (p Path) scale(a001, percent float64) float64 {
	if a001 <= 0 {
		return 0
	}
	sin := math.Sin(p.Elevation * degree)
	lat := math.Abs(p.Latitude)
	var beta float64
	switch {
	case percent >= 1 || lat >= 36:
	case p.Elevation > 25:
		beta = -0.005 * (lat - 36)
	default:
		beta = -0.005*(lat-36) + 1.8 - 4.25*sin
	}
	return a001 * math.Pow(percent/0.01,
		-(0.655+0.033*math.Log(percent)-0.045*math.Log(a001)-beta*(1-percent)*sin))
}

// fitPoints are the percentages of time to which P.1853-1 fits its series.
var fitPoints = [...]float64{0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10}

// Series is the log-normal law of a rain fade in time, ITU-R P.1853-1: the
// attenuation is exp(Mean + Deviation·X) - Offset, where X is a stationary
// Gaussian process of variance 1.
type Series struct {
	Mean      float64 // m, of ln dB
	Deviation float64 // sigma, of ln dB
	Offset    float64 // dB
}

// Series fits the law to the path by least squares of ln A on Q^-1(p), where
// rainy is the share of time, in percent, in which it rains.
func (p Path) Series(rainy float64) Series {
	a001 := p.extent().a001
	var n, sx, sy, sxx, sxy float64
	for _, percent := range fitPoints {
		a := p.scale(a001, percent)
		if percent >= rainy || a <= 0 {
			continue
		}
		x, y := exceeding(percent), math.Log(a)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if n < 2 {
		return Series{Mean: math.Inf(-1)}
	}
	var s Series
	s.Deviation = (n*sxy - sx*sy) / (n*sxx - sx*sx)
	s.Mean = (sy - s.Deviation*sx) / n
	s.Offset = math.Exp(s.Mean + s.Deviation*exceeding(rainy))
	return s
}

// Attenuation returns the rain fade in dB at a value of the process X.
func (s Series) Attenuation(x float64) float64 {
	return max(0, math.Exp(s.Mean+s.Deviation*x)-s.Offset)
}

// exceeding is Q^-1: the value that a standard normal variable exceeds
// percent % of the time.
func exceeding(percent float64) float64 { return -link.Quantile(percent / 100) }

// Fading is 1/beta of P.1853-1, beta = 2e-4 per second: the correlation of
// X falls to 1/e in 5,000 s.
const Fading = 5000 * link.Second
