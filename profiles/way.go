package profiles

import (
	"farlink/emulator/link"
	"farlink/emulator/stage"
)

// Way is one way of a link: the stages' configurations in the order in which
// a packet meets them. What is left out does nothing.
type Way struct {
	stage.GateConfig // mtu, cut, flap
	// ShallowQueue says that a queue of less than rate × delay is meant.
	ShallowQueue bool                  `toml:"shallow_queue"`
	Queue        stage.QueueConfig     `toml:"queue"`     // rate, limit, discipline
	Loss         stage.LossConfig      `toml:"loss"`      // on the air
	Corrupt      stage.CorruptConfig   `toml:"corrupt"`   // frames that arrive damaged
	Path         stage.PathConfig      `toml:"path"`      // delay and jitter
	Reorder      *stage.ReorderConfig  `toml:"reorder"`   // packets that step aside
	Duplicate    stage.DuplicateConfig `toml:"duplicate"` // packets that come twice
}

// Delay returns the propagation delay of way w: that of the path, and what
// the stations' places add.
func (p *Profile) Delay(w link.Way) link.Duration {
	d := p.Of(w).Path.Delay
	if p.Geo != nil {
		d += p.Geo.Delay()
	}
	return d
}

// RTT returns the round trip of propagation, without queueing or the time
// that frames take at their rate.
func (p *Profile) RTT() link.Duration { return p.Delay(link.Down) + p.Delay(link.Up) }

// Effective returns way w as the stages are to be made: the delay of the
// stations' places in the path, the queue's limit set.
func (p *Profile) Effective(w link.Way) Way {
	way := *p.Of(w)
	way.Path.Delay = p.Delay(w)
	way.Queue = way.Queue.Complete(p.RTT())
	return way
}
