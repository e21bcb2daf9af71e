package run

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"farlink/appliance"
)

// clock is a time that tests move.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func pairState() appliance.PairState {
	p := appliance.PairState{Name: "main", Links: []appliance.LinkState{{Name: "main", Profile: "geo/qirse-sat", Hash: "abc1234", Seed: 7}}}
	p.Want.Profile, p.Want.Seed, p.Verdict.Word = "geo/qirse-sat", 7, appliance.Valid
	return p
}

func open(t *testing.T, dir string, c *clock) *Keeper {
	t.Helper()
	k, err := Open(dir, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// feed gives n samples of 10 Mbit/s down, one loss each.
func feed(t *testing.T, k *Keeper, c *clock, p appliance.PairState, n int) {
	t.Helper()
	for range n {
		c.t = c.t.Add(Every)
		s := PairSample{Name: p.Name, Lateness: 40, Down: WaySample{Offered: 12e6, Delivered: 10e6, Granted: 20e6, Packets: 100, Lost: 1, QueueMS: 3, Causes: map[string]uint64{"random": 1}}}
		if news := k.Add(Sample{Time: c.t, Pairs: []PairSample{s}}, appliance.State{Pairs: []appliance.PairState{p}}); news != nil {
			t.Fatal(news)
		}
	}
}

// summed checks the figures of a run.
func summed(t *testing.T, r Run) {
	t.Helper()
	// 100 samples of a tenth of a second.
	if d := r.Down; d.Packets != 10000 || d.Lost != 100 || d.Causes["random"] != 100 || d.Delivered < 9.99e6 || d.Delivered > 10.01e6 || d.QueueMax != 3 || d.Seconds < 9.99 || d.Seconds > 10.01 {
		t.Errorf("%+v", d)
	}
	if r.Verdict.Word != appliance.Degraded || r.Verdict.Reason != "late" {
		t.Errorf("%+v is not the worst", r.Verdict)
	}
}

// refusals: a run that goes on is begun once, alone on its pair.
func refusals(t *testing.T, k *Keeper, r Run, p appliance.PairState) {
	t.Helper()
	if again, err := k.Begin("night-1", "", "ci", p); err != nil || again.Begun != r.Begun {
		t.Errorf("begun twice: %v", err)
	}
	if _, err := k.Begin("night-2", "", "ci", p); !errors.Is(err, ErrBusy) {
		t.Errorf("a second one on the pair: %v", err)
	}
	if _, err := k.Begin("../x", "", "ci", p); !errors.Is(err, ErrID) {
		t.Errorf("a bad id: %v", err)
	}
}

func TestRun(t *testing.T) {
	c, dir, p := &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}, t.TempDir(), pairState()
	k := open(t, dir, c)
	r, err := k.Begin("night-1", "A <b>test</b>", "ci", p)
	if err != nil || r.Phase != Running || r.Verdict.Word != appliance.Valid {
		t.Fatalf("%+v, %v", r, err)
	}
	refusals(t, k, r, p)
	feed(t, k, c, p, 50)
	if m, err := k.Mark("night-1", "handover now", "ci"); err != nil || m.At != 5 {
		t.Errorf("%+v, %v", m, err)
	}
	k.Happened(appliance.Event{ID: 1, Time: c.t, Kind: appliance.KindLink, Pair: "main", Text: "cut begins"})
	k.Happened(appliance.Event{ID: 2, Time: c.t, Kind: appliance.KindLink, Pair: "other", Text: "cut begins"})
	p.Verdict = appliance.Verdict{Word: appliance.Degraded, Reason: "late"}
	feed(t, k, c, p, 1)
	p.Verdict = appliance.Verdict{Word: appliance.Valid}
	feed(t, k, c, p, 49)
	if err := k.Delete("night-1"); !errors.Is(err, ErrRunning) {
		t.Errorf("deleted while it goes on: %v", err)
	}
	r, err = k.Stop("night-1")
	if err != nil || r.Phase != Stopped || r.Samples != 100 || len(r.Marks) != 1 || len(r.Events) != 1 || r.Changed {
		t.Fatalf("%+v, %v", r, err)
	}
	summed(t, r)
	if _, err := k.Mark("night-1", "x", ""); !errors.Is(err, ErrOver) {
		t.Errorf("mark after the end: %v", err)
	}
	if again, err := k.Stop("night-1"); err != nil || again.Ended != r.Ended {
		t.Errorf("stopped twice: %v", err)
	}
	if _, err := k.Begin("night-1", "", "", p); !errors.Is(err, ErrExists) {
		t.Errorf("the id of an old run: %v", err)
	}

	k = open(t, dir, c) // the daemon starts again
	samples, err := k.Samples("night-1")
	if err != nil || len(samples) != 100 || samples[0].Down.Delivered != 10e6 {
		t.Errorf("%d samples, %v", len(samples), err)
	}
	if all := k.List(); len(all) != 1 || all[0].Title != r.Title {
		t.Errorf("%+v", all)
	}
	reports(t, r, samples)
	if err := k.Delete("night-1"); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	if _, err := k.Get("night-1"); !errors.Is(err, ErrNoRun) {
		t.Errorf("%v", err)
	}
}

func reports(t *testing.T, r Run, samples []Dated) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHTML(&b, r, samples, "1.2"); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"night-1", "A &lt;b&gt;test&lt;/b&gt;", "DEGRADED", "geo/qirse-sat #abc1234, seed 7", "<svg", "10.0 Mbit/s", "random 100", "0.99 %", "handover now", "cut begins", `--json &#39;{&#34;profile&#34;:&#34;geo/qirse-sat&#34;`} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("the report does not say %s", part)
		}
	}
	for _, never := range []string{"<script", "http://", "src=", "<b>test"} {
		if strings.Contains(strings.ReplaceAll(b.String(), `xmlns="http://www.w3.org/2000/svg"`, ""), never) {
			t.Errorf("the report has %s in it", never)
		}
	}
	b.Reset()
	if err := WriteCSV(&b, Columns("main", samples)); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 101 || rows[0][0] != "time_s" || rows[0][len(rows[0])-1] != "lost.down.random" || rows[1][3] != "10000000" {
		t.Errorf("%v, %d rows, %v", err, len(rows), rows[:2])
	}
	b.Reset()
	if err := WriteJUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	var s junitSuite
	if err := xml.Unmarshal(b.Bytes(), &s); err != nil || s.Tests != 6 || s.Failures != 0 {
		t.Errorf("%v: %s", err, b.String())
	}
	r.Verdict = appliance.Verdict{Word: appliance.Invalid, Reason: "12 frames"}
	b.Reset()
	if err := WriteJUnit(&b, r); err != nil || !strings.Contains(b.String(), `message="INVALID: 12 frames"`) {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestRunInterrupted(t *testing.T) {
	c, dir, p := &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}, t.TempDir(), pairState()
	k := open(t, dir, c)
	if _, err := k.Begin("x", "", "", p); err != nil {
		t.Fatal(err)
	}
	feed(t, k, c, p, 20)
	if _, err := k.Mark("x", "m", ""); err != nil { // saves the document
		t.Fatal(err)
	}
	p.Want.Seed = 8
	feed(t, k, c, p, 1)
	f, err := os.OpenFile(filepath.Join(dir, "x", seriesAs), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"at":"20`)
	f.Close()
	k = open(t, dir, c)
	r, err := k.Get("x")
	if err != nil || r.Phase != Interrupted || r.Ended.Sub(r.Begun).Round(time.Second) != 2*time.Second {
		t.Errorf("%+v, %v", r, err)
	}
	if s, err := k.Samples("x"); err != nil || len(s) != 21 {
		t.Errorf("%d samples, %v", len(s), err)
	}
	if _, err := open(t, "", c).Begin("x", "", "", p); !errors.Is(err, ErrNowhere) {
		t.Errorf("%v", err)
	}
}

// TestEven: a gap stays a gap, and many samples become few of a steady step.
func TestEven(t *testing.T) {
	begin := time.Unix(1000, 0)
	var of []Dated
	for i := range 20000 {
		if i < 5000 || i >= 6000 {
			of = append(of, Dated{At: begin.Add(time.Duration(i) * Every), PairSample: PairSample{Down: WaySample{Lost: 1}}})
		}
	}
	out, step := even(of)
	lost := uint64(0)
	for _, d := range out {
		lost += d.Down.Lost
	}
	if lost != 19000 || len(out) > pointsMost+2 || step < 2.7 || step > 2.9 {
		t.Errorf("%d points of %g s, %d lost", len(out), step, lost)
	}
	if got, _ := even(nil); got != nil {
		t.Error("something of nothing")
	}
}
