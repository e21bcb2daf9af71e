// Package preview shows what a profile does before it is applied: a bulk
// transfer each way and a ping, in virtual time, as a figure.
package preview

import (
	"fmt"

	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/emulator/plot"
	"farlink/emulator/sim"
	"farlink/emulator/sim/load"
	"farlink/profiles"
)

// Bounds of a run: 300,000 frames take about a second of one core.
const (
	// Most is how long a run may be, in virtual time.
	Most     = 300 * link.Second
	frames   = 300_000
	perFrame = 12_000 // bits of a full one
	usual    = 100 * link.MegabitPerSecond
)

// Draw runs a profile in virtual time and draws the run as SVG. A fast link is
// run for less than the length.
func Draw(p *profiles.Profile, seed uint64, length link.Duration) ([]byte, error) {
	e, err := emulator.New(emulator.Spec{Links: []emulator.LinkSpec{{Name: "main", Seed: seed, Profile: p}}})
	if err != nil {
		return nil, err
	}
	// A transfer over a link without limit would be without limit too.
	down, up := "tcp-down", "tcp-up"
	rate := link.Rate(0)
	for _, w := range []struct {
		load *string
		link.Rate
	}{{&down, max(p.Expect.Down, p.Down.Queue.Rate)}, {&up, max(p.Expect.Up, p.Up.Queue.Rate)}} {
		if w.Rate == 0 || w.Rate > link.GigabitPerSecond || p.RTT() < link.Millisecond {
			w.Rate = min(usual, max(w.Rate, usual/10))
			*w.load = fmt.Sprintf("cbr%s=%s", (*w.load)[len("tcp"):], w.Rate)
		}
		rate += w.Rate
	}
	count := int64(rate) / perFrame * int64(length/link.Millisecond) / 1000
	if count > frames {
		length = max(link.Second, link.Duration(int64(length)/(count/frames+1)))
	}
	var senders []sim.Sender
	for _, text := range []string{down, up, "ping"} {
		sender, err := load.Parse(text, seed)
		if err != nil {
			return nil, err
		}
		senders = append(senders, sender)
	}
	r, err := sim.Run(sim.Config{Emulator: e, Senders: senders, Until: link.Time(length), Step: max(length/300, 10*link.Millisecond), Series: true})
	if err != nil {
		return nil, err
	}
	var columns []plot.Column
	for _, c := range r.Series.Columns {
		values := make([]float64, len(c.Values))
		for i, v := range c.Values {
			values[i] = float64(v)
		}
		columns = append(columns, plot.Column{Name: c.Name, Values: values})
	}
	return plot.Figure{Title: p.Name, Subtitle: fmt.Sprintf("%s, seed %d, load %s, %s, ping", p.ShortHash(), seed, down, up),
		Step: r.Series.Step.Seconds(), Panels: plot.Choose(columns, plot.Choice{})}.SVG(), nil
}
