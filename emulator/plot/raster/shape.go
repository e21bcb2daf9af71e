package raster

import (
	"fmt"
	"image"
	"image/draw"
	"math"
	"strconv"
	"strings"

	"golang.org/x/image/vector"
)

type point struct{ x, y float64 }

// line is a run of straight lines.
type line struct {
	points []point
	closed bool
}

// parsePath reads the commands that plot writes: M, L, H, V, Z, m, v.
func parsePath(d string) ([]line, error) {
	var lines []line
	var at point
	for d = strings.TrimSpace(d); d != ""; {
		command := d[0]
		numbers, rest, err := numbersOf(d[1:])
		if err != nil {
			return nil, err
		}
		want := map[byte]int{'M': 2, 'L': 2, 'm': 2, 'H': 1, 'V': 1, 'v': 1}[command]
		if command != 'Z' && want == 0 || len(numbers) != want {
			return nil, fmt.Errorf("path command %q with %d numbers", command, len(numbers))
		}
		if (command == 'L' || command == 'H' || command == 'V' || command == 'v' || command == 'Z') && len(lines) == 0 {
			return nil, fmt.Errorf("path begins with %q", command)
		}
		switch command {
		case 'M', 'L':
			at = point{numbers[0], numbers[1]}
		case 'm':
			at = point{at.x + numbers[0], at.y + numbers[1]}
		case 'H':
			at.x = numbers[0]
		case 'V':
			at.y = numbers[0]
		case 'v':
			at.y += numbers[0]
		}
		switch command {
		case 'M', 'm':
			lines = append(lines, line{})
			fallthrough
		default:
			l := &lines[len(lines)-1]
			l.points = append(l.points, at)
		case 'Z':
			lines[len(lines)-1].closed = true
		}
		d = rest
	}
	return lines, nil
}

// numbersOf reads the numbers up to the next command.
func numbersOf(d string) (numbers []float64, rest string, err error) {
	end := strings.IndexAny(d, "MLHVZmv")
	if end < 0 {
		end = len(d)
	}
	text := strings.ReplaceAll(d[:end], "-", " -")
	for _, f := range strings.Fields(text) {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil || math.Abs(x) > most {
			return nil, "", fmt.Errorf("path coordinate %q", f)
		}
		numbers = append(numbers, x)
	}
	return numbers, d[end:], nil
}

// fill paints the inside of lines.
func (p *painter) fill(lines []line, look map[string]string) {
	c, ok := parsePaint(look["fill"], look["fill-opacity"])
	if !ok {
		return
	}
	var shapes [][]point
	for _, l := range lines {
		shapes = append(shapes, l.points)
	}
	p.paint(shapes, c)
}

// stroke paints lines with a pen: a bar a piece, and a disc where two meet.
func (p *painter) stroke(lines []line, look map[string]string) {
	c, ok := parsePaint(look["stroke"], "")
	if !ok {
		return
	}
	half := length(look["stroke-width"], 1) / 2
	var shapes [][]point
	for _, l := range lines {
		if l.closed {
			l.points = append(l.points[:len(l.points):len(l.points)], l.points[0])
		}
		for _, piece := range dashes(l.points, look["stroke-dasharray"]) {
			for i := 1; i < len(piece); i++ {
				shapes = append(shapes, bar(piece[i-1], piece[i], half))
				if i > 1 && half > 0.5 {
					shapes = append(shapes, disc(piece[i-1], half))
				}
			}
		}
	}
	p.paint(shapes, c)
}

// bar is the outline of a straight line of a pen.
func bar(a, b point, half float64) []point {
	dx, dy := b.x-a.x, b.y-a.y
	n := math.Hypot(dx, dy)
	if n == 0 {
		return nil
	}
	dx, dy = dx/n*half, dy/n*half
	return []point{{a.x - dy, a.y + dx}, {b.x - dy, b.y + dx}, {b.x + dy, b.y - dx}, {a.x + dy, a.y - dx}}
}

// disc is a circle, as an octagon: a pen's is hardly wider than a pixel.
func disc(c point, r float64) []point {
	out := make([]point, 8)
	for i := range out {
		// Turning as bar does, so that the two add up.
		s, k := math.Sincos(-float64(i) * math.Pi / 4)
		out[i] = point{c.x + r*k, c.y + r*s}
	}
	return out
}

// dashes cuts a line into the pieces that a pattern "5 3" leaves of it.
func dashes(points []point, pattern string) [][]point {
	f := strings.Fields(pattern)
	if len(f) != 2 {
		return [][]point{points}
	}
	lengths := [2]float64{length(f[0], 5), length(f[1], 3)}
	if lengths[0]+lengths[1] < 0.5 {
		return [][]point{points}
	}
	var out [][]point
	drawn, left := 0, lengths[0] // even: a dash, odd: a gap
	piece := points[:1:1]
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		whole := math.Hypot(b.x-a.x, b.y-a.y)
		for done := 0.0; done < whole; {
			step := math.Min(left, whole-done)
			done += step
			left -= step
			at := point{a.x + (b.x-a.x)*done/whole, a.y + (b.y-a.y)*done/whole}
			piece = append(piece, at)
			if left > 0 {
				continue
			}
			if drawn%2 == 0 {
				out = append(out, piece)
			}
			drawn++
			left, piece = lengths[drawn%2], []point{at}
		}
	}
	if drawn%2 == 0 && len(piece) > 1 {
		out = append(out, piece)
	}
	return out
}

// paint covers the union of shapes, which turn the same way, with a colour.
func (p *painter) paint(shapes [][]point, c paint) {
	box := image.Rectangle{}
	for _, s := range shapes {
		for _, q := range s {
			x, y := int(math.Floor(q.x*p.scale)), int(math.Floor(q.y*p.scale))
			box = box.Union(image.Rect(x-1, y-1, x+2, y+2))
		}
	}
	box = box.Intersect(p.image.Bounds())
	if box.Empty() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	for _, s := range shapes {
		for i, q := range s {
			x, y := float32(q.x*p.scale-float64(box.Min.X)), float32(q.y*p.scale-float64(box.Min.Y))
			if i == 0 {
				r.MoveTo(x, y)
			} else {
				r.LineTo(x, y)
			}
		}
		r.ClosePath()
	}
	mask := image.NewAlpha(image.Rect(0, 0, box.Dx(), box.Dy()))
	r.DrawOp = draw.Src
	r.Draw(mask, mask.Bounds(), image.Opaque, image.Point{})
	p.over(box, mask, c)
}
