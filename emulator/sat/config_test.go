package sat

import (
	"testing"

	"farlink/emulator/link"
)

func TestCarrierCheck(t *testing.T) {
	for _, v := range []struct {
		name string
		edit func(*CarrierConfig)
		want string
	}{
		{"good", func(*CarrierConfig) {}, ""},
		{"bandwidth instead", func(c *CarrierConfig) { c.SymbolRate, c.Bandwidth, c.RollOff = 0, 36e6, 0.2 }, ""},
		{"CCM", func(c *CarrierConfig) { c.Modcod = "8PSK 3/4" }, ""},
		{"bounds", func(c *CarrierConfig) { c.Lowest, c.Highest = "QPSK 1/2", "16APSK 2/3" }, ""},
		{"no rate", func(c *CarrierConfig) { c.SymbolRate = 0 }, "symbol_rate"},
		{"two rates", func(c *CarrierConfig) { c.Bandwidth = 1e6 }, "bandwidth"},
		{"silly rate", func(c *CarrierConfig) { c.SymbolRate = 3 }, "symbol_rate"},
		{"standard", func(c *CarrierConfig) { c.Standard = "s3" }, "standard"},
		{"frame", func(c *CarrierConfig) { c.Frame = "medium" }, "frame"},
		{"short S2X", func(c *CarrierConfig) { c.Standard, c.Frame = "s2x", "short" }, "frame"},
		{"unknown MODCOD", func(c *CarrierConfig) { c.Modcod = "QPSK 7/8" }, "modcod"},
		{"no short 9/10", func(c *CarrierConfig) { c.Frame, c.Modcod = "short", "QPSK 9/10" }, "modcod"},
		{"S2X name in S2", func(c *CarrierConfig) { c.Highest = "256APSK 3/4" }, "highest"},
		{"bounds crossed", func(c *CarrierConfig) { c.Lowest, c.Highest = "8PSK 3/4", "QPSK 1/2" }, "lowest"},
		{"no leg", func(c *CarrierConfig) { c.Downlink = nil }, "downlink"},
		{"empty leg", func(c *CarrierConfig) { c.Uplink = &LegConfig{} }, "uplink.es_n0"},
		{"budget without frequency", func(c *CarrierConfig) { c.Downlink = &LegConfig{EIRP: 50, GT: 10} }, "downlink.frequency"},
		{"both", func(c *CarrierConfig) { c.Downlink.EIRP, c.Downlink.Frequency = 50, 20 }, "downlink.es_n0"},
		{"rain without frequency", func(c *CarrierConfig) { c.Downlink.Rain = &Rain{Rate: 50, Elevation: 40} }, "downlink.frequency"},
		{"rain from nowhere", func(c *CarrierConfig) { c.Downlink.Frequency, c.Downlink.Rain = 20, &Rain{Rate: 50} }, "downlink.rain.elevation"},
		{"rain", func(c *CarrierConfig) {
			c.Downlink.Frequency, c.Downlink.Rain = 20, &Rain{Rate: -1, Rainy: 0.01, Elevation: 2, Tilt: 100}
		}, "downlink.rain.rate downlink.rain.rainy downlink.rain.elevation downlink.rain.tilt"},
		{"uplink noise", func(c *CarrierConfig) { c.Uplink = &LegConfig{EsN0: 10, Noise: 100} }, "uplink.noise"},
		{"fade", func(c *CarrierConfig) { c.Downlink.Fade = &Fade{Depth: 90, Slope: 1e3} }, "downlink.fade.depth downlink.fade.slope"},
		{"fade too often", func(c *CarrierConfig) { c.Downlink.Fade = &Fade{Depth: 10, Slope: 1, Every: 19 * link.Second} }, "downlink.fade.every"},
		{"margins", func(c *CarrierConfig) { c.ACM.MarginDown = 1 }, "acm.margin_up"},
		{"loop", func(c *CarrierConfig) { c.ACM.Period, c.ACM.Delay = 1, 11*link.Second }, "acm.period acm.delay"},
		{"share", func(c *CarrierConfig) { c.Share = 1.5 }, "share"},
		{"slot", func(c *CarrierConfig) { c.Slot = 1 }, "slot"},
	} {
		c := CarrierConfig{SymbolRate: 30e6, Downlink: &LegConfig{EsN0: 12}}
		v.edit(&c)
		if got := problems(c.Check); got != v.want {
			t.Errorf("%s: problems at %q, want %q", v.name, got, v.want)
		}
	}
}

// Ladders by configuration: with bounds, and CCM.
func TestLadderOf(t *testing.T) {
	c := CarrierConfig{SymbolRate: 1e6, Lowest: "QPSK 1/2", Highest: "8PSK 3/4"}
	l := c.ladder()
	if l[0].Modcod.Name != "QPSK 1/2" || l[len(l)-1].Modcod.Name != "8PSK 3/4" {
		t.Errorf("from %s to %s", l[0].Modcod.Name, l[len(l)-1].Modcod.Name)
	}
	least, greatest := c.Rates()
	if least != 988858 || greatest != 2228123 {
		t.Errorf("rates %d to %d", least, greatest)
	}
	c.Modcod, c.Share = "QPSK 8/9", 0.5 // dominated, but asked for
	if l := c.ladder(); len(l) != 1 || l[0].Number != 10 {
		t.Errorf("CCM: %+v", l)
	}
	if rate, name := c.Clear(); rate != 883225 || name != "QPSK 8/9" {
		t.Errorf("CCM: %v %s", rate, name)
	}
	c = CarrierConfig{SymbolRate: 40e6, Interference: 20, Uplink: &LegConfig{EsN0: 25},
		Downlink: &LegConfig{EIRP: 58, GT: 16, Frequency: 20, Distance: 38000}}
	if rate, name := c.Clear(); name != "32APSK 5/6" || rate != 164781609 {
		t.Errorf("clear sky: %v %s", rate, name) // LB-2 without its 0.5 dB of fade: 14.5 dB
	}
	c.Downlink.EIRP = 30
	if rate, name := c.Clear(); rate != 0 || name != "" {
		t.Errorf("too weak: %v %s", rate, name)
	}
}

// The places of [geo] fill in what the carrier leaves out, and no more.
func TestLocate(t *testing.T) {
	g := Geo{Satellite: 116, Terminal: seoul, Gateway: daejeon, Peer: jeju}
	c := CarrierConfig{Uplink: &LegConfig{Rain: &Rain{Lat: 1}}, Downlink: &LegConfig{Rain: &Rain{}, Distance: 36000}}
	down := c.Locate(g, link.Down)
	near(t, "uplink from Daejeon km", down.Uplink.Distance, 37334.0, 1)
	near(t, "its elevation", down.Uplink.Rain.Elevation, 46.13, 0.01)
	near(t, "its latitude as set", down.Uplink.Rain.Lat, 1, 0)
	near(t, "downlink as set", down.Downlink.Distance, 36000, 0)
	near(t, "downlink to Seoul", down.Downlink.Rain.Lat, seoul.Lat, 0)
	near(t, "report ms", down.ACM.Delay.Milliseconds(), 249.340, 0.005)
	up := c.Locate(g, link.Up)
	near(t, "uplink from Seoul km", up.Uplink.Distance, 37416.2, 1)
	g.Topology = Mesh
	near(t, "mesh: from Jeju", c.Locate(g, link.Down).Uplink.Distance, 37115.2, 1)
	if c.Uplink.Distance != 0 || c.Downlink.Rain.Lat != 0 {
		t.Error("Locate changed the configuration it was called on")
	}
	if only := (CarrierConfig{Downlink: &LegConfig{}}).Locate(g, link.Down); only.Uplink != nil {
		t.Error("a leg from nowhere")
	}
}
