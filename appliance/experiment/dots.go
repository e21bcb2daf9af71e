package experiment

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// Sizes of the drawing of estimates, px.
const (
	dotsWidth = 760
	dotsLeft  = 250
	dotsRight = 130 // for the value
	dotsRow   = 20
	dotsHead  = 30
)

// dots draws the estimates of the metrics: a dot for each setting and a bar
// for its interval, each metric from zero to its own greatest value. It uses
// the colours of the figures beside it.
func (o Outcome) dots(profile string, rows []row) string {
	var b strings.Builder
	y := 6
	for _, r := range rows {
		greatest := 0.0
		for _, c := range r.Cells {
			if c.Estimate != nil {
				greatest = max(greatest, c.Estimate.Mean+c.Estimate.Half)
			}
		}
		if greatest <= 0 {
			continue
		}
		fmt.Fprintf(&b, `<text class="head" x="0" y="%d">%s</text>`, y+16, html.EscapeString(title(r.Metric)))
		y += dotsHead - 8
		for i, c := range r.Cells {
			if c.Estimate != nil {
				dot(&b, o.Experiment.Settings[i].Name, i%6, y, greatest, c)
				y += dotsRow
			}
		}
		y += 8
	}
	if b.Len() == 0 {
		return ""
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img"><title>Means and 95 %% intervals, %s</title><rect class="paper" width="%d" height="%d"/>%s</svg>`,
		dotsWidth, y, dotsWidth, y, html.EscapeString(profile), dotsWidth, y, b.String())
}

func dot(b *strings.Builder, name string, colour, y int, greatest float64, c box) {
	middle := y + dotsRow/2
	at := func(v float64) string {
		x := dotsLeft + max(0, v)/greatest*(dotsWidth-dotsLeft-dotsRight)
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	e := c.Estimate
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, dotsLeft-12, middle+4, html.EscapeString(name))
	fmt.Fprintf(b, `<path class="grid" d="M%d %dH%d"/>`, dotsLeft, middle, dotsWidth-dotsRight)
	if e.Known() {
		fmt.Fprintf(b, `<path class="line s%d" style="stroke-width:5;stroke-opacity:.45" d="M%s %dH%s"/>`, colour, at(e.Mean-e.Half), middle, at(e.Mean+e.Half))
	}
	fmt.Fprintf(b, `<circle class="f%d" cx="%s" cy="%d" r="4.5"/>`, colour, at(e.Mean), middle)
	fmt.Fprintf(b, `<text x="%d" y="%d">%s%s</text>`, dotsWidth-dotsRight+12, middle+4, quantity(c.Metric, e.Mean), interval(c.Metric, *e))
}
