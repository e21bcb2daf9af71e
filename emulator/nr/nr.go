// Package nr models a 5G NR carrier as one device sees it, each way by
// itself: slots, the pattern of time division, link adaptation, HARQ, the
// grants of the uplink, handovers.
//
//	pattern  D    D    D    S    U    D    D    D    S    U      slot = 1 ms / 2^numerology
//	down   ▕ TB ▏ TB ▏ TB ▏tb ▏    ▏ TB ▏ TB ▏ …
//	up     ▕    ▏    ▏    ▏ tb▏ TB ▏    ▏ …
//	             arrival ─▶ (up: scheduling request ─▶ grant) ─▶ next own slot ─▶ decoded ─▶ in order
//
// The other devices of the cell are a share of its resource blocks that this
// one does not get. Sources: TS 38.211 (slots), 38.214 (CQI tables), 38.306
// (peak rate), 38.321 (scheduling requests), from memory; the SINR of each CQI
// is the list that public LTE simulators use, continued for 256QAM.
package nr

import (
	"strings"

	"farlink/emulator/link"
)

// Config is the table [nr] of a profile. What is left out is none, except
// where a default is named.
type Config struct {
	// Numerology mu, 0..3: a slot lasts 1 ms / 2^mu.
	Numerology int `toml:"numerology,omitempty"`
	// PRB is the number of resource blocks of 12 subcarriers, 1..275: 273
	// are 100 MHz at numerology 1, 106 are 20 MHz at 0.
	PRB int `toml:"prb,omitempty"`
	// Pattern of slots, D, S and U: "DDDSU". Empty is FDD: every slot both
	// ways.
	Pattern string `toml:"pattern,omitempty"`
	// SpecialDown and SpecialUp are the symbols, of 14, that an S slot has
	// for either way; 10 and 2 when both are 0.
	SpecialDown int `toml:"special_down,omitempty"`
	SpecialUp   int `toml:"special_up,omitempty"`
	// Share of the resource blocks that this device gets, 0..1; 1 when 0.
	Share float64 `toml:"share,omitempty"`
	// Down and Up are the radio of either way.
	Down Radio `toml:"down,omitempty"`
	Up   Radio `toml:"up,omitempty"`
	// Processing before and after the air, each; 1 slot when 0.
	Processing link.Duration `toml:"processing,omitempty"`
	// HARQRound is the time from a transmission to the next of the same
	// block; 8 slots when 0.
	HARQRound link.Duration `toml:"harq_round,omitempty"`
	// RLCRound is what a block costs that failed four times; 40ms when 0.
	RLCRound link.Duration `toml:"rlc_round,omitempty"`
	// Request is the distance of opportunities to ask for an uplink grant;
	// 0: granted beforehand. 5ms and 10ms are usual.
	Request link.Duration `toml:"request,omitempty"`
	// Grant is the time from a request to the first slot granted; 2.5ms
	// when 0.
	Grant link.Duration `toml:"grant,omitempty"`
	// HandoverEvery is the distance of handovers, the first at that time; 0
	// is none. Interruption is how long each stops both ways, 50..150ms.
	HandoverEvery link.Duration `toml:"handover_every,omitempty"`
	Interruption  link.Duration `toml:"interruption,omitempty"`
}

// Radio is the radio of one way.
type Radio struct {
	// Layers of MIMO, 1..8; 1 when 0.
	Layers int `toml:"layers,omitempty"`
	// Table of CQI: "64qam" (default) or "256qam".
	Table string `toml:"table,omitempty"`
	// SINR is the mean, dB, -10..50. It is not left out.
	SINR float64 `toml:"sinr"`
	// Shadowing is the standard deviation of the SINR, dB, 0..15, and
	// ShadowingTime the time in which its correlation falls to 1/e; 10s
	// when 0.
	Shadowing     float64       `toml:"shadowing,omitempty"`
	ShadowingTime link.Duration `toml:"shadowing_time,omitempty"`
	// BLER of the first transmission, and of each after it, 0..0.5; 0.1 is
	// what CQI aims at.
	BLER float64 `toml:"bler,omitempty"`
	// Overhead of control and reference signals, 0..0.5: 0.14 down, 0.08 up
	// (TS 38.306, below 6 GHz).
	Overhead float64 `toml:"overhead,omitempty"`
}

// cqi is a row of a CQI table.
type cqi struct {
	bits int // per symbol
	code int // rate × 1024
	sinr float64
}

// efficiency returns bits per resource element and layer.
func (c cqi) efficiency() float64 { return float64(c.bits*c.code) / 1024 }

// table64 is TS 38.214 Table 5.2.2.1-2; the SINR is for 10 % of blocks lost.
var table64 = []cqi{
	{2, 78, -6.7}, {2, 120, -4.7}, {2, 193, -2.3}, {2, 308, 0.2}, {2, 449, 2.4}, {2, 602, 4.3},
	{4, 378, 5.9}, {4, 490, 8.1}, {4, 616, 10.3},
	{6, 466, 11.7}, {6, 567, 14.1}, {6, 666, 16.3}, {6, 772, 18.7}, {6, 873, 21.0}, {6, 948, 22.7},
}

// table256 is Table 5.2.2.1-3. The last three go on with the slope of the
// last four of table64, 3.88 dB for each bit.
var table256 = []cqi{
	{2, 78, -6.7}, {2, 193, -2.3}, {2, 449, 2.4},
	{4, 378, 5.9}, {4, 490, 8.1}, {4, 616, 10.3},
	{6, 466, 11.7}, {6, 567, 14.1}, {6, 666, 16.3}, {6, 772, 18.7}, {6, 873, 21.0},
	{8, 711, 22.7}, {8, 797, 25.3}, {8, 885, 28.0}, {8, 948, 29.9},
}

// symbols is how many a slot has.
const symbols = 14

// Slot returns how long a slot lasts.
func (c Config) Slot() link.Duration { return link.Millisecond >> c.Numerology }

// complete returns c with its defaults in place.
func (c Config) complete() Config {
	if c.SpecialDown == 0 && c.SpecialUp == 0 {
		c.SpecialDown, c.SpecialUp = 10, 2
	}
	if c.Share == 0 {
		c.Share = 1
	}
	c.Processing = either(c.Processing, c.Slot())
	c.HARQRound = either(c.HARQRound, 8*c.Slot())
	c.RLCRound = either(c.RLCRound, 40*link.Millisecond)
	c.Grant = either(c.Grant, 2500*link.Microsecond)
	for _, r := range []*Radio{&c.Down, &c.Up} {
		r.Layers = max(r.Layers, 1)
		r.ShadowingTime = either(r.ShadowingTime, 10*link.Second)
	}
	return c
}

func either(d, instead link.Duration) link.Duration {
	if d == 0 {
		return instead
	}
	return d
}

// radio returns the radio of way w.
func (c *Config) radio(w link.Way) *Radio {
	if w == link.Down {
		return &c.Down
	}
	return &c.Up
}

func (r Radio) table() []cqi {
	if r.Table == "256qam" {
		return table256
	}
	return table64
}

// best returns the row that an SINR bears, none below the first.
func (r Radio) best(sinr float64) (cqi, int) {
	t := r.table()
	for i := len(t) - 1; i >= 0; i-- {
		if t[i].sinr <= sinr {
			return t[i], i + 1
		}
	}
	return cqi{}, 0
}

// roles returns the symbols that each slot of the pattern has for way w.
func (c Config) roles(w link.Way) []int {
	if c.Pattern == "" {
		return []int{symbols}
	}
	full := map[link.Way]rune{link.Down: 'D', link.Up: 'U'}[w]
	special := c.SpecialDown
	if w == link.Up {
		special = c.SpecialUp
	}
	var n []int
	for _, r := range strings.ToUpper(c.Pattern) {
		switch r {
		case full:
			n = append(n, symbols)
		case 'S':
			n = append(n, special)
		default:
			n = append(n, 0)
		}
	}
	return n
}

// perSymbol returns the bits that one symbol carries at a CQI.
func (c Config) perSymbol(w link.Way, row cqi) float64 {
	r := c.radio(w)
	return float64(r.Layers) * row.efficiency() * float64(12*c.PRB) * c.Share * (1 - r.Overhead)
}

// rate returns the rate at a CQI, averaged over the pattern, blocks that fail
// taken off.
func (c Config) rate(w link.Way, row cqi) link.Rate {
	n, roles := 0, c.roles(w)
	for _, s := range roles {
		n += s
	}
	period := float64(len(roles)) * c.Slot().Seconds()
	return link.Rate(float64(n) * c.perSymbol(w, row) * (1 - c.radio(w).BLER) / period)
}

// Rate returns the rate of way w at its mean SINR; 0 when it bears none.
func (c Config) Rate(w link.Way) link.Rate {
	c = c.complete()
	row, _ := c.radio(w).best(c.radio(w).SINR)
	return c.rate(w, row)
}

// Peak returns the greatest rate of way w (TS 38.306, 4.1.2, times the share
// of its symbols).
func (c Config) Peak(w link.Way) link.Rate {
	c = c.complete()
	t := c.radio(w).table()
	return c.rate(w, t[len(t)-1])
}
