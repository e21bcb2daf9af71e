package plot

import (
	"cmp"
	"math"
	"reflect"
	"testing"
)

var run = []Column{
	{"down.offered_bps", []float64{0, 2e6}},
	{"down.delivered_bps", []float64{0, 1e6}},
	{"down.rate_bps", []float64{1e6, 1e6}},
	{"down.one_way_ms", []float64{math.NaN(), 300}},
	{"down.loss_packets", []float64{0, 0}},
	{"down.es_n0_db", []float64{12, 9}},
	{"down.modcod", []float64{21, 18}},
	{"up.offered_bps", []float64{0, 500}},
	{"up.queue_bytes", []float64{0, 2500}},
	{"up.loss_packets", []float64{0, 3}},
	{"tcp-down.cwnd_packets", []float64{10, 20}},
	{"tcp-up.cwnd_packets", []float64{10, 10}},
	{"tcp-down.srtt_ms", []float64{600, 20000}},
}

// heads returns title, unit and the lines of panels.
func heads(panels []Panel) []string {
	var out []string
	for _, p := range panels {
		s := p.Title + ", " + p.Unit + ":"
		for _, l := range p.Lines {
			s += " " + cmp.Or(l.Name, "-")
		}
		out = append(out, s)
	}
	return out
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name   string
		choice Choice
		want   []string
	}{
		{"all", Choice{}, []string{
			"Signal down, dB: Es/N0", "MODCOD down, number: -", "Rate down, Mbit/s: offered delivered link", "One-way delay down, ms: -",
			"Rate up, bit/s: offered", "Queue up, kB: -", "Lost packets up, per step: -",
			"Window, packets: tcp-down tcp-up", "Smoothed round trip, s: -"}},
		{"one way", Choice{Ways: []string{"up"}, Show: []string{"rate", "loss"}}, []string{"Rate, bit/s: offered", "Lost packets, per step: -"}},
		{"nothing", Choice{Show: []string{"grants"}}, nil},
	} {
		if got := heads(Choose(run, c.choice)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	// What is shown is scaled; what was given is not touched.
	p := Choose(run, Choice{Ways: []string{"up"}, Show: []string{"queue"}})
	if p[0].Lines[0].Values[1] != 2.5 || run[8].Values[1] != 2500 {
		t.Errorf("%v kB of %v B", p[0].Lines[0].Values, run[8].Values)
	}
	if n := len(Names()); n != 10 {
		t.Errorf("%d names: %v", n, Names())
	}
}

// TestDelays: a delay alone needs no legend, beside another it does.
func TestDelays(t *testing.T) {
	columns := []Column{{"up.one_way_ms", []float64{5}}, {"up.queueing_ms", []float64{7}}}
	got := heads(Choose(columns, Choice{Ways: []string{"up"}}))
	if !reflect.DeepEqual(got, []string{"One-way delay, ms: one way queueing"}) {
		t.Errorf("%q", got)
	}
}

// TestManyLinks: figures of one of several links.
func TestManyLinks(t *testing.T) {
	columns := []Column{{"sat.down.rate_bps", []float64{5}}, {"lte.down.rate_bps", []float64{7e9}}}
	got := Choose(columns, Choice{Ways: []string{"lte.down"}})
	if len(got) != 1 || got[0].Unit != "Gbit/s" || got[0].Lines[0].Values[0] != 7 {
		t.Errorf("%+v", got)
	}
}
