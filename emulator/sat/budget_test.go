package sat

import (
	"math"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/sat/modcod"
)

// Section 1.7: free space loss at 35,786, 38,000 and 41,679 km.
func TestFreeSpaceLoss(t *testing.T) {
	for _, v := range []struct {
		f    float64
		loss [3]float64
	}{
		{12, [3]float64{205.11, 205.63, 206.43}}, {14, [3]float64{206.44, 206.97, 207.77}},
		{20, [3]float64{209.54, 210.06, 210.87}}, {30, [3]float64{213.06, 213.59, 214.39}},
	} {
		for i, km := range []float64{35786, 38000, 41679} {
			near(t, "FSL", FreeSpaceLoss(v.f, km), v.loss[i], 0.006)
		}
	}
}

// LB-1..3: 58 + 16 - 210.06 - 0.5 + 228.6 = 92.04 dBHz, less 76.02 dB for 40
// MBd; then with an uplink of 25 dB and C/I of 20 dB; then 6 dB more fade.
func TestBudget(t *testing.T) {
	down := LegConfig{EIRP: 58, GT: 16, Frequency: 20, Distance: 38000, Fade: &Fade{Depth: 0.5, Slope: 100}}
	c := CarrierConfig{SymbolRate: 40e6, Interference: 20, Uplink: &LegConfig{EsN0: 25}, Downlink: &down}
	l := newLeg(down, 40e6, link.Second, link.Draw{})
	near(t, "LB-1", l.esN0(0.5), 16.02, 0.01)
	near(t, "LB-2", Combine(l.esN0(0.5), 25, 20), 14.18, 0.01)

	c.Downlink.Fade.Hold = link.Second
	sky := newChannel(c, link.Down, link.Draw{})
	near(t, "LB-2 by the channel", sky.at(link.Time(link.Second)).esN0, 14.18, 0.01)
	c.Downlink.Fade.Depth = 6.5
	sky = newChannel(c, link.Down, link.Draw{})
	state := sky.at(link.Time(link.Second))
	near(t, "LB-3", state.esN0, 9.48, 0.01)
	near(t, "LB-3 fade", state.rain, 6.5, 1e-9)
	ladder := modcod.Ladder(modcod.S2, modcod.Framing{}, 0)
	for esN0, want := range map[float64]string{14.18: "32APSK 4/5", state.esN0: "16APSK 2/3"} {
		if got := ladder[modcod.Best(ladder, esN0)].Modcod.Name; got != want {
			t.Errorf("at %v dB: %s, want %s", esN0, got, want)
		}
	}
}

// LB-4: 36 MHz at roll-offs.
func TestSymbolRate(t *testing.T) {
	for roll, want := range map[float64]float64{0.35: 26.667e6, 0.25: 28.8e6, 0.20: 30e6, 0.05: 34.286e6} {
		near(t, "Rs", CarrierConfig{Bandwidth: 36e6, RollOff: roll}.symbols(), want, 500)
	}
}

// 10 dB of rain leave a tenth of the sky through: 275·0.9 = 247.5 K on top
// of 150 K, 10·log10(397.5/150) = 4.232 dB.
func TestNoiseRise(t *testing.T) {
	near(t, "rise", NoiseRise(150, 10), 4.232, 1e-3)
	near(t, "clear", NoiseRise(150, 0), 0, 0)
	l := newLeg(LegConfig{EsN0: 20, Noise: 150}, 1e6, link.Second, link.Draw{})
	near(t, "fade and rise", l.esN0(10), 20-10-4.232, 1e-3)
	l = newLeg(LegConfig{EsN0: 20, PowerControl: 8}, 1e6, link.Second, link.Draw{})
	near(t, "power control", l.esN0(10), 18, 1e-9)
	near(t, "power control, light", l.esN0(5), 20, 1e-9)
}

// Both ways of a link see one sky: the forward carrier's downlink and the
// return carrier's uplink have the rain over the terminal, each at its
// frequency; the gateway has its own.
func TestSharedSky(t *testing.T) {
	leg := func(f float64) *LegConfig {
		return &LegConfig{EsN0: 15, Frequency: f, Rain: &Rain{Rate: 40, Lat: 45, Elevation: 35, Bias: 2.5}}
	}
	sky := link.NewDraw(3, "sky")
	forward := newChannel(CarrierConfig{SymbolRate: 1e6, Uplink: leg(20), Downlink: leg(20)}, link.Down, sky)
	back := newChannel(CarrierConfig{SymbolRate: 1e6, Uplink: leg(30), Downlink: leg(20)}, link.Up, sky)
	rained := false
	for k := range uint64(500) {
		slot := k * 600
		gateway, terminal := forward.legs[0].attenuation(slot, 0), forward.legs[1].attenuation(slot, 0)
		if back.legs[1].attenuation(slot, 0) != gateway {
			t.Fatalf("slot %d: two skies over the gateway", slot)
		}
		x := forward.legs[1].walk.At(slot)
		near(t, "X over the terminal", back.legs[0].walk.At(slot), x, 0)
		if terminal > 0.5 && back.legs[0].attenuation(slot, 0) <= terminal {
			t.Errorf("slot %d: 30 GHz fades less than 20 GHz", slot)
		}
		rained = rained || math.Abs(gateway-terminal) > 1
	}
	if !rained {
		t.Error("no rain in 500 minutes at a bias of 2.5 sigma, or the same over both stations")
	}
}
