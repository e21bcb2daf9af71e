package raster

import (
	"image"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// fontOf says which face a text has.
type fontOf struct {
	bold bool
	size float64 // px of the figure
}

// faces are those used so far; a figure has three.
type faces map[fontOf]font.Face

// face returns the face of a text, made on first use.
func (p *painter) face(look map[string]string) (font.Face, error) {
	key := fontOf{look["font-weight"] == "bold", length(look["font-size"], 11)}
	if f, ok := p.faces[key]; ok {
		return f, nil
	}
	data := goregular.TTF
	if key.bold {
		data = gobold.TTF
	}
	parsed, err := opentype.Parse(data)
	if err != nil {
		return nil, err
	}
	// Hinting is for whole pixels; text of a figure stands anywhere.
	f, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: key.size * p.scale, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return nil, err
	}
	if p.faces == nil {
		p.faces = faces{}
	}
	p.faces[key] = f
	return f, nil
}

// write draws a text.
func (p *painter) write(e *element) error {
	c, ok := parsePaint(e.look["fill"], "")
	if !ok {
		return nil
	}
	face, err := p.face(e.look)
	if err != nil {
		return err
	}
	d := font.Drawer{Dst: p.image, Src: image.NewUniform(c), Face: face}
	at := point{e.number("x") * p.scale, e.number("y") * p.scale}
	if math.Abs(at.x) > most || math.Abs(at.y) > most {
		return nil
	}
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(at.x * 64), Y: fixed.Int26_6(at.y * 64)}
	switch e.attrs["text-anchor"] {
	case "end":
		d.Dot.X -= d.MeasureString(e.text)
	case "middle":
		d.Dot.X -= d.MeasureString(e.text) / 2
	}
	d.DrawString(e.text)
	return nil
}
