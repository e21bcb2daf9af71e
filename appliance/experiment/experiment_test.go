package experiment

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"farlink/appliance"
	"farlink/appliance/traffic"
	"farlink/emulator/tally"
)

// TestStudent by tables: 0.975 at 1, 10, 30, 40 and 120 degrees of freedom.
func TestStudent(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.7062, 10: 2.2281, 30: 2.0423, 31: 2.0395, 40: 2.0211, 120: 1.9799} {
		if got := student(freedom); math.Abs(got-want) > 2e-4 {
			t.Errorf("%d: %v, want %v", freedom, got, want)
		}
	}
}

// TestEstimate by hand: 1, 2, 3, 4 have mean 2.5 and s = √(5/3) = 1.29099;
// with three degrees of freedom the half width is 3.1824·s/2 = 2.05427.
func TestEstimate(t *testing.T) {
	e := estimate([]float64{1, 2, 3, 4})
	if e.N != 4 || e.Mean != 2.5 || math.Abs(e.Half-2.05427) > 1e-4 || !e.Clear() {
		t.Errorf("%+v", e)
	}
	if e := estimate([]float64{7}); e.Known() || e.Clear() || e.Mean != 7 {
		t.Errorf("of one value: %+v", e)
	}
	if e := estimate([]float64{-1, 1}); e.Clear() {
		t.Errorf("an interval about zero is clear: %+v", e)
	}
}

// two settings on two channels: b is 10 above a on the one, 14 on the other.
const pairDoc = `
name = "pair"
about = "a & <b>"
profiles = ["clear"]
seeds = [1, 2]
settings = [{name = "a"}, {name = "b"}]
[[traffic]]
name = "x"
kind = "tcp"
[[expect]]
metric = "x.goodput_bps"
least = 100
`

func parse(t *testing.T, text string) *Experiment {
	t.Helper()
	e, bad := Parse([]byte(text), t.TempDir(), nil)
	if e == nil {
		t.Fatal(bad)
	}
	return e
}

func record(c Cell, v float64, word appliance.Standing) Record {
	return Record{Cell: c, Metrics: map[string]float64{"x.goodput_bps": v}, Verdict: appliance.Verdict{Word: word},
		Series: []traffic.Column{{Name: "x.goodput_bps", Values: []tally.Value{tally.Value(v), tally.Value(math.NaN()), tally.Value(2 * v)}}}}
}

func TestDifferences(t *testing.T) {
	e := parse(t, pairDoc)
	cells := e.Cells()
	if len(cells) != 4 || cells[0].Setting != "a" || cells[1].Setting != "b" || cells[1].Seed != 1 {
		t.Fatalf("the settings of a channel stand side by side: %v", cells)
	}
	var records []Record
	for i, v := range []float64{100, 110, 200, 214} {
		records = append(records, record(cells[i], v, appliance.Valid))
	}
	d := e.Differences(records)
	// Mean 12; s = √8, t(1)·s/√2 = 12.7062·2 = 25.4124. 12 of 150 is 8 %.
	if len(d) != 1 || d[0].Mean != 12 || math.Abs(d[0].Half-25.4124) > 1e-3 || d[0].Percent != 8 || d[0].N != 2 {
		t.Errorf("%+v", d)
	}
	records[3].Verdict.Word = appliance.Invalid
	if d := e.Differences(records); d[0].N != 1 || d[0].Mean != 10 {
		t.Errorf("an INVALID cell is counted: %+v", d)
	}
	if s := e.Summaries(records); len(s) != 2 || s[0].Mean != 150 || s[1].N != 1 {
		t.Errorf("%+v", s)
	}
}

// TestStore: what is kept is found again by the same experiment, and by none
// that was changed.
func TestStore(t *testing.T) {
	e := parse(t, pairDoc)
	dir := filepath.Join(t.TempDir(), "out")
	open := func(text string, resume bool) (*Store, error) {
		return Open(dir, Plan{Text: text, Command: "c"}, resume)
	}
	s, err := open(pairDoc, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(pairDoc, true); err == nil {
		t.Error("two experiments in one directory at once")
	}
	cells := e.Cells()
	if err := s.Keep(record(cells[1], 110, appliance.Valid)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path("cells/"+cells[2].ID()+".json"), []byte(`{"profile": "cl`), 0o644); err != nil {
		t.Fatal(err) // as a crash may leave it on a file system without order
	}
	s.Close()
	if _, err := open(pairDoc, false); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("begun twice: %v", err)
	}
	if _, err := open(pairDoc+"\n", true); err == nil || !strings.Contains(err.Error(), "another experiment") {
		t.Errorf("changed: %v", err)
	}
	if s, err = open(pairDoc, true); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.Records(cells)
	if len(r) != 1 || r[0].Cell != cells[1] || len(r[0].Series) != 1 || !math.IsNaN(float64(r[0].Series[0].Values[1])) {
		t.Errorf("%+v", r)
	}
}

// TestReports: one cell passes, one is too low, one INVALID, one missing.
func TestReports(t *testing.T) {
	e := parse(t, pairDoc)
	s, err := Open(t.TempDir(), Plan{Text: pairDoc, Command: "farlink run 'it'"}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cells := e.Cells()
	for i, r := range []Record{record(cells[0], 100, appliance.Valid), record(cells[1], 99, appliance.Degraded), record(cells[2], 300, appliance.Invalid)} {
		if err := s.Keep(r); err != nil {
			t.Fatal(i, err)
		}
	}
	o := e.Outcome(s)
	if err := o.Write(s); err != nil {
		t.Fatal(err)
	}
	if o.Cells != 4 || o.Measured != 3 || o.Passed != 1 {
		t.Errorf("%d %d %d", o.Cells, o.Measured, o.Passed)
	}
	if text := o.Text(); text != "clear\ta\tb\nx: goodput, Mbit/s\t0.0001\t9.9e−05\n" {
		t.Errorf("%q", text)
	}
	if text := o.Caveats(); text != "clear, b, seed 1, repetition 1: DEGRADED\nclear, a, seed 2, repetition 1: INVALID\n" {
		t.Errorf("%q", text)
	}
	for file, parts := range map[string][]string{
		"report.html":  {"1 of 4 cells passed", "3 measured so far", "a &amp; &lt;b&gt;", "want at least 100", "farlink run &#39;it&#39;", "<svg", "DEGRADED"},
		"cells.csv":    {"profile,hash,setting", "clear,,b,1,1,", "DEGRADED,false,\"x.goodput_bps is 99, want at least 100\",99"},
		"results.json": {`"passed": 1`, `"setting": "b"`},
		"junit.xml":    {`tests="4" failures="2" skipped="1"`, "verdict INVALID"},
	} {
		b, err := os.ReadFile(s.Path(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			if !bytes.Contains(b, []byte(p)) {
				t.Errorf("%s lacks %q", file, p)
			}
		}
		if file == "junit.xml" && xml.Unmarshal(b, new(junitSuite)) != nil {
			t.Errorf("%s", b)
		}
	}
	b, _ := os.ReadFile(s.Path("report.html"))
	for _, outside := range []string{"<script", "<link", "url(", "<img"} {
		if bytes.Contains(b, []byte(outside)) {
			t.Errorf("the report needs %s", outside)
		}
	}
}

// busy is a box whose engine does not start at first.
type busy struct{ refuses, asked int }

type unavailable struct{ error }

func (unavailable) Temporary() bool { return true }

func (b *busy) Call(_ context.Context, _, path string, _, out any) error {
	b.asked++
	if b.asked <= b.refuses {
		return unavailable{errors.New("pair main: start engine")}
	}
	if a, ok := out.(*appliance.Applied); ok {
		a.Effective = true
	}
	return nil
}

// TestReady: a box that cannot now is asked again; one that never can is not
// asked for ever.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := parse(t, pairDoc)
		for _, c := range []struct {
			refuses int
			ok      bool
		}{{0, true}, {4, true}, {5, false}} {
			b := &busy{refuses: c.refuses}
			if err := e.ready(t.Context(), Place{Box: b}, e.Cells()[0], e.Settings[0]); (err == nil) != c.ok || b.asked > 6 {
				t.Errorf("refused %d times: %v, asked %d times", c.refuses, err, b.asked)
			}
		}
	})
}

func TestDigits(t *testing.T) {
	for _, c := range []struct {
		v    float64
		n    int
		want string
	}{{0, 4, "0"}, {99.6, 2, "100"}, {1234.5, 2, "1234"}, {123456, 4, "123456"}, {0.00012345, 4, "0.0001234"}, {-2.5, 4, "−2.5"}, {2e12, 4, "2e+12"}} {
		if got := digits(c.v, c.n); got != c.want {
			t.Errorf("%v to %d digits: %s, want %s", c.v, c.n, got, c.want)
		}
	}
	if got := interval("x.goodput_bps", Estimate{N: 3, Half: 123456}); got != " ± 0.12" {
		t.Error(got)
	}
	if got := interval("x.goodput_bps", Estimate{N: 1}); got != "" {
		t.Error("an interval of one value:", got)
	}
}
