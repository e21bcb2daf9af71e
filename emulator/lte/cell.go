package lte

import (
	"fmt"

	"farlink/emulator/link"
	"farlink/emulator/lte/radio"
)

// Cell is the medium: the resource blocks of both ways, shared each TTI by its
// UEs and the background. It advances as far as the latest caller's time.
type Cell struct {
	cfg     Config
	draw    link.Draw
	ues     []*UE
	tti     int64 // the next to decide
	busy    bool  // some bearer may have something to send
	ways    [2]resource
	load    background
	metrics metrics
	sizes   [2]sizes
	changed link.Time // when the configuration last was
}

const ms = int64(link.Millisecond)

// sizes are the transport blocks of a way in bits, all layers together, by
// CQI and number of resource blocks.
type sizes [16][101]int32

func newSizes(w link.Way, c *Config) (s sizes) {
	for cqi := range s {
		for prb := range c.PRB + 1 {
			s[cqi][prb] = int32(radio.TBS(radio.Index(w, radio.MCS(cqi)), prb) * c.Layers)
		}
	}
	return s
}

// resource is what one way of the cell has, per component carrier.
type resource struct {
	carriers []carrier
	share    float64 // taken by the rest of the cell
	turn     int     // round robin: whose turn is next
}

// carrier remembers which blocks HARQ has taken ahead, by TTI.
type carrier struct{ taken [256]int16 }

// metrics count what the cell did.
type metrics struct{ blocks, retransmissions, failed uint64 }

// NewCell returns a cell without UEs. The configuration must have passed
// Check.
func NewCell(cfg Config, draw link.Draw) *Cell {
	cfg = cfg.withDefaults()
	c := &Cell{cfg: cfg, draw: draw}
	for w := range c.ways {
		c.ways[w].carriers = make([]carrier, cfg.Carriers)
	}
	c.ways[link.Down].share = cfg.Background.DownShare
	c.ways[link.Up].share = cfg.Background.UpShare
	c.sizes = [2]sizes{link.Down: newSizes(link.Down, &cfg), link.Up: newSizes(link.Up, &cfg)}
	c.load = newBackground(cfg.Background, draw.Sub("background"))
	return c
}

// UE adds a user equipment to the cell; weight 1..100 is its share against
// the others' (round robin turns, proportional fair metric).
func (c *Cell) UE(weight int) *UE {
	u := &UE{cell: c, weight: max(weight, 1), number: len(c.ues)}
	draw := c.draw.Sub(fmt.Sprintf("ue%d", u.number))
	u.offset = int64(draw.Uint64(0) % 10240)
	radios := [2]radio.Config{link.Down: c.cfg.Down, link.Up: c.cfg.Up}
	for _, w := range link.Ways {
		d := draw.Sub(w.String())
		b := &u.bearers[w]
		*b = Bearer{ue: u, way: w, channel: radio.NewChannel(radios[w], d)}
		b.reportOf, b.rateAt = -1, -rateWindow-1
		b.ahead = w == link.Up && c.cfg.Access.Grants == "prescheduled"
		for i := range c.cfg.Carriers {
			b.harq = append(b.harq, d.Sub(fmt.Sprintf("harq%d", i)))
		}
		for i := range b.reports {
			b.reports[i].tti = -100
		}
	}
	c.ues = append(c.ues, u)
	return u
}

// advance decides every TTI that begins at or before now. While nobody has
// anything to send it jumps.
func (c *Cell) advance(now link.Time) {
	last := int64(now) / ms
	for c.tti <= last {
		if !c.busy {
			c.jump(last + 1)
			return
		}
		c.busy = false
		for _, w := range link.Ways {
			c.schedule(w, c.tti)
		}
		for _, u := range c.ues {
			c.busy = c.busy || u.bearers[link.Down].busy() || u.bearers[link.Up].busy()
		}
		c.tti++
	}
}

// jump goes to a TTI past ones in which nobody sends.
func (c *Cell) jump(tti int64) {
	for w := range c.ways {
		for i := range c.ways[w].carriers {
			taken := &c.ways[w].carriers[i].taken
			for t := max(c.tti, tti-int64(len(taken))); t < tti; t++ {
				taken[t&255] = 0
			}
		}
	}
	c.tti = tti
}

// schedule shares one TTI of one way.
func (c *Cell) schedule(w link.Way, tti int64) {
	r := &c.ways[w]
	ready := false
	for _, u := range c.ues {
		ready = u.bearers[w].prepare(tti) || ready
	}
	if !ready {
		for i := range r.carriers {
			r.carriers[i].taken[tti&255] = 0
		}
		return
	}
	active, reserved := c.load.at(tti), c.reserved(r, tti)
	for i := range r.carriers {
		taken := &r.carriers[i].taken[tti&255]
		free := c.cfg.PRB - int(*taken) - reserved
		*taken = 0
		for ready && free > 0 {
			b := c.choose(w, tti, active)
			if b == nil { // the background's turn: its buffers are full
				break
			}
			free -= b.send(tti, i, free)
			ready = c.anyReady(w)
		}
	}
}

// reserved is how many blocks of a TTI the steady load of the cell takes; over
// time exactly its share.
func (c *Cell) reserved(r *resource, tti int64) int {
	if r.share == 0 {
		return 0
	}
	per := float64(c.cfg.PRB) * r.share
	return int(int64(per*float64(tti+1)) - int64(per*float64(tti)))
}

func (c *Cell) anyReady(w link.Way) bool {
	for _, u := range c.ues {
		if u.bearers[w].ready {
			return true
		}
	}
	return false
}
