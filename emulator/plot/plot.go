// Package plot draws series over time as figures: panels one above the other
// over one axis of time, as SVG. The same series give the same bytes, so that
// figures of documents can be made again and compared.
//
//	┌ title ───────────────────────┐
//	│ Rate, Mbit/s    ── delivered │  a panel per quantity
//	│ ▁▂▅▇▇▇▇▅▂▁                   │
//	│ Queue, kB         ── waiting │
//	│ ▁▁▁▂▅▇▅▂▁▁                   │
//	└ 0 ──── 10 ──── 20 ── time, s ┘
//
// Figures follow the reader's light or dark setting (prefers-color-scheme);
// programs that do not know it draw the light one. The colours are those of
// Okabe and Ito (2008), told apart with colour-blind eyes, and their light
// kin on dark ground.
//
// Nothing is drawn where a value is missing (NaN). A value holds for a step
// of time: value i from i·Step to (i+1)·Step.
package plot

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// Figure is panels over one axis of time.
type Figure struct {
	Title    string
	Subtitle string  // under the title: profile, seed
	Step     float64 // seconds that a value stands for
	Start    float64 // seconds at which value 0 begins
	Panels   []Panel
	Width    int // px; 0 is 760
}

// Panel is lines over one axis of values.
type Panel struct {
	Title string // "Rate"
	Unit  string // "Mbit/s"; may be empty
	Free  bool   // whether the axis may leave out zero
	Whole bool   // whether values are whole numbers: levels, indices
	Lines []Line
}

// Line is one series.
type Line struct {
	Name   string // in the legend; empty where the panel's title says it
	Style  Style
	Values []float64
}

// Style is how a series is drawn.
type Style uint8

// The styles.
const (
	Solid  Style = iota // from middle to middle of the steps
	Stairs              // holds its value for a step
	Dashed              // stairs, dashed, in the colour of text: a limit
	Area                // filled down to zero: what is offered
	Bars                // a bar for a value that is not zero: losses
)

// Sizes in px.
const (
	defaultWidth = 760
	leftMargin   = 60
	rightMargin  = 16
	topMargin    = 14
	titleHeight  = 20
	headHeight   = 20 // of a panel: its title and legend
	plotHeight   = 96
	panelGap     = 16
	bottomMargin = 40
)

// canvas is a figure being drawn.
type canvas struct {
	bytes.Buffer
	left, right float64 // of the plots, px
	from, to    float64 // of the time, s
	step        float64
	start       float64
}

// SVG draws the figure.
func (f Figure) SVG() []byte {
	if f.Width == 0 {
		f.Width = defaultWidth
	}
	c := &canvas{left: leftMargin, right: float64(f.Width - rightMargin), step: f.Step, start: f.Start, from: f.Start}
	c.to = c.from + f.Step*float64(max(f.length(), 1))
	top := float64(topMargin)
	for _, line := range []string{f.Title, f.Subtitle} {
		if line != "" {
			top += titleHeight
		}
	}
	height := top + float64(len(f.Panels)*(headHeight+plotHeight+panelGap)) - panelGap + bottomMargin
	c.open(f, height)
	for i, p := range f.Panels {
		c.panel(p, top+headHeight, i == len(f.Panels)-1)
		top += headHeight + plotHeight + panelGap
	}
	c.WriteString("</svg>\n")
	return c.Bytes()
}

// length is the number of values of the longest line.
func (f Figure) length() int {
	n := 0
	for _, p := range f.Panels {
		for _, l := range p.Lines {
			n = max(n, len(l.Values))
		}
	}
	return n
}

// open writes the head of the document: size, colours, title.
func (c *canvas) open(f Figure, height float64) {
	w, h := strconv.Itoa(f.Width), px(height)
	c.put(`<svg xmlns="http://www.w3.org/2000/svg" width="`, w, `" height="`, h, `" viewBox="0 0 `, w, ` `, h, `" role="img">`, "\n")
	c.put("<title>", escape(f.Title), "</title>\n", "<style>\n", style, "</style>\n")
	c.put(`<rect class="paper" width="`, w, `" height="`, h, `"/>`, "\n")
	y := float64(topMargin)
	for _, line := range []struct{ text, class string }{{f.Title, "title"}, {f.Subtitle, "dim"}} {
		if line.text != "" {
			c.text(c.left, y+12, line.class, "start", line.text)
			y += titleHeight
		}
	}
}

// style is the look of all figures.
const style = `text{font-family:Helvetica,Arial,"Liberation Sans",sans-serif;font-size:11px;fill:#1c1c1c}
.title{font-size:14px;font-weight:bold}.head{font-size:12px;font-weight:bold}.dim{fill:#666}
.paper{fill:#fff}.grid{stroke:#e6e6e6;fill:none}.axis{stroke:#8a8a8a;fill:none}
.line{fill:none;stroke-width:1.5;stroke-linejoin:round}.dash{stroke-dasharray:5 3;stroke:#333}.bars{fill:none}.area{stroke:none;fill-opacity:.22}
.s0{stroke:#0072b2}.s1{stroke:#d55e00}.s2{stroke:#009e73}.s3{stroke:#cc79a7}.s4{stroke:#8c6d00}.s5{stroke:#56b4e9}
.f0{fill:#0072b2}.f1{fill:#d55e00}.f2{fill:#009e73}.f3{fill:#cc79a7}.f4{fill:#8c6d00}.f5{fill:#56b4e9}
@media (prefers-color-scheme:dark){
text{fill:#e8e8e8}.dim{fill:#a0a0a0}.paper{fill:#16181c}.grid{stroke:#2c3037}.axis{stroke:#7d828a}.area{fill-opacity:.3}.dash{stroke:#ddd}
.s0{stroke:#5ab4f0}.s1{stroke:#ff9452}.s2{stroke:#3fd0a4}.s3{stroke:#e9a3cb}.s4{stroke:#e5c451}.s5{stroke:#a6d8f7}
.f0{fill:#5ab4f0}.f1{fill:#ff9452}.f2{fill:#3fd0a4}.f3{fill:#e9a3cb}.f4{fill:#e5c451}.f5{fill:#a6d8f7}
}
`

// colours is how many the style has.
const colours = 6

func (c *canvas) put(parts ...string) {
	for _, p := range parts {
		c.WriteString(p)
	}
}

// text writes text at a place; anchor is "start", "middle" or "end".
func (c *canvas) text(x, y float64, class, anchor, s string) {
	c.put(`<text x="`, px(x), `" y="`, px(y), `"`)
	if class != "" {
		c.put(` class="`, class, `"`)
	}
	if anchor != "start" {
		c.put(` text-anchor="`, anchor, `"`)
	}
	c.put(">", escape(s), "</text>\n")
}

// px writes a coordinate to a tenth of a pixel.
func px(x float64) string {
	x = math.Round(x*10) / 10
	if x == 0 {
		return "0" // never -0
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// escape makes text safe in XML: the five characters with a meaning, and those
// that XML cannot hold.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xFFFE || r == 0xFFFF {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s)
}
