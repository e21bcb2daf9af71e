package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"farlink/appliance/output"
	"farlink/emulator/link"
	"farlink/emulator/plot"
	"farlink/emulator/plot/raster"
	"farlink/emulator/sim"
	"farlink/emulator/tally"
	"farlink/profiles"
)

func plotCommand() *cobra.Command {
	d := drawing{simulation: simulation{length: durationFlag(60 * link.Second)}}
	c := &cobra.Command{
		Use: "plot [SERIES]", Short: "Draw a run over time: rate, queue, delay, loss, modulation and coding, grants",
		Long: `plot draws a run as an SVG figure, which follows the reader's light or dark
setting, or as a PNG. The run is a series that farlink sim --series wrote
(JSON), one of a running box (GET /api/v1/series), a table (CSV: t_s, then a
column a figure, named as in the JSON), or one that plot runs itself, with
--profile and --load as for farlink sim. The same run gives the same figure,
byte for byte.`,
		Example: `  farlink plot --profile geo/fade-shallow --load greedy-down --for 120s --out fade.svg
  farlink sim --profile seed/000-skt --load tcp-down --series run.json
  farlink plot run.json --show rate,queue,window --out run.svg
  curl -H "Authorization: Bearer $TOKEN" "$BOX/api/v1/series?window=5m" | farlink plot - --out box.svg`,
		Args: d.understand,
		RunE: func(c *cobra.Command, args []string) error { return d.run(c, args) },
	}
	d.simulation.source.flags(c)
	f := c.Flags()
	f.StringSliceVar(&d.simulation.loads, "load", nil, "senders to run, such as ping,tcp-down")
	f.Var(&d.simulation.length, "for", "how long the senders run")
	f.StringVar(&d.out, "out", "-", `figure to write: FILE.svg, FILE.png, or "-" for an SVG on standard output`)
	f.StringVar(&d.title, "title", "", "title of the figure")
	f.StringSliceVar(&d.ways, "way", nil, "ways to show (default: each that carries packets)")
	f.StringSliceVar(&d.show, "show", nil, "what to show: "+strings.Join(plot.Names(), ", ")+" (default: all there is)")
	f.IntVar(&d.width, "width", 0, "width in px (default 760)")
	f.BoolVar(&d.dark, "dark", false, "PNG: on dark ground")
	f.Float64Var(&d.scale, "scale", 2, "PNG: pixels for each px, 0.25 to 8")
	return c
}

// drawing is what plot was asked for.
type drawing struct {
	simulation simulation
	out, title string
	ways, show []string
	width      int
	dark       bool
	scale      float64
}

// understand checks arguments and flags before anything is done.
func (d *drawing) understand(c *cobra.Command, args []string) error {
	if err := cobra.MaximumNArgs(1)(c, args); err != nil {
		return err
	}
	for _, s := range d.show {
		if !contains(plot.Names(), s) {
			return fmt.Errorf("--show %q: want some of %s", s, strings.Join(plot.Names(), ", "))
		}
	}
	if d.width != 0 && (d.width < 300 || d.width > 10000) {
		return fmt.Errorf("--width %d: want 300..10000", d.width)
	}
	if end := filepath.Ext(d.out); d.out != "-" && end != ".svg" && end != ".png" {
		return fmt.Errorf("--out %s: want FILE.svg, FILE.png or - (an SVG on standard output)", d.out)
	}
	if png := strings.HasSuffix(d.out, ".png"); !png && (d.dark || c.Flags().Changed("scale")) {
		return errors.New("--dark and --scale: want them with a PNG, --out FILE.png; an SVG has both grounds and any size")
	}
	if !(d.scale >= 0.25 && d.scale <= 8) {
		return fmt.Errorf("--scale %g: want 0.25..8", d.scale)
	}
	switch {
	case len(args) == 1 && (d.simulation.source.profile != "" || len(d.simulation.loads) > 0):
		return errors.New("a series and --profile or --load: want one of them")
	case len(args) == 0 && (d.simulation.source.profile == "" || len(d.simulation.loads) == 0):
		return errors.New("nothing to draw: want a series, or --profile and --load")
	case len(args) == 1 && strings.HasSuffix(args[0], ".toml"):
		return fmt.Errorf("%s: want a series; a profile is drawn with --profile %s and --load", args[0], args[0])
	case len(args) == 1:
		return nil
	}
	return d.simulation.understand(c)
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

func (d *drawing) run(c *cobra.Command, args []string) error {
	if err := output.Apart([]string{d.out}, append(args, d.simulation.source.profile)); err != nil {
		return err
	}
	f := plot.Figure{Title: d.title, Width: d.width}
	var s *tally.Series
	var err error
	if len(args) == 1 {
		s, err = readSeries(c.InOrStdin(), args[0])
	} else {
		s, err = d.simulate(c, &f)
	}
	if err != nil {
		return err
	}
	f.Step = s.Step.Seconds()
	f.Panels = plot.Choose(columns(s), plot.Choice{Ways: d.ways, Show: d.show})
	if len(f.Panels) == 0 {
		return errors.New("nothing to draw: the series has no such figures")
	}
	picture := f.SVG()
	if strings.HasSuffix(d.out, ".png") {
		if picture, err = raster.PNG(picture, d.scale, d.dark); err != nil {
			return err
		}
	}
	return output.Write(c.OutOrStdout(), d.out, func(w io.Writer) error {
		_, err := w.Write(picture)
		return err
	})
}

// simulate runs what is to be drawn.
func (d *drawing) simulate(c *cobra.Command, f *plot.Figure) (*tally.Series, error) {
	s := &d.simulation
	profile, err := s.source.load(c.InOrStdin())
	if err != nil {
		return nil, err
	}
	e, err := emulate(profile, s.source.seed)
	if err != nil {
		return nil, err
	}
	if f.Title == "" {
		f.Title = profile.Name
	}
	f.Subtitle = fmt.Sprintf("profile %v, seed %d, load %s", profile, s.source.seed, strings.Join(s.loads, ", "))
	r, err := sim.Run(sim.Config{Emulator: e, Senders: s.senders, Until: link.Time(s.length), Series: true})
	if err != nil {
		return nil, err
	}
	return r.Series, nil
}

// columns returns the columns of a series as plot takes them.
func columns(s *tally.Series) []plot.Column {
	out := make([]plot.Column, len(s.Columns))
	for i, c := range s.Columns {
		out[i] = plot.Column{Name: c.Name, Values: make([]float64, len(c.Values))}
		for k, v := range c.Values {
			out[i].Values[k] = float64(v)
		}
	}
	return out
}

// seriesMost is how large a series may be: 256 MB.
const seriesMost = 256 << 20

// readSeries reads a series as JSON or CSV, told apart by the first byte.
func readSeries(stdin io.Reader, name string) (*tally.Series, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, noSeries(name)
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, seriesMost+1))
	if err != nil {
		return nil, err
	}
	if len(text) > seriesMost {
		return nil, fmt.Errorf("%s: larger than 256MB, want a series", name)
	}
	s := &tally.Series{}
	if strings.HasPrefix(strings.TrimLeft(string(text[:min(len(text), 64)]), " \t\r\n"), "{") {
		err = readSeriesJSON(s, text)
	} else {
		err = readTable(s, string(text))
	}
	if err == nil && s.Step <= 0 {
		err = errors.New("no step: want a time above 0 between the values")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// noSeries says what to draw instead of a file that is not there: probably a
// profile was meant.
func noSeries(name string) error {
	if _, err := profiles.Lookup(name); err == nil {
		return fmt.Errorf("%s is a profile, not a series: want --profile %s --load tcp-down, or another load", name, name)
	}
	return fmt.Errorf("no series %s: want a file that farlink sim --series wrote, or --profile NAME and --load", name)
}

// readTable reads a series as CSV: t_s in even steps, then the columns.
func readTable(s *tally.Series, text string) error {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return err
	}
	if len(rows) < 3 || len(rows[0]) < 2 || rows[0][0] != "t_s" {
		return errors.New(`want a header row "t_s,…" and two rows or more`)
	}
	times := make([]float64, len(rows)-1)
	for _, name := range rows[0][1:] {
		s.Columns = append(s.Columns, tally.Column{Name: name})
	}
	for i, row := range rows[1:] {
		if times[i], err = strconv.ParseFloat(row[0], 64); err != nil {
			return fmt.Errorf("line %d: t_s %q: want a number", i+2, row[0])
		}
		for k, cell := range row[1:] {
			v := math.NaN()
			if cell != "" {
				if v, err = strconv.ParseFloat(cell, 64); err != nil {
					return fmt.Errorf("line %d: %s %q: want a number or nothing", i+2, s.Columns[k].Name, cell)
				}
			}
			s.Columns[k].Values = append(s.Columns[k].Values, tally.Value(v))
		}
	}
	step := times[1] - times[0]
	for i := range times[1:] {
		if math.Abs(times[i+1]-times[i]-step) > step/100 {
			return fmt.Errorf("line %d: t_s %v: want even steps of %v s", i+3, times[i+1], step)
		}
	}
	s.Step = link.Duration(math.Round(step * 1e9))
	return nil
}
