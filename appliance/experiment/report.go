package experiment

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"farlink/appliance"
)

// Outcome is what an experiment found.
type Outcome struct {
	Experiment  *Experiment  `json:"experiment"`
	Plan        Plan         `json:"plan"`
	Cells       int          `json:"cells"` // that there are
	Measured    int          `json:"measured"`
	Passed      int          `json:"passed"`
	Records     []Judged     `json:"records"`
	Summaries   []Summary    `json:"summaries"`
	Differences []Difference `json:"differences"`

	records []Record
}

// Judged is a record without its series, and why it fails.
type Judged struct {
	ID string `json:"id"`
	Record
	Failures []string `json:"failures,omitempty"`
}

// Outcome sums up the cells that were measured.
func (e *Experiment) Outcome(s *Store) Outcome {
	cells := e.Cells()
	o := Outcome{Experiment: e, Plan: s.Plan, Cells: len(cells), records: s.Records(cells)}
	for _, r := range o.records {
		j := Judged{r.ID(), r, e.Failures(r)}
		j.Series = nil
		if len(j.Failures) == 0 {
			o.Passed++
		}
		o.Records = append(o.Records, j)
	}
	o.Measured = len(o.records)
	o.Summaries, o.Differences = e.Summaries(o.records), e.Differences(o.records)
	return o
}

// Write writes the reports into the store: report.html, cells.csv,
// results.json, junit.xml.
func (o Outcome) Write(s *Store) error {
	var errs []error
	for _, f := range []struct {
		name  string
		write func(*bytes.Buffer) error
	}{{"report.html", o.html}, {"cells.csv", o.csv}, {"results.json", o.json}, {"junit.xml", o.junit}} {
		var b bytes.Buffer
		err := f.write(&b)
		if err == nil {
			err = s.write(f.name, b.Bytes())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.name, err))
		}
	}
	return errors.Join(errs...)
}

// Text is a table of the figures that the report begins with, columns set
// apart by tabs: means and differences from the baseline.
func (o Outcome) Text() string {
	var b strings.Builder
	for _, p := range o.Experiment.Profiles {
		main, _ := o.rows(p)
		fmt.Fprint(&b, p)
		for _, s := range o.Experiment.Settings {
			fmt.Fprint(&b, "\t", s.Name)
		}
		b.WriteByte('\n')
		for _, r := range main {
			fmt.Fprint(&b, title(r.Metric))
			for _, c := range r.Cells {
				b.WriteString("\t" + c.text())
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Caveats says, a line each, what keeps the figures from being taken as they
// stand: cells in which the box fell short, and an experiment cut down.
func (o Outcome) Caveats() string {
	var b strings.Builder
	for _, r := range o.Records {
		if r.Verdict.Word != appliance.Valid {
			fmt.Fprintf(&b, "%v: %s\n", r.Cell, strings.TrimSpace(string(r.Verdict.Word)+" "+r.Verdict.Reason))
		}
	}
	if o.Plan.Quick {
		b.WriteString("quick: one channel, traffic cut short; it shows whether the experiment works, not what a setting is worth\n")
	}
	return b.String()
}

// text is a mean, and in brackets its change where that is clear.
func (c box) text() string {
	if c.Estimate == nil {
		return "–"
	}
	text := quantity(c.Metric, c.Estimate.Mean) + interval(c.Metric, *c.Estimate)
	if c.Difference != nil && c.Difference.Clear() && c.Difference.Percent != 0 {
		text += fmt.Sprintf(" (%+.0f %%)", c.Difference.Percent)
	}
	return text
}

func (o Outcome) json(b *bytes.Buffer) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(o)
}

// csv is a row a cell.
func (o Outcome) csv(b *bytes.Buffer) error {
	w := csv.NewWriter(b)
	metrics := Metrics(o.records)
	rows := [][]string{append([]string{"profile", "hash", "setting", "seed", "repetition", "begun", "verdict", "passed", "failures"}, metrics...)}
	for _, r := range o.Records {
		row := []string{r.Profile, r.Link.Hash, r.Setting, strconv.FormatUint(r.Seed, 10), strconv.Itoa(r.Repetition), r.Begun.UTC().Format(time.RFC3339),
			string(r.Verdict.Word), strconv.FormatBool(len(r.Failures) == 0), strings.Join(r.Failures, "; ")}
		for _, m := range metrics {
			text := ""
			if v, ok := r.Metrics[m]; ok {
				text = strconv.FormatFloat(v, 'g', -1, 64)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return w.WriteAll(rows)
}

// The documents of JUnit.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Stamp    string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr,omitempty"`
		Failure *junitFailure `xml:"failure,omitempty"`
		Skipped *struct{}     `xml:"skipped,omitempty"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
	}
)

// junit is a test a cell; one that was not measured is skipped.
func (o Outcome) junit(b *bytes.Buffer) error {
	s := junitSuite{Name: "farlink experiment " + o.Experiment.Name, Tests: o.Cells, Skipped: o.Cells - o.Measured, Failures: o.Measured - o.Passed,
		Stamp: o.Plan.Begun.UTC().Format("2006-01-02T15:04:05")}
	found := map[Cell]Judged{}
	for _, r := range o.Records {
		found[r.Cell] = r
	}
	for _, c := range o.Experiment.Cells() {
		out := junitCase{Class: "farlink." + o.Experiment.Name + "." + strings.NewReplacer("/", "-", ".", "-").Replace(c.Profile),
			Name: fmt.Sprintf("%s seed=%d repetition=%d", c.Setting, c.Seed, c.Repetition)}
		r, ok := found[c]
		if !ok {
			out.Skipped = &struct{}{}
			s.Cases = append(s.Cases, out)
			continue
		}
		out.Time = strconv.FormatFloat(r.Took, 'f', 1, 64)
		if len(r.Failures) > 0 {
			out.Failure = &junitFailure{strings.Join(r.Failures, "; ")}
		}
		for _, m := range Metrics([]Record{r.Record}) {
			out.Out += fmt.Sprintf("%s=%g\n", m, r.Metrics[m])
		}
		s.Cases = append(s.Cases, out)
	}
	b.WriteString(xml.Header)
	e := xml.NewEncoder(b)
	e.Indent("", "  ")
	return e.Encode(s)
}
