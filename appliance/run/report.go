package run

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"farlink/appliance"
	"farlink/emulator/plot"
)

// WriteCSV writes a series as a table with a column for each figure.
func WriteCSV(out io.Writer, s Series) error {
	names, cols := s.named()
	w := csv.NewWriter(out)
	if s.Fault != nil {
		names = append(names, "fault")
	}
	if err := w.Write(append([]string{"time_s"}, names...)); err != nil {
		return err
	}
	for i, at := range s.Time {
		row := []string{strconv.FormatFloat(at, 'f', 3, 64)}
		for _, c := range cols {
			row = append(row, strconv.FormatFloat(c[i], 'f', -1, 64))
		}
		if s.Fault != nil {
			row = append(row, s.Fault[i])
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// named lists the columns of a series with their names, in a fixed order.
func (s Series) named() (names []string, columns [][]float64) {
	add := func(name string, c []float64) { names, columns = append(names, name), append(columns, c) }
	add("lateness_p99_us", s.Lateness)
	for _, w := range []struct {
		name string
		WaySeries
	}{{"down.", s.Down}, {"up.", s.Up}} {
		add(w.name+"offered_bps", w.Offered)
		add(w.name+"delivered_bps", w.Delivered)
		add(w.name+"granted_bps", w.Granted)
		add(w.name+"delay_ms", w.Delay)
		add(w.name+"queue_ms", w.Queue)
		add(w.name+"packets", w.Packets)
		add(w.name+"lost_packets", w.Lost)
		add(w.name+"held_packets", w.Held)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Lost)) {
		add("lost."+name, s.Lost[name])
	}
	return names, columns
}

// pointsMost is how many points a figure of a report has at most.
const pointsMost = 720

// even makes samples of a steady step: step by step as they come, or several
// folded into one when there are many.
func even(of []Dated) (out []Dated, step float64) {
	if len(of) == 0 {
		return nil, 1
	}
	span := of[len(of)-1].At.Sub(of[0].At)
	bucket := max(Every, (span / pointsMost).Round(Every))
	var open []Dated
	end := of[0].At.Add(bucket / 2)
	for _, d := range of {
		for d.At.After(end) {
			if len(open) > 0 {
				out = append(out, fold(open))
				open = open[:0]
			} else {
				out = append(out, between(d, end))
			}
			end = end.Add(bucket)
		}
		open = append(open, d)
	}
	return append(out, fold(open)), bucket.Seconds()
}

// lateMost is how late a sample may be taken: its rates are then those of all
// the time since the one before. Longer is a gap, in which nothing was
// measured.
const lateMost = 2 * time.Second

// between stands for a moment before next at which no sample was taken.
func between(next Dated, at time.Time) Dated {
	d := Dated{At: at}
	if next.At.Sub(at) < lateMost {
		d.PairSample = next.PairSample
		for _, w := range []*WaySample{&d.Down, &d.Up} {
			w.Packets, w.Lost, w.Causes = 0, 0, nil // counted once, when they were seen
		}
	}
	return d
}

// figure draws a run.
func figure(r Run, samples []Dated) []byte {
	of, step := even(samples)
	s := Columns(r.Pair, of)
	var columns []plot.Column
	for _, w := range []struct {
		name string
		WaySeries
	}{{"down", s.Down}, {"up", s.Up}} {
		columns = append(columns, plot.Column{Name: w.name + ".offered_bps", Values: w.Offered},
			plot.Column{Name: w.name + ".delivered_bps", Values: w.Delivered})
		if slices.Max(append(w.Granted, 0)) > 0 {
			columns = append(columns, plot.Column{Name: w.name + ".rate_bps", Values: w.Granted})
		}
		columns = append(columns, plot.Column{Name: w.name + ".loss_packets", Values: w.Lost})
	}
	panels := plot.Choose(columns, plot.Choice{})
	queue := plot.Panel{Title: "Queue delay, greatest", Unit: "ms", Lines: []plot.Line{{Name: "down", Values: s.Down.Queue}, {Name: "up", Values: s.Up.Queue}}}
	late := plot.Panel{Title: "Engine lateness, 99th percentile", Unit: "µs", Lines: []plot.Line{{Name: "p99", Values: s.Lateness}}}
	return plot.Figure{Step: step, Panels: append(panels, queue, late)}.SVG()
}

// WriteHTML writes a report: one file that needs nothing else.
func WriteHTML(out io.Writer, r Run, samples []Dated, version string) error {
	want, err := json.Marshal(r.Want)
	if err != nil {
		return err
	}
	return page.Execute(out, map[string]any{
		"Run": r, "Version": version, "Length": r.length().Round(100 * time.Millisecond),
		"Figure": template.HTML(figure(r, samples)), // our own drawing; its text is escaped
		"Repeat": fmt.Sprintf("curl -X PUT -H \"Authorization: Bearer $TOKEN\" --json '%s' \"$BOX/api/v1/link?pair=%s\"",
			strings.ReplaceAll(string(want), "'", `'\''`), r.Pair),
		"Ways": []struct {
			Name string
			Totals
		}{{"down", r.Down}, {"up", r.Up}},
	})
}

// length is how long a run went on, or has gone on as far as it is measured.
func (r Run) length() time.Duration {
	if r.Ended.IsZero() {
		return time.Duration(r.Down.Seconds * 1e9)
	}
	return r.Ended.Sub(r.Begun)
}

// number writes three figures, or as many as stand before the point.
func number(x float64) string {
	decimals := 2
	for limit := 10.0; x >= limit && decimals > 0; limit *= 10 {
		decimals--
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"rate":   func(bps float64) string { return number(bps/1e6) + " Mbit/s" },
	"number": number,
	"time":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"at":     func(r Run, t time.Time) string { return fmt.Sprintf("%.1f s", t.Sub(r.Begun).Seconds()) },
	"share": func(t Totals) string {
		if t.Packets+t.Lost == 0 {
			return "–"
		}
		return strconv.FormatFloat(100*float64(t.Lost)/float64(t.Packets+t.Lost), 'g', 3, 64) + " %"
	},
}).Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Run {{.Run.ID}}</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums }
body { margin: 2rem auto; max-width: 52rem; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.05rem; margin-top: 2rem }
table { border-collapse: collapse } th, td { text-align: left; padding: .2rem .9rem .2rem 0; vertical-align: top } th { font-weight: 500; opacity: .75 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid; padding: .6rem; border-radius: 6px }
svg { max-width: 100%; height: auto } .VALID { color: light-dark(#0d6b36, #5fd39a) } .DEGRADED { color: light-dark(#8a5200, #e8a94a) } .INVALID { color: light-dark(#b3201f, #ff8d86) }
</style></head><body>
<h1>Run {{.Run.ID}}{{with .Run.Title}}: {{.}}{{end}}</h1>
<p>Verdict of the ledger: <b class="{{.Run.Verdict.Word}}">{{.Run.Verdict.Word}}</b> {{.Run.Verdict.Reason}}</p>
<table>
<tr><th>pair</th><td>{{.Run.Pair}}</td></tr>
{{range .Run.Links}}<tr><th>link {{.Name}}</th><td>{{.Profile}} #{{.Hash}}, seed {{.Seed}}<br>{{.About}}</td></tr>{{end}}
{{if .Run.Changed}}<tr><th>changed</th><td>the link was changed during the run; see the events</td></tr>{{end}}
<tr><th>begun</th><td>{{time .Run.Begun}}{{with .Run.By}} by {{.}}{{end}}</td></tr>
<tr><th>length</th><td>{{.Length}} ({{.Run.Phase}})</td></tr>
<tr><th>farlink</th><td>{{.Version}}</td></tr>
</table>
<h2>Figures</h2>
<table><tr><th></th><th>offered</th><th>delivered</th><th>frames</th><th>lost</th><th>share</th><th>queue, most</th><th>lateness p99, most</th></tr>
{{range .Ways}}<tr><th>{{.Name}}</th><td>{{rate .Offered}}</td><td>{{rate .Delivered}}</td><td>{{.Packets}}</td><td>{{.Lost}}{{range $why, $n := .Causes}}<br>{{$why}} {{$n}}{{end}}</td><td>{{share .Totals}}</td><td>{{number .QueueMax}} ms</td><td>{{number .Late}} µs</td></tr>
{{end}}</table>
<h2>Over time</h2>
{{range .Run.Faults}}<p class="INVALID">The link was not emulated: {{.}}.</p>
{{end}}{{range .Run.Gaps}}<p class="DEGRADED">From {{at $.Run .From}} to {{if .To.IsZero}}now{{else}}{{at $.Run .To}}{{end}} samples are missing ({{.Samples}}): {{.Why}}. The figures above have them all the same.</p>
{{end}}{{.Figure}}
{{if .Run.Marks}}<h2>Marks</h2><table>{{range .Run.Marks}}<tr><td>{{number .At}} s</td><td>{{.Text}}</td><td>{{.By}}</td></tr>{{end}}</table>{{end}}
{{if .Run.Events}}<h2>Events</h2><table>{{$r := .Run}}{{range .Run.Events}}<tr><td>{{at $r .Time}}</td><td>{{.Kind}}</td><td>{{.Text}}</td><td>{{.By}}</td></tr>{{end}}</table>{{end}}
<h2>Again</h2>
<p>The same seed is the same channel:</p>
<pre>{{.Repeat}}</pre>
</body></html>
`))

// The documents of JUnit, as far as a run has anything to say.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Time     string      `xml:"time,attr"`
		Stamp    string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
	}
)

// WriteJUnit writes what a test bench judges a run by: it was not cut short,
// its figures may be trusted, the link was emulated all along, the box lost
// nothing itself, the link was the same all along, and no sample is missing.
func WriteJUnit(out io.Writer, r Run) error {
	s := junitSuite{Name: "farlink run " + r.ID, Time: strconv.FormatFloat(r.length().Seconds(), 'f', 1, 64), Stamp: r.Begun.UTC().Format("2006-01-02T15:04:05")}
	judge := func(name string, ok bool, message string) {
		c := junitCase{Class: "farlink." + r.Pair, Name: name}
		if !ok {
			c.Failure = &junitFailure{message}
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
		s.Tests++
	}
	judge("ended", r.Phase == Stopped, fmt.Sprintf("the run is %s", r.Phase))
	judge("verdict", r.Verdict.Word != appliance.Invalid, fmt.Sprintf("%s: %s", r.Verdict.Word, r.Verdict.Reason))
	judge("link emulated all along", len(r.Faults) == 0, strings.Join(r.Faults, "; "))
	own := r.Down.Causes[EngineReason] + r.Up.Causes[EngineReason]
	judge("no frame lost by the box", own == 0, fmt.Sprintf("%d frames", own))
	judge("link unchanged", !r.Changed, "something else was asked of the pair during the run")
	missing := 0
	for _, g := range r.Gaps {
		missing += g.Samples
	}
	judge("series complete", missing == 0, fmt.Sprintf("%d samples could not be written", missing))
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	return e.Encode(s)
}
