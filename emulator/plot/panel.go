package plot

import (
	"math"
	"strconv"
	"strings"
)

// panel draws a panel of which the plot begins at top.
func (c *canvas) panel(p Panel, top float64, last bool) {
	bottom := top + plotHeight
	y := p.values(top, bottom)
	c.put("<g>\n")
	c.axes(y, top, bottom, last)
	for i, l := range p.Lines {
		c.line(l, i%colours, y)
	}
	c.head(p, top-7)
	c.put("</g>\n")
}

// head writes a panel's title and a legend of the lines that have a name.
func (c *canvas) head(p Panel, y float64) {
	title := p.Title
	if p.Unit != "" {
		title += ", " + p.Unit
	}
	c.text(c.left, y, "head", "start", title)
	x := c.right
	for _, l := range p.Lines {
		if l.Name != "" {
			x -= keyWidth + width(l.Name) + legendGap
		}
	}
	for i, l := range p.Lines {
		if l.Name == "" {
			continue
		}
		x += legendGap
		c.key(l.Style, i%colours, x, x+keyWidth-6, y-4)
		c.text(x+keyWidth, y, "", "start", l.Name)
		x += keyWidth + width(l.Name)
	}
}

// Sizes of a legend, px.
const (
	keyWidth  = 24
	legendGap = 14
)

// width is about how wide a text of 11 px is in Helvetica.
func width(s string) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("ijl|'", r):
			w += 2.5
		case strings.ContainsRune(" .,:;/\\ftI!-()[]r", r):
			w += 3.4
		case strings.ContainsRune("mM", r):
			w += 9.2
		case r >= 'A' && r <= 'Z' || r == 'w':
			w += 7.6
		default:
			w += 6.1
		}
	}
	return w
}

// key draws the sign of a line in the legend.
func (c *canvas) key(s Style, colour int, from, to, y float64) {
	n := strconv.Itoa(colour)
	switch s {
	case Area:
		c.put(`<rect class="area f`, n, `" x="`, px(from), `" y="`, px(y-4), `" width="`, px(to-from), `" height="8"/>`, "\n")
	case Bars:
		c.put(`<path class="bars s`, n, `" stroke-width="3" d="M`, px(from+4), " ", px(y+4), "v-8m5 8v-5m5 5v-8", "\"/>\n")
	default:
		c.put(`<path class="`, class(s, n), `" d="M`, px(from), " ", px(y), "H", px(to), "\"/>\n")
	}
}

// class is the class of a line of that colour.
func class(s Style, colour string) string {
	if s == Dashed {
		return "line dash"
	}
	return "line s" + colour
}

// line draws a series.
func (c *canvas) line(l Line, colour int, y scale) {
	n := strconv.Itoa(colour)
	pen := pen{canvas: c, y: y, t: c.time()}
	switch l.Style {
	case Area:
		c.put(`<path class="area f`, n, `" d="`)
		pen.stairs(l.Values, true)
	case Bars:
		width := max(1.2, min(c.step*pen.t.px*0.8, 12))
		c.put(`<path class="bars s`, n, `" stroke-width="`, px(width), `" d="`)
		pen.bars(l.Values)
	case Stairs, Dashed:
		c.put(`<path class="`, class(l.Style, n), `" d="`)
		pen.stairs(l.Values, false)
	default:
		c.put(`<path class="line s`, n, `" d="`)
		pen.solid(l.Values)
	}
	c.put("\"/>\n")
}

// pen draws the path of a series.
type pen struct {
	*canvas
	y, t scale
	down bool
	last string // the last place
}

// to goes to a place: draws a line if the pen is down, else begins one there.
func (p *pen) to(x, y float64) {
	at := px(x) + " " + px(y)
	switch {
	case !p.down:
		p.put("M", at)
	case at != p.last:
		p.put("L", at)
	}
	p.down, p.last = true, at
}

// column is what values fall into one pixel of the time axis: drawing their
// first, least, greatest and last keeps every peak.
type column struct {
	x                      float64
	first, low, high, last float64
	ok                     bool
}

// columns calls yield for each pixel, or each value where there are fewer, in
// order; ok is false where all is missing.
func (p *pen) columns(values []float64, yield func(c column)) {
	var c column
	open := false
	flush := func() {
		if open {
			yield(c)
		}
		open = false
	}
	for i, v := range values {
		x := p.t.at(p.start + p.step*(float64(i)+0.5))
		if !open || math.Floor(x) != math.Floor(c.x) {
			flush()
			c, open = column{x: x}, true
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if !c.ok {
			c.ok, c.first, c.low, c.high = true, v, v, v
		}
		c.low, c.high, c.last = min(c.low, v), max(c.high, v), v
	}
	flush()
}

func (p *pen) solid(values []float64) {
	p.columns(values, func(c column) {
		if !c.ok {
			p.down = false
			return
		}
		p.to(c.x, p.y.at(c.first))
		if c.low != c.high {
			p.to(c.x, p.y.at(c.low))
			p.to(c.x, p.y.at(c.high))
			p.to(c.x, p.y.at(c.last))
		}
	})
}

// stairs draws values that hold for a step; filled, down to zero.
func (p *pen) stairs(values []float64, fill bool) {
	half := p.step * p.t.px / 2
	zero := p.y.at(max(0, p.y.from))
	end := func(x float64) {
		if p.down && fill {
			p.to(x, zero)
			p.put("Z")
		}
		p.down = false
	}
	var edge float64
	p.columns(values, func(c column) {
		if !c.ok {
			end(edge)
			return
		}
		left := max(c.x-half, p.left)
		if !p.down && fill {
			p.to(left, zero)
		}
		p.to(left, p.y.at(c.first))
		if c.low != c.high {
			p.to(c.x, p.y.at(c.low))
			p.to(c.x, p.y.at(c.high))
		}
		edge = min(c.x+half, p.right)
		p.to(edge, p.y.at(c.last))
	})
	end(edge)
}

func (p *pen) bars(values []float64) {
	p.columns(values, func(c column) {
		if c.ok && c.high != 0 {
			p.put("M", px(c.x), " ", px(p.y.at(0)), "V", px(p.y.at(c.high)))
		}
	})
}
