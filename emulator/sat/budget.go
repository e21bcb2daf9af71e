package sat

import (
	"math"

	"farlink/emulator/drift"
	"farlink/emulator/link"
	"farlink/emulator/rain"
)

// boltzmann is 10·log10 of Boltzmann's constant, dBW/K/Hz.
const boltzmann = -228.6

// FreeSpaceLoss returns the loss in dB at a frequency in GHz over a distance
// in km.
func FreeSpaceLoss(frequency, km float64) float64 {
	return 92.448 + 20*math.Log10(frequency) + 20*math.Log10(km)
}

// Combine returns the ratio, in dB, that results from ratios in dB whose
// noises add: uplink, downlink, interference.
func Combine(ratios ...float64) float64 {
	var sum float64
	for _, x := range ratios {
		sum += math.Pow(10, -x/10)
	}
	return -10 * math.Log10(sum)
}

// NoiseRise returns by how much, in dB, the noise of a receiver of system
// temperature noise (K) grows behind rain of attenuation a (dB): rain
// radiates as a body of 275 K does.
func NoiseRise(noise, a float64) float64 {
	sky := 275 * (1 - math.Pow(10, -a/10))
	return 10 * math.Log10((noise+sky)/noise)
}

// LegConfig is one leg of a carrier, up to the satellite or down from it:
// either es_n0 as it is, or the budget from which it follows.
type LegConfig struct {
	// EsN0 in clear sky, dB; 0: from eirp, g_t, frequency and distance.
	EsN0 float64 `toml:"es_n0,omitempty"`
	// EIRP of the sender towards the receiver, dBW.
	EIRP float64 `toml:"eirp,omitempty"`
	// GT is the receiver's figure of merit in clear sky, dB/K.
	GT float64 `toml:"g_t,omitempty"`
	// Frequency in GHz, 1..55.
	Frequency float64 `toml:"frequency,omitempty"`
	// Distance in km; 0: from [geo], else 38000.
	Distance float64 `toml:"distance,omitempty"`
	// Noise is the receiver's system temperature in clear sky, K, of which
	// the noise rise in rain follows; 0: none. Only a downlink's receiver
	// looks into the rain.
	Noise float64 `toml:"noise,omitempty"`
	// PowerControl is how many dB of a fade the sender makes good.
	PowerControl float64 `toml:"power_control,omitempty"`
	// Attenuation of the leg, dB, 0..60, for as long as it stands here: what
	// a timeline sets and ramps.
	Attenuation float64 `toml:"attenuation,omitempty"`
	// Rain on the leg.
	Rain *Rain `toml:"rain,omitempty"`
	// Fade is a scripted fade, on top of the rain.
	Fade *Fade `toml:"fade,omitempty"`
}

// Clear returns the leg's Es/N0 in clear sky at a symbol rate in baud.
func (l LegConfig) Clear(symbolRate float64) float64 {
	if l.EsN0 != 0 {
		return l.EsN0
	}
	return l.EIRP + l.GT - FreeSpaceLoss(l.Frequency, either(l.Distance, 38000)) - boltzmann - 10*math.Log10(symbolRate)
}

// leg is a LegConfig made ready to be asked.
type leg struct {
	clear, noise, control float64
	attenuated            float64
	walk                  *drift.Process // nil without rain
	law                   rain.Series
	bias                  float64
	fade                  Fade
}

func newLeg(c LegConfig, symbolRate float64, slot link.Duration, sky link.Draw) leg {
	l := leg{clear: c.Clear(symbolRate), noise: c.Noise, control: c.PowerControl, attenuated: c.Attenuation}
	if r := c.Rain; r != nil && r.Rate > 0 {
		l.walk, l.bias = drift.New(slot, rain.Fading, sky), r.Bias
		l.law = r.path(c.Frequency).Series(either(r.Rainy, 5))
	}
	if c.Fade != nil {
		l.fade = *c.Fade
	}
	return l
}

// attenuation returns what the sky takes in a slot that begins at an instant.
func (l *leg) attenuation(slot uint64, at link.Time) float64 {
	a := l.attenuated + l.fade.Attenuation(at)
	if l.walk != nil {
		a += l.law.Attenuation(l.walk.At(slot) + l.bias)
	}
	return a
}

// esN0 returns the leg's Es/N0 behind an attenuation.
func (l *leg) esN0(a float64) float64 {
	x := l.clear - max(0, a-l.control)
	if l.noise > 0 {
		x -= NoiseRise(l.noise, a)
	}
	return x
}

// channel is Es/N0 in the course of time, constant within a slot.
type channel struct {
	slot         link.Duration
	legs         []leg
	interference float64 // C/I as N/S, linear; 0 is none
	now          channelState
}

// channelState is the channel within one slot.
type channelState struct {
	slot uint64
	set  bool
	rain float64 // dB, of all legs
	esN0 float64 // dB
}

// at returns the channel at an instant.
func (c *channel) at(t link.Time) channelState {
	slot := uint64(max(0, t) / link.Time(c.slot))
	if c.now.set && c.now.slot == slot {
		return c.now
	}
	c.now = channelState{slot: slot, set: true}
	noise, begin := c.interference, link.Time(slot)*link.Time(c.slot)
	for i := range c.legs {
		a := c.legs[i].attenuation(slot, begin)
		c.now.rain += a
		noise += math.Pow(10, -c.legs[i].esN0(a)/10)
	}
	c.now.esN0 = -10 * math.Log10(noise)
	return c.now
}
