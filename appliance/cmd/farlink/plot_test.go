package main

import (
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/tally"
)

// TestPlot: a figure of a run, from the series that sim wrote, from the same
// run by plot itself, and from a table, show the same panels.
func TestPlot(t *testing.T) {
	dir := t.TempDir()
	series, table := filepath.Join(dir, "run.json"), filepath.Join(dir, "run.csv")
	if _, err := call(t, "sim", "--profile", "geo/qirse-sat", "--load", "cbr-down=30Mbit/s", "--for", "5s", "--series", series); err != nil {
		t.Fatal(err)
	}
	err := os.WriteFile(table, []byte("t_s,down.offered_bps,down.delivered_bps,down.queue_bytes,down.one_way_ms,down.loss_packets\n0,1,,1,1,1\n0.1,1,2,1,1,1\n0.2,1,3,1,1,1\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"plot", series}, {"plot", table}, {"plot", "--profile", "geo/qirse-sat", "--load", "cbr-down=30Mbit/s", "--for", "5s"},
	} {
		svg, err := call(t, args...)
		if err != nil {
			t.Fatal(args, err)
		}
		for _, want := range []string{"<svg ", ">Rate, ", ">Queue, ", ">One-way delay, ms<", ">Lost packets, per step<", "</svg>"} {
			if !strings.Contains(svg, want) {
				t.Errorf("%v: no %s", args, want)
			}
		}
		if again, err := call(t, args...); err != nil || again != svg {
			t.Errorf("%v: another figure the second time (%v)", args, err)
		}
	}
	out := filepath.Join(dir, "x.svg")
	if text, err := call(t, "plot", series, "--show", "queue", "--title", "Queue of a flood", "--out", out); err != nil || text != "" {
		t.Errorf("%v, printed %q", err, text)
	}
	svg, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(svg), "Queue of a flood") || strings.Contains(string(svg), ">Rate") {
		t.Errorf("%v\n%s", err, svg)
	}
}

// TestPlotPNG: a picture of twice the figure's size.
func TestPlotPNG(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.png")
	if _, err := call(t, "plot", "--profile", "geo/qirse-sat", "--load", "ping", "--for", "5s", "--way", "up", "--show", "rate", "--dark", "--out", out); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if c, err := png.DecodeConfig(f); err != nil || c.Width != 1520 {
		t.Errorf("%v: %d wide, want 1520", err, c.Width)
	}
}

// TestPlotRecorded: a box's series, seconds and then tenths, becomes even: a
// rate holds through its second, a loss stands once.
func TestPlotRecorded(t *testing.T) {
	const series = `{"pair":"main","time_s":[100,101,102,102.1,102.2],"lateness_p99_us":[1,1,1,1,1],"lost":{},
		"down":{"offered_bps":[0,8,8,8,null],"lost_packets":[9,2,0,1,0]},"up":{"offered_bps":[0,0,0,0,0]}}`
	var s tally.Series
	if err := readSeriesJSON(&s, []byte(series)); err != nil {
		t.Fatal(err)
	}
	offered, lost := s.Column("down.offered_bps").Values, s.Column("down.loss_packets").Values
	if s.Step != 100*link.Millisecond || len(offered) != 22 || offered[0] != 8 || offered[20] != 8 || !math.IsNaN(float64(offered[21])) {
		t.Errorf("step %v, offered %v", s.Step, offered)
	}
	sum := tally.Value(0)
	for _, v := range lost {
		sum += v
	}
	if sum != 3 || lost[9] != 2 || lost[20] != 1 {
		t.Errorf("lost %v", lost)
	}
	for text, want := range map[string]string{
		`{"time_s":[1]}`:                                    "less than two samples",
		`{"time_s":[2,1]}`:                                  "time_s 1 after 2",
		`{"time_s":[0,0.01,1e6]}`:                           "steps of 0.01 s",
		`{"time_s":[0,1],"down":{"offered_bps":[1]}}`:       "down.offered_bps: 1 values, want 2",
		`{"time_s":[0,1],"down":{"offered_bps":["a","b"]}}`: "invalid syntax",
	} {
		if err := readSeriesJSON(&tally.Series{}, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestPlotStatus(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.csv", "t_s,down.offered_bps\n0,1\n1,1\n")
	for _, c := range []struct {
		want int
		args []string
	}{
		{0, []string{"plot", good}},
		{2, []string{"plot"}},
		{2, []string{"plot", good, good}},
		{2, []string{"plot", good, "--profile", "geo/qirse-sat"}},
		{2, []string{"plot", good, "--show", "beauty"}},
		{2, []string{"plot", good, "--width", "10"}},
		{2, []string{"plot", good, "--dark"}},
		{2, []string{"plot", good, "--out", filepath.Join(dir, "x.png"), "--scale", "100"}},
		{1, []string{"plot", good, "--out", filepath.Join(dir, "x.png"), "--width", "10000"}},
		{2, []string{"plot", "--profile", "geo/qirse-sat"}},
		{1, []string{"plot", filepath.Join(dir, "none")}},
		{1, []string{"plot", good, "--show", "queue"}},
		{1, []string{"plot", write("a.json", "{")}},
		{1, []string{"plot", write("b.json", "{}")}},
		{1, []string{"plot", write("c.csv", "time,x\n0,1\n1,1\n")}},
		{1, []string{"plot", write("d.csv", "t_s,x\n0,1\n1,y\n")}},
		{1, []string{"plot", write("e.csv", "t_s,x\n0,1\n1,1\n5,1\n")}},
		{1, []string{"plot", write("f.csv", "t_s,x\n0,1\n0,1\n")}},
		{1, []string{"plot", write("g.csv", "t_s,x\nx,1\n1,1\n")}},
		{1, []string{"plot", write("h.csv", "t_s,x\n0,1\n1\n")}},
	} {
		if got := quiet(t, c.args); got != c.want {
			t.Errorf("%v: status %d, want %d", c.args, got, c.want)
		}
	}
}

// TestFigures: every figure of docs/models.md is drawn by a line of
// scripts/figures, and every line is understood. Whether the bytes are those
// that are committed, make check sees.
func TestFigures(t *testing.T) {
	script, err := os.ReadFile("../../../scripts/figures")
	if err != nil {
		t.Fatal(err)
	}
	models, err := os.ReadFile("../../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^figure ([a-z0-9-]+) (.*)$`).FindAllStringSubmatch(string(script), -1) {
		drawn[m[1]] = true
		root, _ := command()
		c, args, err := root.Find(append([]string{"plot"}, strings.Fields(m[2])...))
		if err == nil {
			err = c.ParseFlags(args)
		}
		if err == nil {
			err = c.ValidateArgs(c.Flags().Args())
		}
		if err != nil {
			t.Errorf("figure %s: %v", m[1], err)
		}
		if !strings.Contains(string(models), "(figures/"+m[1]+".svg)") {
			t.Errorf("docs/models.md does not show figure %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`\(figures/([a-z0-9-]+)\.svg\)`).FindAllStringSubmatch(string(models), -1) {
		if _, err := os.Stat("../../../docs/figures/" + m[1] + ".svg"); err != nil || !drawn[m[1]] {
			t.Errorf("figure %s of docs/models.md: drawn by no line of scripts/figures (%v)", m[1], err)
		}
	}
}
