package nr

import (
	"fmt"
	"strings"

	"farlink/emulator/link"
)

// Check reports every problem of the table.
func (c Config) Check(report link.Report) {
	inRange(report, "numerology", float64(c.Numerology), 0, 3)
	inRange(report, "prb", float64(c.PRB), 1, 275)
	inRange(report, "special_down", float64(c.SpecialDown), 0, symbols)
	inRange(report, "special_up", float64(c.SpecialUp), 0, symbols-float64(c.SpecialDown))
	inRange(report, "share", c.Share, 0, 1)
	if strings.Trim(strings.ToUpper(c.Pattern), "DSU") != "" || len(c.Pattern) > 40 {
		report("pattern", c.Pattern, `slots D, S and U, at most 40: "DDDSU", or none for FDD`)
	} else if c.Numerology >= 0 && c.Numerology <= 3 {
		c.checkPattern(report)
	}
	c.Down.check(report.Under("down"))
	c.Up.check(report.Under("up"))
	for _, v := range []struct {
		path string
		d    link.Duration
	}{{"processing", c.Processing}, {"harq_round", c.HARQRound}, {"rlc_round", c.RLCRound}, {"request", c.Request}, {"grant", c.Grant}} {
		if v.d > link.Second {
			report(v.path, v.d.String(), "at most 1s")
		}
	}
	if c.HandoverEvery > 0 && c.Interruption >= c.HandoverEvery {
		report("interruption", c.Interruption.String(), "less than handover_every, "+c.HandoverEvery.String())
	}
	if c.HandoverEvery == 0 && c.Interruption > 0 {
		report("interruption", c.Interruption.String(), "handover_every beside it: how often")
	}
}

// checkPattern reports a way that gets no symbol.
func (c Config) checkPattern(report link.Report) {
	for _, w := range link.Ways {
		n := 0
		for _, s := range c.complete().roles(w) {
			n += s
		}
		if n == 0 {
			report("pattern", c.Pattern, "a slot for the way "+w.String())
		}
	}
}

func (r Radio) check(report link.Report) {
	if r.Layers != 0 {
		inRange(report, "layers", float64(r.Layers), 1, 8)
	}
	if r.Table != "" && r.Table != "64qam" && r.Table != "256qam" {
		report("table", r.Table, `"64qam" or "256qam"`)
	}
	inRange(report, "sinr", r.SINR, -10, 50)
	inRange(report, "shadowing", r.Shadowing, 0, 15)
	inRange(report, "bler", r.BLER, 0, 0.5)
	inRange(report, "overhead", r.Overhead, 0, 0.5)
	if _, index := r.best(r.SINR); index == 0 && r.SINR >= -10 {
		report("sinr", fmt.Sprint(r.SINR), "at least -6.7: below it no CQI fits")
	}
}

func inRange(report link.Report, path string, v, least, most float64) {
	if !(least <= v && v <= most) {
		report(path, fmt.Sprint(v), fmt.Sprintf("%v to %v", least, most))
	}
}
