package radio

import (
	"math"

	"farlink/emulator/link"
)

const ms = int64(link.Millisecond)

// Channel is the SINR process of one way of one UE. Its value at a TTI is a
// function of seed and TTI, whatever is asked before or after.
type Channel struct {
	radio Config
	mean  float64 // dB
	fade  link.Draw
	noise link.Draw // of shadowing

	rho, innovation float64
	slot            int64 // the last slot of shadow that is computed
	shadow          [shadowRing]float64

	block  int64   // length of a fading block in TTIs
	line   float64 // amplitude of the line of sight
	spread float64 // amplitude of the scattered part

	period, delay int64    // of reports, in TTIs
	known         [2]int64 // TTIs, from and to before, in which cqi is what the cell knows
	cqi           int
}

const (
	// shadowSlot is the step of the shadowing process, as in the vectors
	// of TS 36.814 mobility: 0.1 s.
	shadowSlot = 100 // TTIs
	// shadowRing slots are remembered: old reports and future HARQ
	// attempts lie within 6.4 s of the newest.
	shadowRing = 64
)

// NewChannel returns the channel of a configuration that is complete.
func NewChannel(r Config, draw link.Draw) Channel {
	c := Channel{radio: r, mean: r.SINR, fade: draw.Sub("fade"), noise: draw.Sub("shadow"), slot: -1}
	c.period, c.delay = int64(r.CQIPeriod)/ms, int64(r.CQIDelay)/ms
	if r.Distance > 0 {
		c.mean = pathSINR(r.Distance)
	}
	metresPerSecond := r.Speed / 3.6
	// S_k = rho·S_(k-1) + sigma·sqrt(1-rho²)·n_k, rho = exp(-v·dt/d_corr)
	// (TS 36.814, autocorrelation of shadowing).
	c.rho = math.Exp(-metresPerSecond * 0.1 / r.Decorrelation)
	c.innovation = r.Shadowing * math.Sqrt(1-c.rho*c.rho)
	// Coherence time 0.423/fD (Rappaport, Wireless Communications, 5.4).
	doppler := metresPerSecond * r.Frequency * 1e6 / 299792458
	c.block = max(1, int64(423/doppler))
	c.line, c.spread = 0, 1
	if r.Fading == "rician" {
		k := math.Pow(10, r.RiceK/10)
		c.line, c.spread = math.Sqrt(k/(k+1)), math.Sqrt(1/(k+1))
	}
	return c
}

// pathSINR is the noise-limited SINR in dB of a macro cell at metres from the
// site: path loss 128.1 + 37.6·log10(R/km) at 2 GHz (TS 36.942 clause 4.5.2),
// 46 dBm and 15 dBi at the site, 10 dB penetration, -174 dBm/Hz over 18 MHz,
// noise figure 9 dB, 6 dB interference margin.
func pathSINR(metres float64) float64 {
	loss := 128.1 + 37.6*math.Log10(max(metres, 35)/1000)
	noise := -174 + 10*math.Log10(18e6) + 9
	return 46 + 15 - 10 - loss - noise - 6
}

// SINR returns the SINR in dB in a TTI.
func (c *Channel) SINR(tti int64) float64 {
	tti = max(tti, 0)
	if n := int64(len(c.radio.Trace)); n > 0 {
		return c.radio.Trace[tti/(int64(c.radio.TraceStep)/ms)%n] + c.fading(tti)
	}
	return c.mean + c.shadowing(tti/shadowSlot) + c.fading(tti)
}

func (c *Channel) shadowing(slot int64) float64 {
	if c.radio.Shadowing == 0 {
		return 0
	}
	for c.slot < slot {
		c.slot++
		n := c.noise.Normal(uint64(c.slot))
		if c.slot == 0 {
			c.shadow[0] = c.radio.Shadowing * n
			continue
		}
		c.shadow[c.slot%shadowRing] = c.rho*c.shadow[(c.slot-1)%shadowRing] + c.innovation*n
	}
	return c.shadow[slot%shadowRing]
}

// fading is the power of the multipath in dB against its mean: a complex
// Gaussian per coherence block, interpolated at constant power.
func (c *Channel) fading(tti int64) float64 {
	if c.radio.Fading == "none" {
		return 0
	}
	b := tti / c.block
	f := float64(tti%c.block) / float64(c.block)
	scale := c.spread * math.Sqrt(0.5/((1-f)*(1-f)+f*f))
	n := uint64(b) * 2
	re := c.line + scale*((1-f)*c.fade.Normal(n)+f*c.fade.Normal(n+2))
	im := scale * ((1-f)*c.fade.Normal(n+1) + f*c.fade.Normal(n+3))
	return 10 * math.Log10(max(re*re+im*im, 1e-6))
}

// Become returns the channel of another radio. Shadows that wander as before
// go on where they are, in the new strength.
func (c *Channel) Become(r Config, draw link.Draw) Channel {
	n := NewChannel(r, draw)
	if n.rho == c.rho && c.radio.Shadowing > 0 {
		n.slot = c.slot
		for i, s := range c.shadow {
			n.shadow[i] = s * r.Shadowing / c.radio.Shadowing
		}
	}
	return n
}

// Report returns the CQI that the cell knows in a TTI: the last periodic one
// that is old enough.
func (c *Channel) Report(tti int64) int {
	if tti < c.known[0] || tti >= c.known[1] {
		at := max(0, (tti-c.delay)/c.period*c.period)
		c.known = [2]int64{at + c.delay, at + c.delay + c.period}
		if at == 0 { // known from the start
			c.known[0] = 0
		}
		c.cqi = CQI(c.SINR(at))
	}
	return c.cqi
}

// BLER is the block error rate at an SINR for a block of a CQI: 10 % at the
// CQI's own SINR, by definition, and a waterfall of a decade per 0.9 dB.
func BLER(sinr float64, cqi int) float64 {
	return 1 / (1 + 9*math.Exp((sinr-requiredSINR(cqi))*2.5))
}
