// Package raster draws the figures of package plot as PNG, for where SVG is
// not shown. It understands what plot writes and no more: rectangles, paths of
// straight lines, text, and a style of classes, light and dark.
//
//	SVG ──▶ elements and style ──▶ shapes ──▶ coverage ──▶ PNG
package raster

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
	"strconv"
	"strings"
)

// most is how many pixels a side may have.
const most = 16384

// PNG draws a figure of package plot: scale pixels for each of the figure's,
// 0.25 to 8, with its light or its dark colours.
func PNG(svg []byte, scale float64, dark bool) ([]byte, error) {
	if !(scale >= 0.25 && scale <= 8) {
		return nil, fmt.Errorf("scale %g: want 0.25..8", scale)
	}
	p := &painter{scale: scale, dark: dark}
	if err := p.read(svg); err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	if p.image == nil {
		return nil, errors.New("figure: no svg element")
	}
	var out bytes.Buffer
	err := png.Encode(&out, p.image)
	return out.Bytes(), err
}

// painter draws elements as they are read.
type painter struct {
	scale float64
	dark  bool
	style sheet
	image *image.RGBA
	faces faces
}

// element is an element of the figure with its look.
type element struct {
	name  string
	attrs map[string]string
	text  string
	look  map[string]string
}

// read goes through the document.
func (p *painter) read(svg []byte) error {
	d := xml.NewDecoder(bytes.NewReader(svg))
	var open *element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			open = &element{name: t.Name.Local, attrs: map[string]string{}}
			for _, a := range t.Attr {
				open.attrs[a.Name.Local] = a.Value
			}
			if open.name == "svg" {
				err = p.paper(open)
			}
		case xml.CharData:
			if open != nil {
				open.text += string(t)
			}
		case xml.EndElement:
			if open != nil && open.name == t.Name.Local {
				err = p.draw(open)
			}
			open = nil
		}
		if err != nil {
			return err
		}
	}
}

// paper makes the image.
func (p *painter) paper(e *element) error {
	w, h := e.number("width")*p.scale, e.number("height")*p.scale
	if !(w >= 1 && w <= most && h >= 1 && h <= most) {
		return fmt.Errorf("%s by %s px at scale %g: want 1..%d pixels a side", e.attrs["width"], e.attrs["height"], p.scale, most)
	}
	p.image = image.NewRGBA(image.Rect(0, 0, int(w+0.5), int(h+0.5)))
	return nil
}

// number reads an attribute; 0 if it is none.
func (e *element) number(name string) float64 {
	x, err := strconv.ParseFloat(e.attrs[name], 64)
	if err != nil {
		return 0
	}
	return x
}

// draw draws an element.
func (p *painter) draw(e *element) error {
	if e.name == "style" {
		p.style = parseStyle(e.text, p.dark)
		return nil
	}
	if p.image == nil {
		return nil
	}
	e.look = p.style.of(e.name, strings.Fields(e.attrs["class"]))
	switch e.name {
	case "rect":
		x, y, w, h := e.number("x"), e.number("y"), e.number("width"), e.number("height")
		p.fill([]line{{points: []point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}}}, e.look)
	case "path":
		lines, err := parsePath(e.attrs["d"])
		if err != nil {
			return err
		}
		if w, ok := e.attrs["stroke-width"]; ok {
			e.look["stroke-width"] = w
		}
		p.fill(lines, e.look)
		p.stroke(lines, e.look)
	case "text":
		return p.write(e)
	}
	return nil
}

// over paints coverage in a colour onto the image.
func (p *painter) over(at image.Rectangle, mask *image.Alpha, c paint) {
	draw.DrawMask(p.image, at, image.NewUniform(c), image.Point{}, mask, image.Point{}, draw.Over)
}
