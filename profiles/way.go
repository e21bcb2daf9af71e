package profiles

import (
	"farlink/emulator/link"
	"farlink/emulator/sat"
	"farlink/emulator/stage"
)

// Way is one way of a link: the stages' configurations in the order in which
// a packet meets them. What is left out does nothing.
type Way struct {
	stage.GateConfig // mtu, cut, flap
	// ShallowQueue says that a queue of less than rate × delay is meant.
	ShallowQueue bool                  `toml:"shallow_queue"`
	Queue        stage.QueueConfig     `toml:"queue"`     // rate, limit, discipline
	Carrier      *sat.CarrierConfig    `toml:"carrier"`   // serves the queue in place of a rate
	Loss         stage.LossConfig      `toml:"loss"`      // on the air
	Corrupt      stage.CorruptConfig   `toml:"corrupt"`   // frames that arrive damaged
	Path         stage.PathConfig      `toml:"path"`      // delay and jitter
	Reorder      *stage.ReorderConfig  `toml:"reorder"`   // packets that step aside
	Duplicate    stage.DuplicateConfig `toml:"duplicate"` // packets that come twice
}

// Delay returns the propagation delay of way w: that of the path, what the
// stations' places add, and the middle of what satellites in low orbit do.
func (p *Profile) Delay(w link.Way) link.Duration {
	d := p.Of(w).Path.Delay
	if p.Geo != nil {
		d += p.Geo.Delay()
	}
	if p.LEO != nil {
		least, most := p.LEO.Delays()
		d += (least + most) / 2
	}
	return d
}

// RTT returns the round trip of propagation, without queueing or the time
// that frames take at their rate.
func (p *Profile) RTT() link.Duration { return p.Delay(link.Down) + p.Delay(link.Up) }

// Rate returns the rate of way w: that of the queue, of the carrier in clear
// sky, or the median over low orbits; 0 is unlimited.
func (p *Profile) Rate(w link.Way) link.Rate {
	switch c := p.carrier(w); {
	case c != nil:
		rate, _ := c.Clear()
		return rate
	case p.LEO != nil:
		return p.LEO.Rate(w)
	}
	return p.Of(w).Queue.Rate
}

// carrier returns the carrier of way w, placed where [geo] says; nil if
// there is none.
func (p *Profile) carrier(w link.Way) *sat.CarrierConfig {
	c := p.Of(w).Carrier
	if c == nil || p.Geo == nil {
		return c
	}
	placed := c.Locate(*p.Geo, w)
	return &placed
}

// Effective returns way w as the stages are to be made: the delay of the
// stations' places in the path, the carrier in its place, the queue's rate
// and limit set.
func (p *Profile) Effective(w link.Way) Way {
	way := *p.Of(w)
	way.Path.Delay, way.Carrier = p.Delay(w), p.carrier(w)
	if way.Carrier != nil {
		way.Queue = way.Carrier.Queue(way.Queue, p.RTT())
		return way
	}
	way.Queue.Rate = p.Rate(w)
	way.Queue = way.Queue.Complete(p.RTT())
	return way
}
