package sat

import (
	"fmt"
	"slices"
	"strings"

	"farlink/emulator/link"
	"farlink/emulator/orbit"
	"farlink/emulator/queue"
	"farlink/emulator/sat/modcod"
)

// CarrierConfig is a DVB-S2 or S2X carrier of one way of a link: what serves
// the queue before it.
type CarrierConfig struct {
	// SymbolRate in baud, 10e3..500e6; 0: bandwidth / (1 + roll_off).
	SymbolRate float64 `toml:"symbol_rate,omitempty"`
	// Bandwidth in Hz, of which the symbol rate follows.
	Bandwidth float64 `toml:"bandwidth,omitempty"`
	// RollOff: 0.35, 0.25, 0.20 (S2), also 0.15, 0.10, 0.05 (S2X).
	RollOff float64 `toml:"roll_off,omitempty"`
	// Standard is "s2" (default) or "s2x": which list of MODCODs.
	Standard string `toml:"standard,omitempty"`
	// Frame is "normal" (default), 64,800 bits, or "short", 16,200.
	Frame string `toml:"frame,omitempty"`
	// Pilots are sent.
	Pilots bool `toml:"pilots,omitempty"`
	// Modcod fixes the MODCOD (CCM): "QPSK 1/2". Empty: ACM.
	Modcod string `toml:"modcod,omitempty"`
	// Highest and Lowest bound what ACM may choose, by name.
	Highest string `toml:"highest,omitempty"`
	Lowest  string `toml:"lowest,omitempty"`
	// ImplementationLoss of a real demodulator, dB, 0..5; 0.3..1.7 is met.
	ImplementationLoss float64 `toml:"implementation_loss,omitempty"`
	// Share of the carrier's frames that serve this link, 0..1; the rest
	// serves others. 0 is all.
	Share float64 `toml:"share,omitempty"`
	// Interference is C/I in dB; 0 is none.
	Interference float64 `toml:"c_i,omitempty"`
	// Slot is the step in which the sky changes; 100ms when 0.
	Slot link.Duration `toml:"slot,omitempty"`
	// Uplink and Downlink of the carrier. At least one of them.
	Uplink   *LegConfig `toml:"uplink,omitempty"`
	Downlink *LegConfig `toml:"downlink,omitempty"`
	// ACM is the loop that chooses the MODCOD.
	ACM ACMConfig `toml:"acm,omitempty"`
}

// Locate fills in what the places of [geo] say, where the carrier does not:
// the legs' distance, latitude and elevation, and the delay of reports.
func (c CarrierConfig) Locate(g Geo, w link.Way) CarrierConfig {
	from, to := g.Gateway, g.Terminal
	if g.Topology == Mesh || g.Topology == StarToStar {
		from = g.Peer
	}
	if w == link.Up {
		from, to = to, from
	}
	c.Uplink, c.Downlink = c.Uplink.locate(from, g.Satellite), c.Downlink.locate(to, g.Satellite)
	c.ACM.Delay = either(c.ACM.Delay, g.Hop())
	return c
}

func (l *LegConfig) locate(s Site, satellite float64) *LegConfig {
	if l == nil {
		return nil
	}
	located := *l
	km, elevation := orbit.Look(s, satellite)
	located.Distance = either(l.Distance, km)
	if l.Rain != nil {
		r := *l.Rain
		r.Lat, r.Elevation = either(r.Lat, s.Lat), either(r.Elevation, elevation)
		located.Rain = &r
	}
	return &located
}

// symbols returns the symbol rate in baud.
func (c CarrierConfig) symbols() float64 {
	return either(c.SymbolRate, c.Bandwidth/(1+c.RollOff))
}

func (c CarrierConfig) list() []modcod.Modcod {
	if c.Standard == "s2x" {
		return modcod.S2X
	}
	return modcod.S2
}

func (c CarrierConfig) framing() modcod.Framing {
	return modcod.Framing{Short: c.Frame == "short", Pilots: c.Pilots}
}

// ladder returns the MODCODs among which the carrier may choose.
func (c CarrierConfig) ladder() []modcod.Rung {
	list := c.list()
	if c.Modcod != "" {
		i := place(list, c.Modcod)
		if i < 0 {
			return nil // Check says so
		}
		m := list[i]
		return []modcod.Rung{{
			Modcod: m, Number: i + 1, Need: c.framing().Threshold(m) + c.ImplementationLoss, Efficiency: c.framing().Efficiency(m),
		}}
	}
	ladder := modcod.Ladder(list, c.framing(), c.ImplementationLoss)
	low, high := 0.0, 1e3
	if i := place(list, c.Lowest); i >= 0 {
		low = c.framing().Efficiency(list[i])
	}
	if i := place(list, c.Highest); i >= 0 {
		high = c.framing().Efficiency(list[i])
	}
	return slices.DeleteFunc(ladder, func(r modcod.Rung) bool { return r.Efficiency < low || r.Efficiency > high })
}

// place returns where name stands in list, or -1.
func place(list []modcod.Modcod, name string) int {
	return slices.IndexFunc(list, func(m modcod.Modcod) bool { return m.Name == name })
}

// Queue returns q as it stands before the carrier: at the carrier's greatest
// rate, with the limit, if it was not set, of the bandwidth-delay product of
// that rate and the round-trip time rtt.
func (c CarrierConfig) Queue(q queue.Config, rtt link.Duration) queue.Config {
	_, q.Rate = c.Rates()
	return q.Complete(rtt)
}

// Rates returns the least and the greatest rate that the carrier may have.
func (c CarrierConfig) Rates() (least, greatest link.Rate) {
	ladder := c.ladder()
	if len(ladder) == 0 {
		return 0, 0
	}
	rate := func(r modcod.Rung) link.Rate { return link.Rate(c.symbols() * either(c.Share, 1) * r.Efficiency) }
	return rate(ladder[0]), rate(ladder[len(ladder)-1])
}

// Clear returns the rate in clear sky, 0 when no MODCOD fits, and its MODCOD.
func (c CarrierConfig) Clear() (link.Rate, string) {
	var ratios []float64
	for _, l := range []*LegConfig{c.Uplink, c.Downlink} {
		if l != nil {
			ratios = append(ratios, l.Clear(c.symbols()))
		}
	}
	if c.Interference != 0 {
		ratios = append(ratios, c.Interference)
	}
	ladder := c.ladder()
	i := modcod.Best(ladder, Combine(ratios...)-c.ACM.MarginDown)
	if len(ladder) == 1 {
		i = 0
	}
	if i == modcod.None {
		return 0, ""
	}
	return link.Rate(c.symbols() * either(c.Share, 1) * ladder[i].Efficiency), ladder[i].Modcod.Name
}

// Check reports every problem of the carrier.
func (c CarrierConfig) Check(report link.Report) {
	c.checkSymbols(report)
	c.checkModcods(report)
	checkRange(report, "implementation_loss", c.ImplementationLoss, 0, 5, "dB")
	checkRange(report, "share", c.Share, 0, 1, "")
	checkRange(report, "c_i", c.Interference, 0, 60, "dB")
	if c.Slot != 0 && c.Slot < link.Millisecond {
		report("slot", c.Slot.String(), "1ms or more; 100ms is usual")
	}
	if c.Uplink == nil && c.Downlink == nil {
		report("downlink", "", "a leg: a table downlink (or uplink) with es_n0, or its budget")
	}
	c.Uplink.check(report.Under("uplink"))
	if c.Uplink != nil && c.Uplink.Noise != 0 {
		report("uplink.noise", number(c.Uplink.Noise), "none: the satellite looks at the warm earth, rain or not")
	}
	c.Downlink.check(report.Under("downlink"))
	c.ACM.check(report.Under("acm"))
}

func (c CarrierConfig) checkSymbols(report link.Report) {
	switch {
	case c.SymbolRate == 0 && c.Bandwidth == 0:
		report("symbol_rate", "", "a symbol rate in baud, or a bandwidth in Hz with a roll_off")
	case c.SymbolRate != 0 && c.Bandwidth != 0:
		report("bandwidth", number(c.Bandwidth), "either a bandwidth or a symbol_rate")
	default:
		checkRange(report, "symbol_rate", c.symbols(), 10e3, 500e6, "Bd")
	}
	checkRange(report, "roll_off", c.RollOff, 0, 0.35, "")
}

func (c CarrierConfig) checkModcods(report link.Report) {
	list := c.list()
	if c.Standard != "" && c.Standard != "s2" && c.Standard != "s2x" {
		report("standard", c.Standard, `"s2" or "s2x"`)
	}
	if c.Frame != "" && c.Frame != "normal" && c.Frame != "short" {
		report("frame", c.Frame, `"normal" or "short"`)
	}
	if c.Frame == "short" && c.Standard == "s2x" {
		report("frame", c.Frame, `"normal": the short frames of S2X are not known here`)
		return
	}
	known := true
	for _, n := range [...]struct{ path, name string }{{"modcod", c.Modcod}, {"lowest", c.Lowest}, {"highest", c.Highest}} {
		if i := place(list, n.name); n.name != "" && (i < 0 || c.framing().DataBits(list[i]) == 0) {
			known = false
			report(n.path, n.name, "one of "+names(list, c.framing()))
		}
	}
	if known && len(c.ladder()) == 0 {
		report("lowest", c.Lowest, "a MODCOD below highest, "+c.Highest)
	}
}

func names(list []modcod.Modcod, f modcod.Framing) string {
	var all []string
	for _, m := range list {
		if f.DataBits(m) > 0 {
			all = append(all, m.Name)
		}
	}
	return strings.Join(all, ", ")
}

func (l *LegConfig) check(report link.Report) {
	if l == nil {
		return
	}
	budget := l.EIRP != 0 || l.GT != 0
	switch {
	case l.EsN0 == 0 && !budget:
		report("es_n0", "0", "the clear-sky Es/N0 in dB, or eirp, g_t and frequency")
	case l.EsN0 != 0 && budget:
		report("es_n0", number(l.EsN0), "either es_n0 or eirp and g_t")
	}
	if budget || l.Rain != nil || l.Frequency != 0 {
		checkRange(report, "frequency", l.Frequency, 1, 55, "GHz")
	}
	checkRange(report, "es_n0", l.EsN0, -20, 60, "dB")
	checkRange(report, "eirp", l.EIRP, -50, 120, "dBW")
	checkRange(report, "g_t", l.GT, -50, 60, "dB/K")
	checkRange(report, "distance", l.Distance, 0, 100e3, "km")
	checkRange(report, "noise", l.Noise, 0, 10e3, "K")
	checkRange(report, "power_control", l.PowerControl, 0, 30, "dB")
	checkRange(report, "attenuation", l.Attenuation, 0, 60, "dB")
	if l.Rain != nil {
		l.Rain.check(report.Under("rain"))
	}
	if l.Fade != nil {
		l.Fade.check(report.Under("fade"))
	}
}

// check expects what Locate has filled in.
func (r Rain) check(report link.Report) {
	checkRange(report, "rate", r.Rate, 0, 250, "mm/h")
	checkRange(report, "rainy", r.Rainy, 0, 50, "%")
	if r.Rainy != 0 && r.Rainy <= 0.02 {
		report("rainy", number(r.Rainy), "more than 0.02 %: two points are needed for the fit")
	}
	checkRange(report, "lat", r.Lat, -90, 90, "degrees")
	checkRange(report, "elevation", r.Elevation, orbit.MinElevation, 90, "degrees, or places in [geo]")
	checkRange(report, "height", r.Height, 0, 9, "km")
	checkRange(report, "rain_height", r.RainHeight, 0, 9, "km")
	checkRange(report, "tilt", r.Tilt, 0, 90, "degrees")
	checkRange(report, "bias", r.Bias, -5, 5, "standard deviations")
}

func (f Fade) check(report link.Report) {
	checkRange(report, "depth", f.Depth, 0, 60, "dB")
	if f.Slope != 0 {
		checkRange(report, "slope", f.Slope, 0.01, 100, "dB/s")
	}
	if whole := link.Duration(2*f.ramp()*1e9) + f.Hold; f.Every != 0 && f.Every < whole {
		report("every", f.Every.String(), "at least the length of the fade, "+whole.String())
	}
}

func checkRange(report link.Report, path string, v, least, most float64, unit string) {
	if !(least <= v && v <= most) {
		report(path, number(v), strings.TrimSpace(fmt.Sprintf("%g to %g %s", least, most, unit)))
	}
}
