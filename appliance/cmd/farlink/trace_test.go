package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/pcap"
	"farlink/emulator/stage"
	"farlink/profiles"
)

// writeText puts text into a file of the test.
func writeText(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTraceImport: each format becomes a profile that is whole and builds.
func TestTraceImport(t *testing.T) {
	mahimahi := writeText(t, "m", "0\n0\n5\n10\n")
	light := writeText(t, "light", "0 20 0 1 1\n100 40 0 2 2\n200 40 0\n")
	theaterq := writeText(t, "q", "1000000,250000000,8000000,4294967,500\n1000000,1,-1,0,500\n")
	table := writeText(t, "t", "t_s,down_bps,up_delay_s\n0,8e6,0.1\n5,0,0.2\n9,,\n")
	scenario := writeText(t, "s", "operator,country,rat,quality,duration,period\ntelia,norway,3g,good,5,2\n")
	samples := writeText(t, "p", "operator,country,rat,signal_quality,download_kbps,upload_kbps,latency_ms_avg,latency_ms_stdev\ntelia,norway,3G,good,6192.6,1997.3,87.7,59.8\n")
	log := writeText(t, "l", "time,download,upload,rtt\n1,8000,1000,50\n")
	atc := writeText(t, "a", `{"down":{"rate":780,"delay":{"delay":100}},"up":{"rate":330}}`)
	delays := writeText(t, "o", "0 250\n10 260\n")
	out := filepath.Join(t.TempDir(), "capture")
	if _, err := call(t, "replay", "--profile", "geo/qirse-sat", "--way", "down", "--out", out, writeCapture(t, 100)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		ok   func(p *profiles.Profile) bool
	}{
		{[]string{"mahimahi", "--down", mahimahi}, func(p *profiles.Profile) bool { return len(p.Down.Delivery.Times) == 4 && p.Up.Delivery == nil }},
		{[]string{"cellreplay", "--up", mahimahi + "," + light}, func(p *profiles.Profile) bool { return p.Up.Train.Lines[1].Delay == 40*link.Millisecond }},
		{[]string{"theaterq", "--down", theaterq, "--end", "loop"}, func(p *profiles.Profile) bool {
			return p.Down.Trace.Period == 2*link.Second && p.Down.Queue.Limit == stage.Limit{Packets: 500}
		}},
		{[]string{"table", table, "--end", "clear"}, func(p *profiles.Profile) bool { return p.Down.Trace.Steps[1].Outage && len(p.Up.Trace.Steps) == 2 }},
		{[]string{"errant", scenario, "--samples", samples}, func(p *profiles.Profile) bool { return len(p.Down.Trace.Steps) == 3 }},
		{[]string{"errant-log", log}, func(p *profiles.Profile) bool { return *p.Up.Trace.Steps[0].Delay == 25*link.Millisecond }},
		{[]string{"atc", atc}, func(p *profiles.Profile) bool { return *p.Down.Trace.Steps[0].Rate == 780_000 }},
		{[]string{"opensand", "--up", delays}, func(p *profiles.Profile) bool { return *p.Up.Trace.Steps[1].Delay == 260*link.Millisecond }},
		{[]string{"capture", "--down", out, "--interface", "a"}, func(p *profiles.Profile) bool { return len(p.Down.Delivery.Times) > 50 }},
	} {
		text, err := call(t, append([]string{"trace", "import"}, c.args...)...)
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		p, problems := profiles.Parse([]byte(text))
		if p == nil || p.Name != "mine/trace" || !c.ok(p) {
			t.Errorf("%v: %v\n%s", c.args, problems, text)
			continue
		}
		if text, err = call(t, "sim", "--profile", writeText(t, "x.toml", text), "--load", "ping", "--for", "5s", "--json"); err != nil {
			t.Errorf("%v: %v\n%s", c.args, err, text)
		}
	}
}

// TestTraceFade: the attenuation of OpenSAND's file, interpolated, is taken
// from the Es/N0 of the carrier: 12 dB clear, 2 dB at 10 s, 4 dB at 20 s.
func TestTraceFade(t *testing.T) {
	text, err := call(t, "trace", "import", "attenuation", "--profile", "geo/fade-shallow", "--down", writeText(t, "a", "0 0\n10 2\n20 4\n"), "--name", "mine/fade")
	if err != nil {
		t.Fatal(err)
	}
	series := filepath.Join(t.TempDir(), "s.json")
	if _, err := call(t, "sim", "--profile", writeText(t, "x.toml", text), "--load", "ping", "--for", "25s", "--series", series); err != nil {
		t.Fatal(err, text)
	}
	s, err := readSeries(nil, series)
	if err != nil {
		t.Fatal(err)
	}
	// Value i is taken at (i+1) tenths of a second.
	esN0 := s.Column("down.es_n0_db").Values
	for i, want := range map[int]float64{0: 12, 49: 11, 99: 10, 149: 9, 199: 8, 240: 8} {
		if got := float64(esN0[i]); math.Abs(got-want) > 0.05 {
			t.Errorf("at %.1f s %v dB, want %v", float64(i+1)/10, got, want)
		}
	}
}

// TestTraceExport: a profile of 18.89 Mbit/s for 6 s has
// 18.89e6·6/12000 = 9,445 opportunities; saturated, of which frames without
// their 14 bytes of header come through, 1500/1514 of that.
func TestTraceExport(t *testing.T) {
	text, err := call(t, "trace", "export", "mahimahi", "--profile", "seed/000-skt", "--way", "down", "--for", "6s")
	if n := strings.Count(text, "\n"); err != nil || n != 9445 {
		t.Errorf("%v: %d lines, want 9445", err, n)
	}
	text, err = call(t, "trace", "export", "mahimahi", "--profile", "seed/000-skt", "--way", "down", "--for", "6s", "--saturated")
	if n := strings.Count(text, "\n"); err != nil || n < 9345 || n > 9365 {
		t.Errorf("%v: %d lines, want 9358 or so", err, n)
	}
	text, err = call(t, "trace", "export", "theaterq", "--profile", "seed/000-skt", "--way", "up", "--for", "2s")
	if err != nil || !strings.Contains(text, "\n2000000,12900000,15940000,0,") {
		t.Errorf("%v\n%s", err, text)
	}
	text, err = call(t, "trace", "export", "table", "--profile", "geo/qirse-satloss")
	if err != nil || !strings.Contains(text, "\n0,20000000,0.3,0.01,2000000,0.3,0.01\n") {
		t.Errorf("%v\n%s", err, text)
	}
	// A trace comes out as it went in.
	const lines = "0\n0\n5\n10\n"
	profile, err := call(t, "trace", "import", "mahimahi", "--up", writeText(t, "m", lines))
	if err == nil {
		text, err = call(t, "trace", "export", "mahimahi", "--way", "up", "--profile", writeText(t, "x.toml", profile))
	}
	if err != nil || text != lines {
		t.Errorf("%v: %q", err, text)
	}
}

// TestRecordedChannel: a recorded channel gives the same fates again, record
// by record, but for the place that lost a packet.
func TestRecordedChannel(t *testing.T) {
	in, dir := writeCapture(t, 2000), t.TempDir()
	record, a, b := filepath.Join(dir, "r.csv"), filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if _, err := call(t, "replay", "--profile", "geo/qirse-satloss", "--way", "up", "--record", record, "--out", a, in); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, "replay", "--channel", record, "--way", "up", "--out", b, in); err != nil {
		t.Fatal(err)
	}
	was, is := fates(t, a), fates(t, b)
	if len(was) != 2000 || len(is) != 2000 {
		t.Fatalf("%d and %d records, want 2000", len(was), len(is))
	}
	lost := 0
	for i := range was {
		if was[i] != is[i] {
			t.Fatalf("record %d was %q, is %q", i, was[i], is[i])
		}
		if strings.Contains(was[i], "lost random") {
			lost++
		}
	}
	if lost == 0 {
		t.Error("nothing was lost")
	}
}

// fates returns instant, packet and fate of each record, without the stage.
func fates(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcap.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		fate, _, _ := strings.Cut(p.Comment, " at ")
		out = append(out, fmt.Sprint(p.Time, p.ID, fate))
	}
}

func TestTraceStatus(t *testing.T) {
	bad := writeText(t, "bad", "5\n3\n")
	for i, c := range []struct {
		want int
		args string
	}{
		{2, "import"},
		{2, "import morse"},
		{2, "import table"},
		{2, "import table x --down y"},
		{2, "import mahimahi x"},
		{2, "import mahimahi"},
		{2, "import mahimahi --down x,y"},
		{2, "import cellreplay --down x"},
		{2, "import mahimahi --down x --end never"},
		{2, "import errant x"},
		{2, "import table x --samples y"},
		{2, "import attenuation --down x"},
		{2, "import table x --profile y"},
		{1, "import attenuation --down x --profile geo/none"},
		{1, "import attenuation --down x --profile geo/qirse-sat"},
		{1, "import attenuation --down /none --profile geo/fade-shallow"},
		{1, "import table /none"},
		{1, "import mahimahi --down /none"},
		{1, "import mahimahi --down " + bad},
		{1, "import errant x --samples /none"},
		{2, "export"},
		{2, "export morse --profile geo/qirse-sat"},
		{2, "export mahimahi --profile geo/qirse-sat"},
		{2, "export table --way up --profile geo/qirse-sat"},
		{2, "export mahimahi --way up"},
		{2, "export theaterq --way up --saturated --profile geo/qirse-sat"},
		{1, "export mahimahi --way up --profile geo/none"},
		{1, "export mahimahi --way up --profile clear"},
		{0, "export table --profile clear"},
	} {
		if got := quiet(t, append([]string{"trace"}, strings.Fields(c.args)...)); got != c.want {
			t.Errorf("%s: %s: status %d, want %d", strconv.Itoa(i), c.args, got, c.want)
		}
	}
}
