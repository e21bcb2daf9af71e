package profiles

import (
	"farlink/emulator/air"
	"farlink/emulator/course"
	"farlink/emulator/dama"
	"farlink/emulator/link"
	"farlink/emulator/opportunity"
	"farlink/emulator/sat"
	"farlink/emulator/stage"
)

// Way is one way of a link: the stages' configurations in the order in which
// a packet meets them. What is left out does nothing.
type Way struct {
	stage.GateConfig // mtu, cut, flap
	// ShallowQueue says that a queue of less than rate × delay is meant.
	ShallowQueue bool                        `toml:"shallow_queue"`
	Queue        stage.QueueConfig           `toml:"queue"`     // rate, limit, discipline
	Carrier      *sat.CarrierConfig          `toml:"carrier"`   // serves the queue in place of a rate
	WLAN         *stage.WLANConfig           `toml:"wlan"`      // in place of the queue: a wireless LAN
	Delivery     *opportunity.DeliveryConfig `toml:"delivery"`  // in place of the queue: a Mahimahi trace
	Train        *opportunity.TrainConfig    `toml:"train"`     // in place of the queue: CellReplay's light and heavy traces
	Trace        *course.Config              `toml:"trace"`     // a course that queue, loss and path follow
	Loss         air.LossConfig              `toml:"loss"`      // on the air
	Corrupt      air.CorruptConfig           `toml:"corrupt"`   // frames that arrive damaged
	Path         stage.PathConfig            `toml:"path"`      // delay and jitter
	Reorder      *stage.ReorderConfig        `toml:"reorder"`   // packets that step aside
	Duplicate    stage.DuplicateConfig       `toml:"duplicate"` // packets that come twice
	Middlebox    *stage.MiddleboxConfig      `toml:"middlebox"` // a box that does not bear MPTCP
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

// Longest returns the longest that a packet may travel in way w: with its
// jitter, the course of its trace, the spikes of low orbits, and what it may
// stand aside.
func (p *Profile) Longest(w link.Way) link.Duration {
	way, d := p.Of(w), p.Delay(w)
	if p.LEO != nil {
		_, d = p.LEO.Delays()
		d += p.LEO.SpikeMost
	}
	if way.Trace != nil {
		for _, s := range way.Trace.Steps {
			if s.Delay != nil {
				d = max(d, *s.Delay)
			}
		}
	}
	if j := way.Path.Jitter; j != nil {
		d += 4 * j.Spread
		for _, t := range j.Table {
			d = max(d, way.Path.Delay+t)
		}
	}
	if way.Train != nil {
		slowest := link.Duration(0)
		for _, l := range way.Train.Lines {
			slowest = max(slowest, l.Delay)
		}
		d += slowest
	}
	if way.Reorder != nil {
		d += way.Reorder.Delay
	}
	return d + way.Duplicate.Delay
}

// RTT returns the round trip of propagation, without queueing or the time
// that frames take at their rate.
func (p *Profile) RTT() link.Duration { return p.Delay(link.Down) + p.Delay(link.Up) }

// Server names what lets packets out of way w, as the key of its table:
// queue, carrier, wlan, delivery, train, leo, lte, nr or dama.
func (p *Profile) Server(w link.Way) string {
	way := p.Of(w)
	switch {
	case p.LTE != nil:
		return "lte"
	case p.LEO != nil:
		return "leo"
	case p.NR != nil:
		return "nr"
	case p.DAMA != nil && w == link.Up:
		return "dama"
	case way.WLAN != nil:
		return "wlan"
	case way.Delivery != nil:
		return "delivery"
	case way.Train != nil:
		return "train"
	case way.Carrier != nil:
		return "carrier"
	}
	return "queue"
}

// Rate returns the rate of way w: that of the queue; of the carrier in clear
// sky; the median over low orbits; that of a 5G carrier at its mean SINR; the most that a cell, a return link or a
// wireless LAN may give. 0 is unlimited.
func (p *Profile) Rate(w link.Way) link.Rate {
	way := p.Of(w)
	switch p.Server(w) {
	case "lte":
		return p.LTE.Peak()
	case "leo":
		return p.LEO.Rate(w)
	case "nr":
		return p.NR.Rate(w)
	case "dama":
		return p.DAMA.Peak()
	case "wlan":
		return way.WLAN.Rate
	case "delivery":
		return way.Delivery.Mean()
	case "train":
		return way.Train.Heavy.Mean()
	case "carrier":
		rate, _ := p.carrier(w).Clear()
		return rate
	}
	return way.Queue.Rate
}

// Peak returns the greatest rate that way w may have at any time, and the
// most bytes that may wait for it; a rate of 0 is unlimited.
func (p *Profile) Peak(w link.Way) (link.Rate, link.Size) {
	way, rate := p.Effective(w), p.Rate(w)
	queue := way.Queue
	switch p.Server(w) {
	case "lte":
		return rate, p.LTE.Waiting()
	case "leo":
		rate *= 4 // leo.Config.Down: the most that an epoch has
	case "nr":
		rate = p.NR.Peak(w)
	case "dama":
		queue = p.Return().Waiting()
	case "wlan":
		queue = way.WLAN.QueueConfig
	case "delivery":
		return 0, way.Delivery.Limit.Holds(rate)
	case "train":
		return 0, way.Train.Heavy.Limit.Holds(rate)
	case "carrier":
		_, rate = way.Carrier.Rates()
	}
	if way.Trace != nil {
		for _, s := range way.Trace.Steps {
			if s.Rate != nil {
				rate = max(rate, *s.Rate)
			}
		}
	}
	return rate, queue.Limit.Holds(rate)
}

// Return returns the DVB-RCS carrier as it is to be made: its hop is that of
// the stations' places, unless it says another.
func (p *Profile) Return() dama.Config {
	c := *p.DAMA
	if c.Hop == 0 && p.Geo != nil {
		c.Hop = p.Geo.Hop()
	}
	return c
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
	if way.WLAN != nil {
		c := *way.WLAN
		c.QueueConfig = c.QueueConfig.Complete(p.RTT())
		way.WLAN = &c
	}
	if way.Delivery != nil {
		c := delivered(*way.Delivery, p.RTT())
		way.Delivery = &c
	}
	if way.Train != nil {
		c := *way.Train
		c.Heavy = delivered(c.Heavy, p.RTT())
		way.Train = &c
	}
	return way
}

// delivered sets the limit of what waits for opportunities, if it is not set.
func delivered(c opportunity.DeliveryConfig, rtt link.Duration) opportunity.DeliveryConfig {
	c.Rate = c.Mean()
	c.QueueConfig = c.QueueConfig.Complete(rtt)
	c.Rate = 0
	return c
}
