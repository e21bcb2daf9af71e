package run

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"farlink/appliance"
)

const hung = "engine hung for 1.2s: 345 frames passed in bypass"

// faulted is a run in which the engine hung and went on.
func faulted(t *testing.T, k *Keeper, c *clock) Run {
	t.Helper()
	p := pairState()
	p.Engine.Faults, p.Engine.Fault = 2, "long ago"
	if _, err := k.Begin("f", "", "ci", p); err != nil {
		t.Fatal(err)
	}
	feed(t, k, c, p, 5)
	if r, _ := k.Get("f"); r.Verdict.Word != appliance.Valid {
		t.Errorf("a fault before the run: %+v", r.Verdict)
	}
	p.Engine.Faults, p.Engine.Fault = 3, hung
	feed(t, k, c, p, 5)
	r, err := k.Stop("f")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A run during which the link was not emulated is INVALID, also when the
// ledger is content again, and every report says why.
func TestRunNotEmulated(t *testing.T) {
	c := &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	r := faulted(t, open(t, t.TempDir(), c), c)
	if r.Verdict != (appliance.Verdict{Word: appliance.Invalid, Reason: hung}) || len(r.Faults) != 1 || r.Changed {
		t.Errorf("%+v, faults %q", r.Verdict, r.Faults)
	}
	samples := []Dated{{At: c.t}, {At: c.t.Add(Every), PairSample: PairSample{Fault: hung}}}
	var html, table, junit bytes.Buffer
	if err := WriteHTML(&html, r, samples, "1"); err != nil || !strings.Contains(html.String(), "The link was not emulated: "+hung) {
		t.Errorf("HTML: %v", err)
	}
	if err := WriteCSV(&table, Columns("main", samples)); err != nil || !strings.Contains(table.String(), ","+hung+"\n") {
		t.Errorf("CSV: %v, %s", err, table.String())
	}
	if err := WriteJUnit(&junit, r); err != nil || !strings.Contains(junit.String(), `failures="2"`) || !strings.Contains(junit.String(), `message="INVALID: `+hung) {
		t.Errorf("JUnit: %v, %s", err, junit.String())
	}
}

// The link was switched to bypass and back between two samples, or the
// proxies changed, for which the engine is replaced: no fault, but a change.
func TestRunChangedByTheUser(t *testing.T) {
	for name, change := range map[string]func(*appliance.PairState){
		"there and back": func(p *appliance.PairState) { p.ETag = "v3" },
		"other path":     func(p *appliance.PairState) { p.Engine.Started = p.Engine.Started.Add(time.Second) },
	} {
		c, p := &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}, pairState()
		p.ETag, p.Engine.Started = "v1", c.t
		k := open(t, t.TempDir(), c)
		if _, err := k.Begin("x", "", "", p); err != nil {
			t.Fatal(err)
		}
		feed(t, k, c, p, 1)
		if r, _ := k.Get("x"); r.Changed {
			t.Errorf("%s: changed before", name)
		}
		change(&p)
		feed(t, k, c, p, 1)
		if r, _ := k.Get("x"); !r.Changed || r.Verdict.Word != appliance.Valid {
			t.Errorf("%s: changed %v, %+v", name, r.Changed, r.Verdict)
		}
	}
}

// Samples say when it was.
func TestSamplesSayFaults(t *testing.T) {
	p := pairState()
	q := p
	q.Engine.Faults, q.Engine.Fault = 1, hung
	then := appliance.State{Now: time.Unix(0, 0), Pairs: []appliance.PairState{p}}
	now := appliance.State{Now: time.Unix(1, 0), Pairs: []appliance.PairState{q}}
	if got := Between(then, now).Pairs[0].Fault; got != hung {
		t.Errorf("%q", got)
	}
	if got := Between(now, now).Pairs[0].Fault; got != "" {
		t.Errorf("afterwards: %q", got)
	}
	q.Word, q.Verdict.Reason = appliance.Fault, "it is gone"
	if got := Between(now, appliance.State{Now: time.Unix(2, 0), Pairs: []appliance.PairState{q}}).Pairs[0].Fault; got != "it is gone" {
		t.Errorf("%q", got)
	}
}
