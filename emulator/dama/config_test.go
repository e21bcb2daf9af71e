package dama

import (
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/queue"
)

func problems(c Config) []string {
	var all []string
	c.Check(func(path, got, want string) { all = append(all, path+": got "+got+", want "+want) })
	return all
}

func TestCasesAreGood(t *testing.T) {
	for name, cfg := range cases {
		if p := problems(cfg); len(p) > 0 {
			t.Errorf("%s: %v", name, p)
		}
	}
	if p := problems(crowd()); len(p) > 0 {
		t.Errorf("crowd: %v", p)
	}
}

// Each line breaks one thing, and exactly that is reported.
func TestCheck(t *testing.T) {
	good := func() Config { return Config{Station: StationConfig{CRA: 100_000, RBDC: 500_000}} }
	for _, v := range []struct {
		path  string
		spoil func(*Config)
	}{
		{"standard", func(c *Config) { c.Standard = "rcs3" }},
		{"superframe", func(c *Config) { c.Superframe = 2 * link.Second }},
		{"frames", func(c *Config) { c.Frames = 33 }},
		{"carriers", func(c *Config) { c.Carriers = -1 }},
		{"symbol_rate_bd", func(c *Config) { c.SymbolRate = 20_000 }}, // a slot of 80 ms
		{"waveform", func(c *Config) { c.Waveform = 23 }},
		{"code_rate", func(c *Config) { c.CodeRate = "1/2" }},
		{"encapsulation", func(c *Config) { c.Encapsulation = "aal5" }},
		{"encapsulation", func(c *Config) { c.Standard, c.Encapsulation = "rcs", "rle" }},
		{"code_rate", func(c *Config) { c.Standard, c.CodeRate = "rcs", "5/6" }},
		{"waveform", func(c *Config) { c.Standard, c.Waveform = "rcs", 14 }},
		{"coding", func(c *Config) { c.Coding = "morse" }},
		{"hop", func(c *Config) { c.Hop = 3 * link.Second }},
		{"sharing", func(c *Config) { c.Sharing = "first" }},
		{"rbdc_timeout", func(c *Config) { c.RBDCTimeout = 1001 }},
		{"random_access.slots", func(c *Config) { c.Access.Data = 3 }},
		{"random_access.slots", func(c *Config) { c.Access = Access{Slots: 2, Copies: 3} }},
		{"random_access.load", func(c *Config) { c.Access = Access{Slots: 2, Load: 3} }},
		{"logon.wait", func(c *Config) { c.Logon.Wait = 100 * link.Second }},
		{"station.weight", func(c *Config) { c.Station.Weight = 1001 }},
		{"station.agent", func(c *Config) { c.Station.Agent = "greedy" }},
		{"station.cra", func(c *Config) { c.Carriers, c.Station.CRA = 4, 2_000_000 }},
		{"station.rbdc_max", func(c *Config) { c.Station.RBDC = 2_000_000 }},
		{"station.cra", func(c *Config) { c.Station = StationConfig{} }},
		{"station.fca", func(c *Config) { c.Station.FCA = true }},
		{"station.piggyback", func(c *Config) { c.Station = StationConfig{VBDC: 5000, Piggy: true} }},
		{"station.period", func(c *Config) { c.Station.Period, c.RBDCTimeout = 10, 5 }},
		{"station.period", func(c *Config) { c.Station.VBDC, c.Station.Period, c.Persistence = 5000, 10, 7 }},
		{"station.es_n0_db", func(c *Config) { c.Station.EsN0 = -5 }},
		{"station.logon", func(c *Config) { c.Station.Logon = "never" }},
		{"station.leave", func(c *Config) { c.Station.Leave = link.Second }},
		{"station.queue.rate", func(c *Config) { c.Station.Queue.Rate = 1000 }},
		{"station.queue.discipline", func(c *Config) { c.Station.Queue = queue.Config{Discipline: "lifo"} }},
		{"background[0].traffic", func(c *Config) { c.Background = []Background{{Count: 1, Traffic: "mad", Rate: 1000}} }},
		{"background[0].rate", func(c *Config) { c.Background = []Background{{Count: 1}} }},
		{"background[0].replay", func(c *Config) { c.Background = []Background{{Count: 1, Traffic: "replay"}} }},
		{"background[0].count", func(c *Config) { c.Background = []Background{{Rate: 1000}} }},
		{"station.cra", func(c *Config) { c.Background = []Background{{Count: 9, Rate: 1000}} }}, // 10 × 100 kbit/s
	} {
		c := good()
		v.spoil(&c)
		p := problems(c)
		if len(p) != 1 || !strings.HasPrefix(p[0], v.path+": got ") {
			t.Errorf("%s: problems %q", v.path, p)
		}
	}
	if p := problems(good()); len(p) > 0 {
		t.Errorf("the good one has problems: %q", p)
	}
}

func TestNewCarrierRefuses(t *testing.T) {
	if _, err := NewCarrier(Config{Waveform: 99}, link.Draw{}); err == nil || !strings.Contains(err.Error(), "waveform is 99, want 3..22") {
		t.Errorf("error %v", err)
	}
}

// Peak: 16 slots of 188 bytes in 26.5 ms are 908.08 kbit/s, of which 1514 in
// 1523 are Ethernet.
func TestPeak(t *testing.T) {
	for _, v := range []struct {
		c    Config
		want link.Rate
	}{
		{Config{Station: StationConfig{VBDC: 5000}}, 902_710},
		{Config{Station: StationConfig{CRA: 100_000, RBDC: 400_000}}, 497_045},
		{Config{Waveform: 99}, 0},
	} {
		if got := v.c.Peak(); got < v.want-10 || got > v.want+10 {
			t.Errorf("%+v: peak %d, want %d", v.c, got, v.want)
		}
	}
}
