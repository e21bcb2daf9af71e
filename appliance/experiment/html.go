package experiment

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"farlink/appliance/traffic"
	"farlink/emulator/plot"
)

//go:embed report.html
var page string

// html writes the report: one file that needs nothing else.
func (o Outcome) html(b *bytes.Buffer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"quantity": quantity, "interval": interval, "time": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"title": title, "join": func(of []string) string { return strings.Join(of, "; ") },
	}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(b, o.view())
}

// view is what the report shows.
type view struct {
	Outcome
	Verdicts []count
	Parts    []part
}

type count struct {
	Word string
	N    int
}

// part is a profile of the report.
type part struct {
	Profile, Hash, About string
	Dots, Figure         template.HTML // our own drawings; their text is escaped
	Note                 string
	Main, Rest           []row
}

// row is a metric: its estimates by setting, and their differences.
type row struct {
	Metric string
	Cells  []box
}

type box struct {
	Metric     string
	Baseline   bool
	Estimate   *Estimate
	Difference *Difference
}

func (o Outcome) view() view {
	v := view{Outcome: o}
	for _, word := range []string{"VALID", "DEGRADED", "INVALID"} {
		n := 0
		for _, r := range o.records {
			if string(r.Verdict.Word) == word {
				n++
			}
		}
		if n > 0 {
			v.Verdicts = append(v.Verdicts, count{word, n})
		}
	}
	for _, p := range o.Experiment.Profiles {
		part := part{Profile: p}
		i := slices.IndexFunc(o.records, func(r Record) bool { return r.Profile == p })
		if i < 0 {
			continue
		}
		part.Hash, part.About = o.records[i].Link.Hash, o.records[i].Link.About
		part.Main, part.Rest = o.rows(p)
		part.Dots = template.HTML(o.dots(p, part.Main))
		part.Figure, part.Note = o.figure(p)
		v.Parts = append(v.Parts, part)
	}
	return v
}

// rows are the metrics of a profile: those to be shown first, and the rest.
func (o Outcome) rows(profile string) (main, rest []row) {
	show := o.Experiment.Show
	for _, m := range Metrics(o.records) {
		if len(o.Experiment.Show) == 0 && !strings.HasPrefix(m, "link.") {
			show = append(show, m)
		}
	}
	make := func(metric string) (r row, some bool) {
		r.Metric = metric
		for _, s := range o.Experiment.Settings {
			b := box{Metric: metric, Baseline: s.Name == o.Experiment.Baseline}
			for i, x := range o.Summaries {
				if x.Profile == profile && x.Metric == metric && x.Setting == s.Name {
					b.Estimate, some = &o.Summaries[i].Estimate, true
				}
			}
			for i, x := range o.Differences {
				if x.Profile == profile && x.Metric == metric && x.Setting == s.Name {
					b.Difference = &o.Differences[i]
				}
			}
			r.Cells = append(r.Cells, b)
		}
		return r, some
	}
	for _, m := range show {
		if r, some := make(m); some {
			main = append(main, r)
		}
	}
	for _, m := range Metrics(o.records) {
		if r, some := make(m); some && !slices.Contains(show, m) {
			rest = append(rest, r)
		}
	}
	return main, rest
}

// figure draws the first channel of which all settings were measured: the
// settings one over another.
func (o Outcome) figure(profile string) (template.HTML, string) {
	var best []Record
	for _, first := range o.records {
		if first.Profile != profile {
			continue
		}
		var same []Record
		for _, r := range o.records {
			if r.Profile == profile && r.Seed == first.Seed && r.Repetition == first.Repetition {
				same = append(same, r)
			}
		}
		if len(same) > len(best) {
			best = same
		}
	}
	f := plot.Figure{Step: traffic.Step.Seconds(), Panels: panels(best)}
	note := fmt.Sprintf("Seed %d, repetition %d: the same channel for each setting.", best[0].Seed, best[0].Repetition)
	return template.HTML(f.SVG()), note
}

// panels are the series of the records: a panel a series, a line a setting.
func panels(of []Record) (out []plot.Panel) {
	var names []string
	for _, r := range of {
		for _, c := range r.Series {
			if !slices.Contains(names, c.Name) && !strings.HasSuffix(c.Name, "granted_bps") {
				names = append(names, c.Name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		text, unit, factor := heading(name)
		p := plot.Panel{Title: text, Unit: unit}
		said := false
		for _, r := range of {
			line := plot.Line{Name: r.Setting, Values: column(r, name, factor)}
			if line.Values == nil {
				line.Values = []float64{math.NaN()} // keeps the colours of the settings
				line.Name = ""
			}
			said = said || slices.ContainsFunc(line.Values, func(v float64) bool { return v > 0 })
			p.Lines = append(p.Lines, line)
		}
		if said {
			out = append(out, p)
		}
	}
	return out
}

func column(r Record, name string, factor float64) (values []float64) {
	for _, c := range r.Series {
		if c.Name == name {
			for _, v := range c.Values {
				values = append(values, float64(v)*factor)
			}
		}
	}
	return values
}

// units are the endings of names: how they are written, and by what factor.
var units = []struct {
	ending, unit string
	factor       float64
}{{"_bps", "Mbit/s", 1e-6}, {"_ms", "ms", 1}, {"_us", "µs", 1}, {"_s", "s", 1}, {"_percent", "%", 1}, {"_packets", "packets", 1}, {"_bytes", "kB", 1e-3}}

// heading writes a name for people: text, unit and factor.
func heading(name string) (text, unit string, factor float64) {
	factor = 1
	for _, u := range units {
		if strings.HasSuffix(name, u.ending) {
			name, unit, factor = strings.TrimSuffix(name, u.ending), u.unit, u.factor
			break
		}
	}
	of, what, _ := strings.Cut(name, ".")
	return of + ": " + strings.ReplaceAll(what, "_", " "), unit, factor
}

// title is a metric for people.
func title(name string) string {
	text, unit, _ := heading(name)
	if unit == "" {
		return text
	}
	return text + ", " + unit
}

// quantity writes a value of a metric to four digits.
func quantity(name string, v float64) string {
	_, _, factor := heading(name)
	return digits(v*factor, 4)
}

// digits writes so many significant digits, and all those before the point.
func digits(v float64, n int) string {
	text := strconv.FormatFloat(v, 'g', n, 64)
	if a := math.Abs(v); strings.Contains(text, "e+") && a < 1e9 {
		text = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.ReplaceAll(text, "-", "−")
}

// interval writes the half width of an estimate's interval to two digits.
func interval(name string, e Estimate) string {
	if !e.Known() {
		return ""
	}
	_, _, factor := heading(name)
	return " ± " + digits(e.Half*factor, 2)
}
