package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata anew")

// example has a line of each style, a gap and two scales.
func example() Figure {
	nan := math.NaN()
	return Figure{
		Title: "geo/example", Subtitle: "profile geo/example@1a2b3c4, seed 7", Step: 0.1,
		Panels: []Panel{
			{Title: "Rate", Unit: "Mbit/s", Lines: []Line{
				{Name: "offered", Style: Area, Values: []float64{0, 12, 12, 12, nan, 4, 4, 0}},
				{Name: "delivered", Values: []float64{0, 5, 10, 10, 10, 10, 4, nan}},
				{Name: "link", Style: Dashed, Values: []float64{10, 10, 10, 10, 10, 10, 10, 10}},
			}},
			{Title: "MODCOD", Unit: "number", Free: true, Whole: true, Lines: []Line{{Style: Stairs, Values: []float64{21, 21, 20, 18, 18, 19, 20, 21}}}},
			{Title: "Lost packets", Unit: "per step", Lines: []Line{{Style: Bars, Values: []float64{0, 0, 3, 0, 1, 0, 0, 0}}}},
		},
	}
}

// TestGolden: the figure is the one that was looked at, byte for byte. -update
// writes it anew; then look at it.
func TestGolden(t *testing.T) {
	const name = "testdata/example.svg"
	got := example().SVG()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the figure has changed: go test -update, and look at %s", name)
	}
}

// wellFormed checks that a document is XML of which every number is one.
func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "e+", "e-"} {
		for _, path := range regexp.MustCompile(`(d|x|y|width|height)="[^"]*"`).FindAllString(string(svg), -1) {
			if strings.Contains(path, bad) {
				t.Fatalf("%s in %s", bad, path)
			}
		}
	}
}

func TestEdges(t *testing.T) {
	for name, f := range map[string]Figure{
		"nothing":       {},
		"empty panel":   {Step: 1, Panels: []Panel{{Title: "x"}}},
		"all missing":   {Step: 1, Panels: []Panel{{Lines: []Line{{Values: []float64{math.NaN(), math.Inf(1)}}}}}},
		"one value":     {Step: 1, Panels: []Panel{{Lines: []Line{{Values: []float64{5}}}}}},
		"negative":      {Step: 1, Panels: []Panel{{Free: true, Lines: []Line{{Values: []float64{-5, -5}}}}}},
		"tiny and huge": {Step: 1e-9, Panels: []Panel{{Lines: []Line{{Values: []float64{1e-12, 1e12}}}}}},
		"constant":      {Step: 1, Panels: []Panel{{Free: true, Whole: true, Lines: []Line{{Style: Stairs, Values: []float64{14, 14}}}}}},
		"markup":        {Title: `<a & "b" 'c'>` + "\x00\xff", Step: 1, Panels: []Panel{{Title: "<", Lines: []Line{{Name: ">"}, {Name: "&"}}}}},
	} {
		t.Run(name, func(t *testing.T) { wellFormed(t, f.SVG()) })
	}
}

// TestPeaks: of more values than pixels none that stands out is lost.
func TestPeaks(t *testing.T) {
	values := make([]float64, 100_000)
	values[54321] = 1000
	for _, style := range []Style{Solid, Stairs, Area, Bars} {
		f := Figure{Step: 0.1, Panels: []Panel{{Lines: []Line{{Style: style, Values: values}}}}}
		svg := f.SVG()
		wellFormed(t, svg)
		y := px(topMargin + headHeight) // 1000 is the top of the axis
		if len(svg) > 40_000 || !regexp.MustCompile(`[ V]`+y+`[LVM"Z]`).Match(svg[bytes.LastIndex(svg, []byte(` d="`)):]) {
			t.Errorf("style %d: %d bytes, the peak at %s is missing", style, len(svg), y)
		}
	}
}

// TestGap: a missing value interrupts a line.
func TestGap(t *testing.T) {
	f := Figure{Step: 1, Panels: []Panel{{Lines: []Line{{Values: []float64{1, 1, math.NaN(), 1, 1}}}}}}
	path := regexp.MustCompile(`class="line s0" d="([^"]*)"`).FindSubmatch(f.SVG())
	if path == nil || bytes.Count(path[1], []byte("M")) != 2 {
		t.Errorf("path %s, want two pieces", path)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 8, "0 2 4 6 8"},
		{0, 9.2, "0 5 10"},
		{0, 0.3, "0.0 0.1 0.2 0.3"},
		{0, 1204, "0 500 1000 1500"},
		{-3, 5, "-4 -2 0 2 4 6"},
		{0, 1e-5, "0.000000 0.000005 0.000010"},
	} {
		p := Panel{Lines: []Line{{Values: []float64{c.low, c.high}}}}
		var got []string
		p.values(0, 100).ticks(func(_ float64, label string) { got = append(got, label) })
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v..%v: ticks %v, want %s", c.low, c.high, got, c.want)
		}
	}
}

func FuzzSVG(f *testing.F) {
	f.Add("t", "l", 0.1, 1.0, math.NaN(), -3.0, uint8(0), true, false)
	f.Add("<", "&", 1e300, 1e308, -1e308, 0.0, uint8(4), false, true)
	f.Fuzz(func(t *testing.T, title, name string, step, a, b, c float64, style uint8, free, whole bool) {
		if !(step > 1e-9 && step < 1e9) || math.Abs(a) > 1e15 || math.Abs(b) > 1e15 || math.Abs(c) > 1e15 {
			t.Skip()
		}
		wellFormed(t, Figure{Title: title, Step: step, Panels: []Panel{
			{Title: title, Free: free, Whole: whole, Lines: []Line{{Name: name, Style: Style(style % 5), Values: []float64{a, b, c}}, {Values: []float64{c}}}},
		}}.SVG())
	})
}

// TestFineAxis: an axis finer than a float64 ends.
func TestFineAxis(t *testing.T) {
	v := 1e18
	wellFormed(t, Figure{Step: 1, Panels: []Panel{{Free: true, Lines: []Line{{Values: []float64{v, v + 128}}}}}}.SVG())
}
