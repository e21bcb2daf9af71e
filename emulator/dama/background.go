package dama

import (
	"slices"

	"farlink/emulator/dama/traffic"
	"farlink/emulator/link"
)

// Background is a group of simulated terminals that share the carrier with
// the real ones. They have a queue of bytes, not of packets.
type Background struct {
	Count   int           `toml:"count"`
	Traffic string        `toml:"traffic"`           // "cbr" (default), "on_off", "poisson", "self_similar", "replay"
	Rate    link.Rate     `toml:"rate,omitempty"`    // mean of IP bytes; while on, for on_off and self_similar
	On      link.Duration `toml:"on,omitempty"`      // mean length of a burst, default 1s
	Off     link.Duration `toml:"off,omitempty"`     // mean length of a pause, default 1s
	Shape   float64       `toml:"shape,omitempty"`   // self_similar: Pareto shape 1 < a < 2, default 1.4; H = (3-a)/2
	Packet  int           `toml:"packet,omitempty"`  // bytes of an IP packet, default 576
	Replay  []link.Rate   `toml:"replay,omitempty"`  // the rates of replay, one per step, over and over
	Step    link.Duration `toml:"step,omitempty"`    // of replay, default 1s
	Station StationConfig `toml:"station,omitempty"` // how they ask; default as the carrier's station
}

// model is what each terminal of the group sends.
func (b *Background) model() traffic.Model {
	return traffic.Model{
		Kind: b.Traffic, Rate: b.Rate, On: b.On, Off: b.Off, Shape: b.Shape,
		Packet: b.Packet, Replay: b.Replay, Step: b.Step,
	}
}

func (b Background) complete(like StationConfig) Background {
	or(&b.Traffic, "cbr")
	or(&b.On, link.Second)
	or(&b.Off, link.Second)
	or(&b.Shape, 1.4)
	or(&b.Packet, 576)
	or(&b.Step, link.Second)
	if b.Station == (StationConfig{}) {
		b.Station = like
	}
	b.Station = b.Station.complete()
	return b
}

func (b *Background) check(report link.Report) {
	within(report, whole("count", b.Count, 1, 4096), whole("packet", b.Packet, 20, 9200), number("shape", b.Shape, 1.01, 1.99),
		length("on", b.On, link.Millisecond, 86400*link.Second), length("off", b.Off, link.Millisecond, 86400*link.Second),
		length("step", b.Step, link.Millisecond, 86400*link.Second))
	switch {
	case !slices.Contains(traffic.Kinds(), b.Traffic):
		report("traffic", b.Traffic, `"cbr", "on_off", "poisson", "self_similar" or "replay"`)
	case b.Traffic == "replay" && len(b.Replay) == 0:
		report("replay", "none", `rates, such as ["64kbit/s", "512kbit/s"]`)
	case b.Traffic != "replay" && b.Rate <= 0:
		report("rate", "none", "the rate of the traffic")
	}
	if b.Rate > 10*link.GigabitPerSecond {
		report("rate", b.Rate.String(), "at most 10Gbit/s")
	}
}
