package leo

import (
	"fmt"

	"farlink/emulator/link"
)

// Check reports every problem of the table.
func (c Config) Check(report link.Report) {
	full := c.complete()
	numbers := []struct {
		path        string
		v           float64
		least, most float64
		unit        string
	}{
		{"altitude", full.Altitude, 300, 2000, " km"},
		{"elevation", full.Elevation, 10, 85, " degrees"},
		{"gateway", c.Gateway, 0, 1500, " km"},
		{"spread", full.Spread, 1, 4, ""},
		{"burst", c.Burst, 0, 1, ", a probability"},
		{"burst_loss_least", c.BurstLossLeast, 0, 1, ", a probability"},
		{"loss", c.Loss, 0, 1, ", a probability"},
	}
	for _, n := range numbers {
		if !(n.least <= n.v && n.v <= n.most) {
			report(n.path, fmt.Sprint(n.v), fmt.Sprintf("%v to %v%s", n.least, n.most, n.unit))
		}
	}
	if full.Period < link.Second || full.Period > 60*link.Second {
		report("period", c.Period.String(), "1s to 60s; 15s is Starlink's")
	}
	if full.Phase > full.Period && c.Phase != 0 {
		report("phase", c.Phase.String(), "at most the period, "+full.Period.String())
	}
	c.checkSpans(full, report)
}

func (c Config) checkSpans(full Config, report link.Report) {
	pairs := []struct {
		name        string
		least, most link.Duration
	}{
		{"ground", c.GroundLeast, c.GroundMost}, {"spike", c.SpikeLeast, c.SpikeMost}, {"burst", c.BurstLeast, c.BurstMost},
	}
	for _, p := range pairs {
		if p.least > p.most {
			report(p.name+"_most", p.most.String(), "at least "+p.name+"_least, "+p.least.String())
		}
		if p.most > 10*link.Second {
			report(p.name+"_most", p.most.String(), "at most 10s")
		}
	}
	spans := []struct {
		path string
		d    link.Duration
	}{{"lead", c.Lead}, {"tail", c.Tail}, {"gap", c.Gap}, {"burst_most", c.BurstMost}}
	for _, s := range spans {
		if s.d >= full.Period {
			report(s.path, s.d.String(), "less than the period, "+full.Period.String())
		}
	}
	if c.SpikeMost > 0 && c.Lead == 0 && c.Tail == 0 {
		report("lead", "0", "how long the spike stands after a change (140ms), or tail, before it")
	}
	if c.Burst > 0 && c.BurstMost == 0 {
		report("burst_most", "0", "how long a burst lasts (300ms)")
	}
}
