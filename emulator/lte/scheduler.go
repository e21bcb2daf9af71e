package lte

import (
	"farlink/emulator/link"
	"farlink/emulator/lte/radio"
)

// choose returns the bearer that gets the next free blocks of a TTI, nil when
// it is the background's turn. active is how many background UEs want some.
func (c *Cell) choose(w link.Way, tti int64, active int) *Bearer {
	switch c.cfg.Scheduler {
	case "proportional_fair":
		return c.best(w, tti, active, func(b *Bearer, rate float64) float64 {
			return rate * float64(b.ue.weight) / max(b.average, 1)
		})
	case "max_ci":
		return c.best(w, tti, active, func(_ *Bearer, rate float64) float64 { return rate })
	default:
		return c.next(w, active)
	}
}

// next is round robin: each ready UE has weight turns, each active background
// UE one.
func (c *Cell) next(w link.Way, active int) *Bearer {
	r := &c.ways[w]
	turns := active
	for _, u := range c.ues {
		turns += u.weight
	}
	for range turns {
		turn := r.turn % turns
		r.turn = turn + 1
		if b := c.owner(w, turn); b == nil || b.ready {
			return b
		}
	}
	return nil
}

// owner returns the bearer whose turn it is, nil for the background.
func (c *Cell) owner(w link.Way, turn int) *Bearer {
	for _, u := range c.ues {
		if turn < u.weight {
			return &u.bearers[w]
		}
		turn -= u.weight
	}
	return nil
}

// best returns the ready bearer with the highest metric, unless a background
// UE beats it.
func (c *Cell) best(w link.Way, tti int64, active int, metric func(*Bearer, float64) float64) *Bearer {
	var winner *Bearer
	top := -1.0
	for _, u := range c.ues {
		b := &u.bearers[w]
		if !b.ready {
			continue
		}
		if m := metric(b, float64(b.blockBits(tti, c.cfg.PRB))); m > top {
			winner, top = b, m
		}
	}
	if winner == nil || active == 0 {
		return winner
	}
	if c.cfg.Scheduler == "max_ci" {
		if c.load.bestBits(tti, c.cfg) > top {
			return nil
		}
		return winner
	}
	// Proportional fair among full buffers of like channels is a share of
	// time each (Kelly's fixed point), so the background as a whole is one
	// competitor whose average grows as it is served.
	if m := c.load.fairMetric(w, active, float64(winner.blockBits(tti, c.cfg.PRB))); m > top {
		c.load.serve(w, float64(winner.blockBits(tti, c.cfg.PRB)))
		return nil
	}
	c.load.serve(w, 0)
	return winner
}

// fairWindow is the averaging window of the proportional fair metric in TTIs.
const fairWindow = 100

// background is the load of UEs that are not plugged in.
type background struct {
	cfg     Background
	draw    link.Draw
	block   int64 // for which count and quality hold
	count   int
	quality int // best CQI among the active
	average [2]float64
}

func newBackground(cfg Background, draw link.Draw) background {
	return background{cfg: cfg, draw: draw, block: -1}
}

// at returns how many background UEs are active in a TTI.
func (g *background) at(tti int64) int {
	if g.cfg.UEs == 0 {
		return 0
	}
	block := tti / (int64(g.cfg.Burst) / ms)
	if block == g.block {
		return g.count
	}
	g.block, g.count, g.quality = block, 0, 0
	for i := range uint64(g.cfg.UEs) {
		n := uint64(block)*uint64(g.cfg.UEs) + i
		if g.draw.Chance(2*n, g.cfg.Activity) {
			g.count++
			// A CQI around 9 with a spread of 3, the middle of the table.
			g.quality = max(g.quality, min(15, max(1, int(9+3*g.draw.Normal(2*n+1)))))
		}
	}
	return g.count
}

func (g *background) bestBits(tti int64, cfg Config) float64 {
	if g.at(tti) == 0 {
		return 0
	}
	return float64(radio.TBS(radio.Index(link.Down, radio.MCS(g.quality)), cfg.PRB) * cfg.Layers)
}

// fairMetric is rate over average of the background UE that waits longest.
func (g *background) fairMetric(w link.Way, active int, rate float64) float64 {
	return rate * float64(active) / max(g.average[w], 1)
}

func (g *background) serve(w link.Way, bits float64) {
	g.average[w] += (bits - g.average[w]) / fairWindow
}
