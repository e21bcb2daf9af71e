package stage

import (
	"math"
	"strconv"

	"farlink/emulator/link"
)

// JitterConfig is how the delay of a path varies from packet to packet.
type JitterConfig struct {
	// Distribution of the delay about its mean, the path's delay:
	// "uniform", "normal", "pareto"; or "table".
	Distribution string `toml:"distribution"`
	// Spread is half the width of "uniform", and the standard deviation of
	// "normal" and "pareto".
	Spread link.Duration `toml:"spread,omitempty"`
	// Shape is the tail index of "pareto", more than 2; default 3, where
	// one packet in 1,000 is late by 10 deviations.
	Shape float64 `toml:"shape,omitempty"`
	// Table is, for "table", what is added to the path's delay: quantiles
	// at even steps of probability from 0 to 1, straight lines between.
	Table []link.Duration `toml:"table,omitempty"`
	// HalfLife is the time after which half of a deviation is left; zero:
	// every packet draws anew. What is drawn keeps its distribution.
	HalfLife link.Duration `toml:"half_life,omitempty"`
	// Correlation is, instead of HalfLife, how much of a deviation the
	// next packet keeps, whenever it comes: 0..1, without 1.
	Correlation float64 `toml:"correlation,omitempty"`
}

// Below returns how far below the path's delay the least delay lies; false
// when the distribution has no least value.
func (c JitterConfig) Below() (link.Duration, bool) {
	switch {
	case c.Distribution == "uniform":
		return c.Spread, true
	case c.Distribution == "pareto":
		return link.Duration(math.Ceil(float64(c.Spread) * newPareto(c.Spread, c.Shape).reach())), true
	case c.Distribution == "table" && len(c.Table) > 0:
		return -c.Table[0], true
	}
	return 0, false
}

func (c JitterConfig) check(delay link.Duration, report link.Report) {
	switch c.Distribution {
	case "uniform":
		c.checkSpread(delay, 1, report)
	case "normal":
		c.checkSpread(delay, 4, report)
	case "pareto":
		if c.Shape != 0 && c.Shape <= 2 {
			report.Figure("shape", c.Shape, "more than 2 (usual: 3)")
			break
		}
		c.checkSpread(delay, newPareto(c.Spread, c.Shape).reach(), report)
	case "table":
		c.checkTable(report)
	default:
		report("distribution", c.Distribution, `"uniform", "normal", "pareto" or "table"`)
	}
	if !(c.Correlation >= 0 && c.Correlation < 1) {
		report.Figure("correlation", c.Correlation, "0 up to, and without, 1")
	}
	if c.HalfLife > 0 && c.Correlation > 0 {
		report("half_life", c.HalfLife.String(), "either half_life or correlation")
	}
}

// checkSpread reports a spread that would ask for delays below zero: the
// distribution reaches reach spreads below its mean.
func (c JitterConfig) checkSpread(delay link.Duration, reach float64, report link.Report) {
	if c.Spread <= 0 {
		report("spread", c.Spread.String(), "a positive duration")
	} else if float64(c.Spread)*reach > float64(delay) {
		most := link.Duration(float64(delay) / reach)
		report("spread", c.Spread.String(), "at most "+most.String()+" at a delay of "+delay.String()+
			", since no packet travels in less than no time")
	}
	if len(c.Table) > 0 {
		report("table", strconv.Itoa(len(c.Table))+" values", `distribution = "table", or no table`)
	}
}

func (c JitterConfig) checkTable(report link.Report) {
	if len(c.Table) < 2 {
		report("table", strconv.Itoa(len(c.Table))+" values", "two or more: the least and the most at least")
	}
	for i := 1; i < len(c.Table); i++ {
		if c.Table[i] < c.Table[i-1] {
			report("table."+strconv.Itoa(i), c.Table[i].String(), "no less than the value before, "+c.Table[i-1].String())
		}
	}
	if c.Spread != 0 {
		report("spread", c.Spread.String(), `no spread beside a table`)
	}
}

// distribution is a law of deviation from the path's delay, in ns.
type distribution interface {
	// at returns the quantile of probability u, in (0, 1); z is the same
	// point as a standard normal value.
	at(u, z float64) float64
	// moments returns mean and standard deviation.
	moments() (mean, sd float64)
}

type uniform struct{ half float64 }

func (d uniform) at(u, _ float64) float64     { return d.half * (2*u - 1) }
func (d uniform) moments() (mean, sd float64) { return 0, d.half / math.Sqrt(3) }

type normal struct{ sd float64 }

func (d normal) at(_, z float64) float64     { return d.sd * z }
func (d normal) moments() (mean, sd float64) { return 0, d.sd }

// pareto is the distribution with P(X > x) = (scale/x)^shape, moved so that
// its mean is 0.
type pareto struct{ sd, scale, shape float64 }

// newPareto chooses the scale so that the deviation, which is
// scale/(shape-1)·sqrt(shape/(shape-2)), is the spread.
func newPareto(spread link.Duration, shape float64) pareto {
	if shape == 0 {
		shape = 3
	}
	sd := float64(spread)
	return pareto{sd, sd * (shape - 1) * math.Sqrt((shape-2)/shape), shape}
}

func (d pareto) at(u, _ float64) float64 {
	return d.scale*math.Pow(1-u, -1/d.shape) - d.scale*d.shape/(d.shape-1)
}
func (d pareto) moments() (mean, sd float64) { return 0, d.sd }

// reach returns how many deviations the least value, the scale, is below
// the mean.
func (d pareto) reach() float64 { return math.Sqrt((d.shape - 2) / d.shape) }

type table []float64

func (d table) at(u, _ float64) float64 {
	x := u * float64(len(d)-1)
	i := min(int(x), len(d)-2)
	return d[i] + (x-float64(i))*(d[i+1]-d[i])
}

// moments of a density that is constant between neighbouring quantiles.
func (d table) moments() (mean, sd float64) {
	square := 0.0
	for i := 1; i < len(d); i++ {
		a, b := d[i-1], d[i]
		mean += (a + b) / 2
		square += (a*a + a*b + b*b) / 3
	}
	n := float64(len(d) - 1)
	mean /= n
	return mean, math.Sqrt(max(0, square/n-mean*mean))
}

// jitter draws the deviation of each packet.
type jitter struct {
	distribution
	normal   float64 // deviation in ns of a distribution that wants no probability, only z; else 0
	draw     link.Draw
	halfLife float64       // ns; 0: none
	gap      link.Duration // between packets, that keep is for
	keep     float64       // what a packet keeps of the last deviation; 0: nothing
	fresh    float64       // sqrt(1-keep²)
	z        float64       // the last deviation, as a standard normal value
	last     link.Time
	begun    bool
}

func newJitter(c JitterConfig, draw link.Draw) *jitter {
	j := &jitter{draw: draw, halfLife: float64(c.HalfLife), keep: c.Correlation, gap: -1}
	j.fresh = math.Sqrt(1 - j.keep*j.keep)
	switch c.Distribution {
	case "uniform":
		j.distribution = uniform{float64(c.Spread)}
	case "normal":
		j.distribution, j.normal = normal{float64(c.Spread)}, float64(c.Spread)
	case "pareto":
		j.distribution = newPareto(c.Spread, c.Shape)
	case "table":
		t := make(table, len(c.Table))
		for i, d := range c.Table {
			t[i] = float64(d)
		}
		j.distribution = t
	}
	return j
}

// deviate returns the deviation of p in ns.
func (j *jitter) deviate(p link.Packet) float64 {
	correlated := j.halfLife > 0 || j.keep > 0
	if correlated {
		j.correlate(p)
	}
	switch {
	case j.normal > 0 && correlated:
		return j.normal * j.z
	case j.normal > 0:
		return j.normal * j.draw.Normal(p.Seq)
	case correlated:
		return j.at(math.Erfc(-j.z/math.Sqrt2)/2, j.z)
	}
	return j.at(j.draw.Float(p.Seq)+0x1p-54, 0)
}

// correlate moves z by one step of a first-order autoregression, whose
// values are standard normal at every instant: the copula through which a
// correlated deviation keeps its distribution.
func (j *jitter) correlate(p link.Packet) {
	fresh := j.draw.Normal(p.Seq)
	if !j.begun {
		j.begun, j.z, j.last = true, fresh, p.When
		return
	}
	if j.halfLife > 0 {
		if gap := max(0, p.When.Sub(j.last)); gap != j.gap {
			j.gap = gap
			j.keep = math.Exp2(-float64(gap) / j.halfLife)
			j.fresh = math.Sqrt(1 - j.keep*j.keep)
		}
		j.last = p.When
	}
	j.z = j.keep*j.z + j.fresh*fresh
}
