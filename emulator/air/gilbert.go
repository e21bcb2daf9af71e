package air

import (
	"math"

	"farlink/emulator/link"
)

// GilbertConfig is the Gilbert-Elliott model counted in packets: a good and
// a bad state, changed before each packet. Give P and R, or Loss and Burst.
type GilbertConfig struct {
	// P is the probability of good turning bad, R of bad turning good.
	P float64 `toml:"p,omitempty"`
	R float64 `toml:"r,omitempty"`
	// Loss is the share of packets lost, Burst the mean length of a burst
	// in packets; with them every packet of the bad state is lost.
	Loss  float64 `toml:"loss,omitempty"`
	Burst float64 `toml:"burst,omitempty"`
	// BadLoss and GoodLoss are the probabilities of loss in the states;
	// default 1 and 0.
	BadLoss  float64 `toml:"bad_loss,omitempty"`
	GoodLoss float64 `toml:"good_loss,omitempty"`
}

func (c GilbertConfig) check(report link.Report) {
	report.Probability("p", c.P)
	report.Probability("r", c.R)
	report.Probability("bad_loss", c.BadLoss)
	report.Probability("good_loss", c.GoodLoss)
	switch direct, wanted := c.P != 0 || c.R != 0, c.Loss != 0 || c.Burst != 0; {
	case direct && wanted:
		report.Figure("loss", c.Loss, "either p and r, or loss and burst")
	case direct && (c.P == 0 || c.R == 0):
		report.Figure("p", c.P, "both p and r above 0, got r = "+number(c.R))
	case !direct && !wanted:
		report("p", "0", "p and r, or loss and burst")
	case wanted:
		c.checkWanted(report)
	}
}

func (c GilbertConfig) checkWanted(report link.Report) {
	if c.BadLoss != 0 || c.GoodLoss != 0 {
		report.Figure("bad_loss", c.BadLoss, "p and r beside it; with loss and burst the bad state loses all")
	}
	if !(c.Burst >= 1) {
		report.Figure("burst", c.Burst, "a mean length of 1 packet or more")
	}
	if p, _ := c.rates(); !(c.Loss > 0 && c.Loss < 1 && p <= 1) {
		report.Figure("loss", c.Loss, "above 0, and at most burst/(1+burst), "+number(c.Burst/(1+c.Burst)))
	}
}

// rates returns p and r: r = 1/burst and p = r·loss/(1-loss) give the loss
// and burst that were wanted.
func (c GilbertConfig) rates() (p, r float64) {
	if c.Burst == 0 {
		return c.P, c.R
	}
	r = 1 / c.Burst
	return r * c.Loss / (1 - c.Loss), r
}

// states are the losses of a channel with a good and a bad state.
type states struct {
	draw  link.Draw
	loss  [2]float64 // in the good, in the bad state
	isBad int
}

func newStates(goodLoss, badLoss float64, draw link.Draw) states {
	if badLoss == 0 {
		badLoss = 1
	}
	return states{draw: draw, loss: [2]float64{goodLoss, badLoss}}
}

func (s *states) reason(n uint64) link.Reason {
	if p := s.loss[s.isBad]; p == 1 || p > 0 && s.draw.Chance(n, p) {
		return link.Random
	}
	return link.None
}

type gilbert struct {
	states
	change [2]float64 // p, r
	draw   link.Draw
}

func newGilbert(c GilbertConfig, draw link.Draw) *gilbert {
	p, r := c.rates()
	g := &gilbert{newStates(c.GoodLoss, c.BadLoss, draw.Sub("loss")), [2]float64{p, r}, draw}
	// The run begins with the states as they are in the long run.
	if draw.Sub("begin").Chance(0, p/(p+r)) {
		g.isBad = 1
	}
	return g
}

func (g *gilbert) loses(p link.Packet) link.Reason {
	if g.draw.Chance(p.Seq, g.change[g.isBad]) {
		g.isBad ^= 1
	}
	return g.reason(p.Seq)
}

func (g *gilbert) inherit(old process) {
	if o, ok := old.(*gilbert); ok {
		g.isBad = o.isBad
	}
}

func (g *gilbert) state() link.Probe { return state("gilbert_bad", g.isBad == 1) }

// GilbertTimeConfig is the Gilbert-Elliott model in time: the states last
// for exponential times whether packets come or not.
type GilbertTimeConfig struct {
	// Bad is the mean time in the bad state.
	Bad link.Duration `toml:"bad"`
	// Share is the share of time in the bad state; or Good, instead, the
	// mean time in the good one.
	Share float64       `toml:"share,omitempty"`
	Good  link.Duration `toml:"good,omitempty"`
	// Longest bounds the times in the bad state; their mean stays Bad.
	Longest link.Duration `toml:"longest,omitempty"`
	// BadLoss and GoodLoss are the probabilities of loss in the states;
	// default 1 and 0.
	BadLoss  float64 `toml:"bad_loss,omitempty"`
	GoodLoss float64 `toml:"good_loss,omitempty"`
}

func (c GilbertTimeConfig) check(report link.Report) {
	report.Probability("bad_loss", c.BadLoss)
	report.Probability("good_loss", c.GoodLoss)
	if c.Bad < link.Microsecond {
		report("bad", c.Bad.String(), "1us or more")
	}
	switch {
	case c.Share != 0 && c.Good != 0:
		report("good", c.Good.String(), "either share or good")
	case c.Share != 0 && !(c.Share > 0 && c.Share < 1):
		report.Figure("share", c.Share, "above 0 and below 1")
	case c.Share == 0 && c.Good < link.Microsecond:
		report("share", "0", "a share of time in the bad state, or good, the mean time in the good one")
	}
	if c.Longest != 0 && c.Longest <= 2*c.Bad {
		report("longest", c.Longest.String(), "more than twice the mean, "+(2*c.Bad).String())
	}
}

// gilbertTime is a row of cycles, each a time in the good and then one in
// the bad state. The lengths of cycle k are functions of the seed and k, so
// the channel is the same whatever traffic meets it.
type gilbertTime struct {
	states
	lengths     link.Draw // 2k: good, 2k+1: bad
	good, scale float64   // ns: mean good; scale of the bad law
	cut         float64   // P(bad > longest) of the law before it is bounded
	cycle       uint64
	bad, before link.Span // the bad time of the cycle, and of the one before
}

func newGilbertTime(c GilbertTimeConfig, draw link.Draw) *gilbertTime {
	g := &gilbertTime{states: newStates(c.GoodLoss, c.BadLoss, draw.Sub("loss")), lengths: draw.Sub("lengths")}
	g.good = float64(c.Good)
	if c.Share > 0 {
		g.good = float64(c.Bad) * (1 - c.Share) / c.Share
	}
	g.scale = float64(c.Bad)
	if c.Longest > 0 {
		g.scale = boundedScale(float64(c.Bad), float64(c.Longest))
		g.cut = math.Exp(-float64(c.Longest) / g.scale)
	}
	g.bad = g.span(0)
	if draw.Sub("begin").Chance(0, float64(c.Bad)/(float64(c.Bad)+g.good)) {
		g.bad = link.Span{Start: 0, End: g.bad.End - g.bad.Start} // the run begins in the bad state
	}
	return g
}

// boundedScale returns the scale s of the exponential law that, bounded to
// [0, most], has the given mean: s - most/(e^(most/s)-1) = mean. A mean of
// most/2 would need the uniform law, s without end; check keeps below it.
func boundedScale(mean, most float64) float64 {
	low, high := mean, 1e6*most
	for range 200 {
		s := (low + high) / 2
		if s-most/math.Expm1(most/s) < mean {
			low = s
		} else {
			high = s
		}
	}
	return (low + high) / 2
}

// span returns the bad time of cycle k that begins at from.
func (g *gilbertTime) span(from link.Time) link.Span {
	start := from + link.Time(g.good*g.lengths.Exponential(2*g.cycle))
	u := g.lengths.Float(2*g.cycle + 1)
	return link.Span{Start: start, End: start + 1 + link.Time(-g.scale*math.Log1p(-u*(1-g.cut)))}
}

func (g *gilbertTime) loses(p link.Packet) link.Reason {
	for p.When >= g.bad.End {
		g.before = g.bad
		g.cycle++
		g.bad = g.span(g.bad.End)
	}
	g.isBad = 0
	if g.bad.Holds(p.When) || g.before.Holds(p.When) {
		g.isBad = 1
	}
	return g.reason(p.Seq)
}

// inherit takes nothing over: the state follows from the time. A new mean
// makes a new channel.
func (g *gilbertTime) inherit(process) {}

func (g *gilbertTime) state() link.Probe { return state("gilbert_time_bad", g.isBad == 1) }
