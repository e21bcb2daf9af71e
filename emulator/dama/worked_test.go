package dama

import (
	"math"
	"testing"

	"farlink/emulator/dama/burst"
	"farlink/emulator/dama/ncc"
	"farlink/emulator/dama/traffic"
	"farlink/emulator/link"
)

// The worked example of the reference sheet, 2.9: 512 kbit/s, F = 26.5 ms, h = 250 ms,
// N = 23, one terminal, fluid. What the code calls a byte is a millibit here,
// so that nothing is rounded that the sheet's three decimals show.
const (
	perFrame = 13_568_000 // millibits: 512 kbit/s · 26.5 ms
	bitRate  = 8000       // of the code's bit/s: eight of its "bytes" per millibit
)

// fluid returns a carrier with the one terminal.
func fluid(processing int, s StationConfig) *Carrier {
	s.CRA, s.RBDC = s.CRA*bitRate, s.RBDC*bitRate
	c := &Carrier{
		cfg:    Config{Processing: processing, Station: s, Coding: "exact"}.Complete(),
		wave:   burst.Waveform{Payload: 1},
		coding: ncc.Coding{Name: "exact"},
		grid:   burst.NewGrid(superframe, 1, 1, 1_000_000, 1616),
	}
	c.build(link.NewDraw(1, "fluid"))
	t, terms := c.newTerminal(&c.cfg.Station)
	t.source = traffic.New(traffic.Model{Kind: "cbr", Rate: 512_000 * bitRate, Packet: 1}, superframe, 1)
	t.limit = math.MaxInt64
	terms.Limit, c.ncc.Slots = 1<<30, 1<<30
	c.add(t, terms)
	return c
}

// run returns, for each frame, the backlog at its end with its arrivals, in
// kbit, and the largest rate requested, kbit/s.
func (c *Carrier) run(frames int) (backlog []float64, peak float64) {
	for range frames {
		c.advance(c.next)
		t := &c.terminals[0]
		backlog = append(backlog, float64(t.backlog+perFrame)/1e6)
		peak = max(peak, float64(t.rate)/bitRate/1000)
	}
	return backlog, peak
}

// below returns the first frame after the first grant with a backlog under
// two frames of arrivals.
func below(backlog []float64) int {
	for k := 24; k < len(backlog); k++ {
		if backlog[k] < 2*13.568 {
			return k
		}
	}
	return -1
}

func TestWorkedExample(t *testing.T) {
	rbdc := func(agent string, horizon int) StationConfig {
		return StationConfig{RBDC: 4_000_000, Agent: agent, Horizon: horizon}
	}
	type at map[int]float64
	for _, v := range []struct {
		name       string
		processing int
		s          StationConfig
		backlog    at
		below      int
		peak       float64
	}{
		{"CRA 512", 2, StationConfig{CRA: 512_000}, at{30: 13.568, 399: 13.568}, 24, 0},
		{"CRA 768", 2, StationConfig{CRA: 768_000}, at{30: 13.568, 399: 13.568}, 24, 0},
		{"follow", 2, rbdc("follow", 0), at{23: 325.632, 24: 325.632, 399: 325.632}, -1, 512},
		{"conserve", 2, rbdc("conserve", 0), at{24: 325.042, 100: 312.507, 200: 312.069, 399: 312.064}, -1, 534.26},
		{"predict T=N", 2, rbdc("predict", 23), at{24: 311.474, 399: 13.568}, 79, 1046.26},
		{"predict T=46", 2, rbdc("predict", 46), at{399: 13.568}, 137, 779.13},
		{"predict T=100", 2, rbdc("predict", 100), at{399: 13.568}, 271, 634.88},
		{"VBDC", 2, StationConfig{VBDC: 1 << 50}, at{24: 325.632, 399: 325.632}, -1, 0},
		{"follow N=21", 0, rbdc("follow", 0), at{24: 298.496, 399: 298.496}, -1, 512},
		{"conserve N=21", 0, rbdc("conserve", 0), at{399: 284.928}, -1, 536.38},
		{"VBDC N=21", 0, StationConfig{VBDC: 1 << 50}, at{399: 298.496}, -1, 0},
	} {
		backlog, peak := fluid(v.processing, v.s).run(400)
		for k, want := range v.backlog {
			if math.Abs(backlog[k]-want) > 0.001 {
				t.Errorf("%s: backlog %.4f kbit at the end of frame %d, want %.3f", v.name, backlog[k], k, want)
			}
		}
		if got := below(backlog); got != v.below {
			t.Errorf("%s: backlog under two frames from frame %d on, want %d", v.name, got, v.below)
		}
		if math.Abs(peak-v.peak) > 0.01 {
			t.Errorf("%s: largest request %.2f kbit/s, want %.2f", v.name, peak, v.peak)
		}
	}
}

// CRA 256: half of what comes stays; 13.568 + 6.784 k from the first frame.
func TestWorkedExampleTooLittle(t *testing.T) {
	c := fluid(2, StationConfig{CRA: 256_000})
	backlog, _ := c.run(200)
	if math.Abs(backlog[199]-1363.584) > 0.001 {
		t.Errorf("backlog %.3f kbit after frame 199, want 1363.584", backlog[199])
	}
}

// VBDC with a request every 38 frames: a saw-tooth of 325.632 .. 827.648.
func TestWorkedExampleSeldom(t *testing.T) {
	backlog, _ := fluid(2, StationConfig{VBDC: 1 << 50, Period: 38}).run(800)
	least, most := math.Inf(1), 0.0
	for _, b := range backlog[400:] {
		least, most = min(least, b), max(most, b)
	}
	if math.Abs(least-325.632) > 0.001 || math.Abs(most-827.648) > 0.001 {
		t.Errorf("backlog %.3f .. %.3f kbit, want 325.632 .. 827.648", least, most)
	}
}

// RCS-11 and the reference sheet, 2.5.
func TestLatency(t *testing.T) {
	for _, v := range []struct {
		hop              float64
		processing, want int
	}{{239, 0, 21}, {250, 0, 21}, {260, 0, 21}, {278, 0, 23}, {250, 2, 23}} {
		c := Config{Hop: link.Duration(v.hop * 1e6), Processing: v.processing}
		if n, _ := c.Latency(); n != v.want {
			t.Errorf("h = %v ms and %d frames at the NCC: N = %d, want %d", v.hop, v.processing, n, v.want)
		}
	}
}
