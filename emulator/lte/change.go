package lte

import (
	"fmt"
	"reflect"

	"farlink/emulator/link"
	"farlink/emulator/lte/radio"
)

// Cell returns the cell that the UE stands in.
func (u *UE) Cell() *Cell { return u.cell }

// Weigh sets the UE's share against the others', as Cell.UE has it.
func (u *UE) Weigh(weight int) { u.weight = max(weight, 1) }

// Change gives the cell another configuration at an instant, which must have
// passed Check: the TTIs before it are decided, buffers, grants, reports and
// what is in the air go on, and so do the draws of the channel. A change that
// is earlier than the last one does nothing, since each way of a link comes by
// with it.
func (c *Cell) Change(at link.Time, cfg Config) {
	cfg = cfg.withDefaults()
	if at < c.changed || reflect.DeepEqual(cfg, c.cfg) {
		return
	}
	c.advance(at - 1)
	c.changed = at
	was := c.cfg
	c.cfg = cfg
	served := c.load.average
	c.load = newBackground(cfg.Background, c.draw.Sub("background"))
	c.load.average = served
	c.sizes = [2]sizes{link.Down: newSizes(link.Down, &c.cfg), link.Up: newSizes(link.Up, &c.cfg)}
	for w := range c.ways {
		r := &c.ways[w]
		kept := min(len(r.carriers), cfg.Carriers)
		r.carriers = append(r.carriers[:kept:kept], make([]carrier, cfg.Carriers-kept)...)
	}
	c.ways[link.Down].share, c.ways[link.Up].share = cfg.Background.DownShare, cfg.Background.UpShare
	for _, u := range c.ues {
		u.bearers[link.Down].change(at, was.Down, cfg.Down)
		u.bearers[link.Up].change(at, was.Up, cfg.Up)
	}
}

// change gives a bearer another radio and the cell's present way of access.
func (b *Bearer) change(at link.Time, was, is radio.Config) {
	c := b.ue.cell
	d := c.draw.Sub(fmt.Sprintf("ue%d", b.ue.number)).Sub(b.way.String())
	if !reflect.DeepEqual(was, is) {
		b.channel = b.channel.Become(is, d)
	}
	for i := len(b.harq); i < c.cfg.Carriers; i++ {
		b.harq = append(b.harq, d.Sub(fmt.Sprintf("harq%d", i)))
	}
	if b.way == link.Down {
		return
	}
	b.ahead = c.cfg.Access.Grants == "prescheduled"
	if b.ahead {
		b.requestAt, b.known, b.last = 0, 0, 0
	} else if b.waiting.Len() > 0 {
		b.request(int64(at))
	}
}
