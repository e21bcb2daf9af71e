package lte

import (
	"fmt"
	"slices"

	"farlink/emulator/link"
	"farlink/emulator/lte/radio"
)

// Config describes a cell and the UE that a link is. The zero value of each
// field means its default.
type Config struct {
	// PRB is the bandwidth in physical resource blocks: 6, 15, 25, 50, 75,
	// 100 are 1.4, 3, 5, 10, 15, 20 MHz. Default 100.
	PRB int `toml:"prb" json:"prb,omitempty"`
	// Layers is the number of spatial layers (independent blocks), 1 or 2.
	// Default 1.
	Layers int `toml:"layers" json:"layers,omitempty"`
	// Carriers is the number of aggregated component carriers of the same
	// bandwidth, 1..5 (Release 10). Default 1.
	Carriers int `toml:"carriers" json:"carriers,omitempty"`
	// Scheduler is "round_robin", "proportional_fair" or "max_ci".
	// Default round_robin.
	Scheduler string `toml:"scheduler" json:"scheduler,omitempty"`

	Background Background   `toml:"background" json:"background,omitzero"`
	Down       radio.Config `toml:"down" json:"down,omitzero"`
	Up         radio.Config `toml:"up" json:"up,omitzero"`
	HARQ       HARQ         `toml:"harq" json:"harq,omitzero"`
	RLC        RLC          `toml:"rlc" json:"rlc,omitzero"`
	Access     Access       `toml:"access" json:"access,omitzero"`
	DRX        DRX          `toml:"drx" json:"drx,omitzero"`
	RRC        RRC          `toml:"rrc" json:"rrc,omitzero"`
	Mobility   Mobility     `toml:"mobility" json:"mobility,omitzero"`
}

// Background is the load of other UEs: each is active, with a full buffer, in
// a share of the time, drawn by UE and burst.
type Background struct {
	// UEs is how many there are, 0..1000. Default 0.
	UEs int `toml:"ues" json:"ues,omitempty"`
	// Activity is the share of the time in which each is active, 0..1.
	Activity float64 `toml:"activity" json:"activity,omitempty"`
	// Burst is how long a UE stays as it is, whole ms. Default 200ms.
	Burst link.Duration `toml:"burst" json:"burst,omitempty"`
	// DownShare and UpShare are the share of the resource blocks that the
	// rest of the cell takes beside those UEs, steadily, 0..0.99.
	DownShare float64 `toml:"down_share" json:"down_share,omitempty"`
	UpShare   float64 `toml:"up_share" json:"up_share,omitempty"`
}

// HARQ is the hybrid ARQ of both ways.
type HARQ struct {
	// BLER of a first transmission, 0..0.9. Default 0.1; "perfect" blocks
	// need -1. With Model "sinr" it follows from the SINR at the instant.
	BLER float64 `toml:"bler" json:"bler,omitempty"`
	// Model is "fixed" (each transmission fails with BLER) or "sinr"
	// (waterfall around the CQI's SINR, chase combining). Default fixed.
	Model string `toml:"model" json:"model,omitempty"`
	// Transmissions is the most of one block, 1..28. Default 4.
	Transmissions int `toml:"transmissions" json:"transmissions,omitempty"`
}

// RLC is the buffer and what repairs the rest.
type RLC struct {
	// Mode is "am" (HARQ's failures are sent again) or "um" (they are
	// lost). Default am.
	Mode string `toml:"mode" json:"mode,omitempty"`
	// Buffer per way. Default 1MiB.
	Buffer link.Size `toml:"buffer" json:"buffer,omitempty"`
	// Discard is PDCP's discardTimer: what waited longer is dropped; 0 is
	// infinity. Allowed by TS 36.331: 50,100,150,300,500,750,1500 ms.
	Discard link.Duration `toml:"discard" json:"discard,omitempty"`
	// Reordering is t-Reordering: how long a gap is waited for. Default
	// 50ms.
	Reordering link.Duration `toml:"reordering" json:"reordering,omitempty"`
}

// Access is how a UE comes to uplink resources.
type Access struct {
	// Grants is "dynamic" (scheduling request, grant, buffer status
	// report), "semi_persistent" (a standing grant each Period) or
	// "prescheduled" (the cell grants ahead whenever it can). Default
	// dynamic.
	Grants string `toml:"grants" json:"grants,omitempty"`
	// SRPeriod is the distance of scheduling request opportunities: 1, 2,
	// 5, 10, 20, 40 or 80 ms. Default 10ms.
	SRPeriod link.Duration `toml:"sr_period" json:"sr_period,omitempty"`
	// FirstGrant is what the cell grants on a bare request. Default 125B.
	FirstGrant link.Size `toml:"first_grant" json:"first_grant,omitempty"`
	// Period of semi-persistent grants, whole ms. Default 20ms; Block is
	// their size. Default 300B.
	Period link.Duration `toml:"period" json:"period,omitempty"`
	Block  link.Size     `toml:"block" json:"block,omitempty"`
}

// DRX is discontinuous reception while connected; LongCycle 0 is off.
type DRX struct {
	OnDuration link.Duration `toml:"on_duration" json:"on_duration,omitempty"`
	Inactivity link.Duration `toml:"inactivity" json:"inactivity,omitempty"`
	ShortCycle link.Duration `toml:"short_cycle" json:"short_cycle,omitempty"`
	// ShortCycles is how many short cycles come before long ones.
	ShortCycles int           `toml:"short_cycles" json:"short_cycles,omitempty"`
	LongCycle   link.Duration `toml:"long_cycle" json:"long_cycle,omitempty"`
}

// RRC is the connection state; Inactivity 0 keeps the UE connected for ever.
type RRC struct {
	// Inactivity releases the connection (typical 10 s).
	Inactivity link.Duration `toml:"inactivity" json:"inactivity,omitempty"`
	// Promotion is idle to connected. Default 260ms.
	Promotion link.Duration `toml:"promotion" json:"promotion,omitempty"`
	// Paging is the idle paging cycle. Default 1280ms.
	Paging link.Duration `toml:"paging" json:"paging,omitempty"`
}

// Mobility is handovers and radio link failures that come by themselves.
type Mobility struct {
	// HandoverEvery is their distance; 0 is none.
	HandoverEvery link.Duration `toml:"handover_every" json:"handover_every,omitempty"`
	// Interruption of the data path (TS 36.881 budget 49.5 ms). Default
	// 50ms.
	Interruption link.Duration `toml:"interruption" json:"interruption,omitempty"`
	// Forwarding keeps what is in flight ("lossless"); "seamless" loses it.
	// Default lossless.
	Forwarding string `toml:"forwarding" json:"forwarding,omitempty"`
	// FailureEvery and FailureOutage are radio link failures with
	// re-establishment; outage 0.5..2 s is typical. 0 is none.
	FailureEvery  link.Duration `toml:"failure_every" json:"failure_every,omitempty"`
	FailureOutage link.Duration `toml:"failure_outage" json:"failure_outage,omitempty"`
}

// withDefaults returns c with every unset field at its default.
func (c Config) withDefaults() Config {
	or(&c.PRB, 100)
	or(&c.Layers, 1)
	or(&c.Carriers, 1)
	or(&c.Scheduler, "round_robin")
	or(&c.Background.Burst, 200*link.Millisecond)
	c.Down, c.Up = c.Down.Complete(), c.Up.Complete()
	or(&c.HARQ.BLER, 0.1)
	c.HARQ.BLER = max(c.HARQ.BLER, 0)
	or(&c.HARQ.Model, "fixed")
	or(&c.HARQ.Transmissions, 4)
	or(&c.RLC.Mode, "am")
	or(&c.RLC.Buffer, 1<<20)
	or(&c.RLC.Reordering, 50*link.Millisecond)
	or(&c.Access.Grants, "dynamic")
	or(&c.Access.SRPeriod, 10*link.Millisecond)
	or(&c.Access.FirstGrant, 125)
	or(&c.Access.Period, 20*link.Millisecond)
	or(&c.Access.Block, 300)
	or(&c.RRC.Promotion, 260*link.Millisecond)
	or(&c.RRC.Paging, 1280*link.Millisecond)
	or(&c.Mobility.Interruption, 50*link.Millisecond)
	or(&c.Mobility.Forwarding, "lossless")
	or(&c.Mobility.FailureOutage, link.Second)
	return c
}

func or[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// check gathers what a Config's Check says again and again.
type check struct {
	report link.Report
	prefix string
}

func (k check) in(path string, got, lo, hi float64) {
	if got < lo || got > hi || got != got {
		k.report(k.prefix+path, fmt.Sprint(got), fmt.Sprintf("%g to %g", lo, hi))
	}
}

func (k check) of(path, got string, words ...string) {
	if !slices.Contains(words, got) {
		k.report(k.prefix+path, fmt.Sprintf("%q", got), fmt.Sprintf("one of %q", words))
	}
}

func (k check) among(path string, got link.Duration, ms ...link.Duration) {
	if !slices.Contains(ms, got/link.Millisecond) || got%link.Millisecond != 0 {
		k.report(k.prefix+path, got.String(), fmt.Sprintf("one of %d ms", ms))
	}
}

func (k check) wholeMS(path string, got, lo, hi link.Duration) {
	if got%link.Millisecond != 0 || got < lo || got > hi {
		k.report(k.prefix+path, got.String(), fmt.Sprintf("whole milliseconds, %s to %s", lo, hi))
	}
}

// Check reports every problem of the configuration.
func (c Config) Check(report link.Report) {
	c = c.withDefaults()
	k := check{report: report}
	k.in("prb", float64(c.PRB), 1, 100)
	k.in("layers", float64(c.Layers), 1, 2)
	k.in("carriers", float64(c.Carriers), 1, 5)
	k.of("scheduler", c.Scheduler, "round_robin", "proportional_fair", "max_ci")
	k.in("background.ues", float64(c.Background.UEs), 0, 1000)
	k.in("background.activity", c.Background.Activity, 0, 1)
	k.wholeMS("background.burst", c.Background.Burst, link.Millisecond, 3600*link.Second)
	k.in("background.down_share", c.Background.DownShare, 0, 0.99)
	k.in("background.up_share", c.Background.UpShare, 0, 0.99)
	c.Down.Check(report.Under("down"))
	c.Up.Check(report.Under("up"))
	k.in("harq.bler", c.HARQ.BLER, 0, 0.9)
	k.of("harq.model", c.HARQ.Model, "fixed", "sinr")
	k.in("harq.transmissions", float64(c.HARQ.Transmissions), 1, 28)
	k.of("rlc.mode", c.RLC.Mode, "am", "um")
	k.in("rlc.buffer", float64(c.RLC.Buffer), 10000, 1<<30)
	if c.RLC.Discard != 0 {
		k.among("rlc.discard", c.RLC.Discard, 50, 100, 150, 300, 500, 750, 1500)
	}
	k.wholeMS("rlc.reordering", c.RLC.Reordering, 0, 200*link.Millisecond)
	c.checkAccess(k)
	c.checkStates(k)
}

func (c Config) checkAccess(k check) {
	k.of("access.grants", c.Access.Grants, "dynamic", "semi_persistent", "prescheduled")
	k.among("access.sr_period", c.Access.SRPeriod, 1, 2, 5, 10, 20, 40, 80)
	k.in("access.first_grant", float64(c.Access.FirstGrant), 10, 10000)
	k.wholeMS("access.period", c.Access.Period, link.Millisecond, 640*link.Millisecond)
	k.in("access.block", float64(c.Access.Block), 10, 10000)
}

func (c Config) checkStates(k check) {
	const hour = 3600 * link.Second
	if d := c.DRX; d != (DRX{}) {
		k.wholeMS("drx.long_cycle", d.LongCycle, 10*link.Millisecond, 2560*link.Millisecond)
		k.wholeMS("drx.on_duration", d.OnDuration, link.Millisecond, 200*link.Millisecond)
		k.wholeMS("drx.inactivity", d.Inactivity, link.Millisecond, 2560*link.Millisecond)
		k.wholeMS("drx.short_cycle", d.ShortCycle, 0, 640*link.Millisecond)
		k.in("drx.short_cycles", float64(d.ShortCycles), 0, 16)
		if d.OnDuration > d.LongCycle || d.ShortCycle > 0 && d.OnDuration > d.ShortCycle {
			k.report("drx.on_duration", d.OnDuration.String(), "no longer than the cycle")
		}
		if d.ShortCycles > 0 && d.ShortCycle == 0 {
			k.report("drx.short_cycle", "0", "a short cycle, since drx.short_cycles is set")
		}
	}
	k.wholeMS("rrc.inactivity", c.RRC.Inactivity, 0, hour)
	k.wholeMS("rrc.promotion", c.RRC.Promotion, 0, 5*link.Second)
	k.wholeMS("rrc.paging", c.RRC.Paging, link.Millisecond, 2560*link.Millisecond)
	k.wholeMS("mobility.handover_every", c.Mobility.HandoverEvery, 0, hour)
	k.wholeMS("mobility.interruption", c.Mobility.Interruption, 0, 10*link.Second)
	k.of("mobility.forwarding", c.Mobility.Forwarding, "lossless", "seamless")
	k.wholeMS("mobility.failure_every", c.Mobility.FailureEvery, 0, hour)
	k.wholeMS("mobility.failure_outage", c.Mobility.FailureOutage, 0, 60*link.Second)
}

// Peak returns the greatest rate of a way that the bandwidth, layers and
// carriers allow, HARQ without failures: the largest transport block each TTI.
func (c Config) Peak() link.Rate {
	c = c.withDefaults()
	return link.Rate(radio.TBS(26, c.PRB)*c.Layers*c.Carriers) * link.KilobitPerSecond
}

// Waiting returns the most bytes that wait in the buffer of one way.
func (c Config) Waiting() link.Size { return c.withDefaults().RLC.Buffer }
