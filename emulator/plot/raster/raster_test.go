package raster

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"strings"
	"testing"
)

func decode(t *testing.T, svg []byte, scale float64, dark bool) image.Image {
	t.Helper()
	b, err := PNG(svg, scale, dark)
	if err != nil {
		t.Fatal(err)
	}
	if name := os.Getenv("KEEP_PNG"); name != "" {
		os.WriteFile(name, b, 0o600)
	}
	m, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// near reports whether two colours differ by at most 3 of 255 a part.
func near(a color.Color, want uint32) bool {
	r, g, b, _ := a.RGBA()
	for _, d := range []int{int(r>>8) - int(want>>16), int(g>>8) - int(want>>8&255), int(b>>8) - int(want&255)} {
		if d < -3 || d > 3 {
			return false
		}
	}
	return true
}

// TestExample draws plot's example: its colours stand where its lines are.
func TestExample(t *testing.T) {
	svg, err := os.ReadFile("../testdata/example.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dark          bool
		paper, bar    uint32
		offered, line uint32
	}{
		{false, 0xFFFFFF, 0x0072B2, 0xC7E0EE, 0x0072B2},
		{true, 0x16181C, 0x5AB4F0, 0x2A475B, 0x5AB4F0},
	} {
		m := decode(t, svg, 2, c.dark)
		if m.Bounds().Dx() != 1520 || m.Bounds().Dy() != 2*474 {
			t.Fatalf("%v, want 1520 by 948", m.Bounds())
		}
		for _, at := range []struct {
			what string
			x, y float64 // px of the figure
			want uint32
		}{
			{"the paper", 3, 3, c.paper},
			// Losses: 3 in the third step, whose middle is at 0.25 s of 0.8:
			// 60 + 684·0.3125 = 273.75; the panel ends 40 px above the end.
			{"the bar", 273.7, 430, c.bar},
			// Offered: 12 of 15 in the second step, above the line.
			{"the area", 160, 115, c.offered},
			// MODCOD 18 of 17..22 from 0.3 to 0.5 s: 282.75 px is a fifth of
			// 96 px above the panel's end at 302.
			{"the stairs", 380, 302 - 96.0/5, c.line},
		} {
			if got := m.At(int(at.x*2), int(at.y*2)); !near(got, at.want) {
				t.Errorf("dark %v: %s is %v, want %06X", c.dark, at.what, got, at.want)
			}
		}
		if dots := count(m, image.Rect(120, 24, 600, 60), c.paper); dots < 300 {
			t.Errorf("dark %v: %d pixels of the title", c.dark, dots)
		}
	}
}

// count counts pixels that differ from the paper.
func count(m image.Image, in image.Rectangle, paper uint32) int {
	n := 0
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			if !near(m.At(x, y), paper) {
				n++
			}
		}
	}
	return n
}

func TestSame(t *testing.T) {
	svg, err := os.ReadFile("../testdata/example.svg")
	if err != nil {
		t.Fatal(err)
	}
	a, err := PNG(svg, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := PNG(svg, 1, false); err != nil || !bytes.Equal(a, b) {
		t.Error("the same figure gave another picture")
	}
}

func TestFaults(t *testing.T) {
	svg := func(inside string) string { return `<svg width="10" height="10">` + inside + `</svg>` }
	for text, want := range map[string]string{
		"":                                   "no svg element",
		"<svg":                               "XML syntax error",
		`<svg width="0" height="9"></svg>`:   "want 1..16384 pixels",
		`<svg width="1e9" height="9"></svg>`: "want 1..16384 pixels",
		svg(`<path d="L1 1"/>`):              `path begins with 'L'`,
		svg(`<path d="M1"/>`):                `path command 'M' with 1 numbers`,
		svg(`<path d="Q1 1"/>`):              `path command 'Q' with 2 numbers`,
		svg(`<path d="M1 x"/>`):              `path coordinate "x"`,
		svg(`<path d="M1 99999999"/>`):       `path coordinate`,
	} {
		if _, err := PNG([]byte(text), 1, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, scale := range []float64{0, -1, 9, 0.1} {
		if _, err := PNG([]byte(svg("")), scale, false); err == nil {
			t.Errorf("scale %v was taken", scale)
		}
	}
}

// TestDashes: 20 px of "5 3": 0..5, 8..13, 16..20.
func TestDashes(t *testing.T) {
	got := dashes([]point{{0, 0}, {10, 0}, {20, 0}}, "5 3")
	want := [][2]float64{{0, 5}, {8, 13}, {16, 20}}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i, w := range want {
		if p := got[i]; p[0].x != w[0] || p[len(p)-1].x != w[1] {
			t.Errorf("dash %d is %v, want %v", i, p, w)
		}
	}
}

func FuzzPNG(f *testing.F) {
	f.Add([]byte(`<svg width="9" height="9"><style>.a{fill:#123;stroke:#fff}</style><path class="a" d="M1 1L5 5H3V2Zm1 1v-3"/><text x="1" y="1">a</text></svg>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4096 {
			t.Skip()
		}
		// A picture of 16384 pixels a side is allowed, but slow.
		PNG(bytes.ReplaceAll(b, []byte("<svg"), []byte(`<svg width="20" height="20" `)), 1, true)
	})
}
