package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"farlink/appliance/experiment"
	"farlink/emulator/need"
)

const tiny = `name = "tiny"
about = "30 ms and 130 ms"
profiles = ["geo/qirse-t"]
repetitions = 2
settle = "100ms"
[[settings]]
name = "near"
[[settings]]
name = "far"
[settings.overrides.down.path]
delay = "115ms"
[[traffic]]
name = "ping"
kind = "ping"
every = "50ms"
duration = "600ms"
[[traffic]]
name = "bulk"
kind = "tcp"
duration = "600ms"
[[traffic]]
name = "shell"
kind = "command"
on = "b"
command = ["sh", "-c", "ip -o -4 address show dev b0; echo {a}"]
pick = { network_number = "10[.]([0-9]+)[.]0[.]2/24" }
duration = "1s"
[[expect]]
metric = "ping.rtt_min_ms"
least = 30
most = 60
setting = "near"
`

func tinyFile(t *testing.T, text string) (file, out string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "tiny.toml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file, filepath.Join(dir, "out")
}

// TestRunKilled: what was measured before kill -9 is kept, the rest is
// measured by --resume, and the lab of the one that was killed goes.
func TestRunKilled(t *testing.T) {
	t.Parallel()
	need.Root(t)
	file, out := tinyFile(t, tiny)
	c := another("run", file, "--out", out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	cells := func() []string {
		found, err := filepath.Glob(out + "/cells/*.json")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	eventually(t, 60*time.Second, "a cell is measured", func() bool { return len(cells()) > 0 })
	c.Process.Signal(syscall.SIGKILL)
	c.Wait()
	before := cells()
	was, err := os.Stat(before[0])
	if err != nil || len(before) == 4 {
		t.Fatal(err, before)
	}
	name, err := os.ReadFile(out + "/lab")
	if err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := farlink(t, "run", file, "--out", out); status != failed || !strings.Contains(stderr, "--resume") {
		t.Errorf("begun anew: %d %s", status, stderr)
	}
	var o experiment.Outcome
	if err := json.Unmarshal([]byte(must(t, "run", file, "--out", out, "--resume", "--json")), &o); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(before[0]); err != nil || !now.ModTime().Equal(was.ModTime()) || len(cells()) != 4 {
		t.Errorf("%s was measured again: %v", before[0], err)
	}
	if left := traces(t, string(name), nil); len(left) > 0 {
		t.Errorf("the lab of the one that was killed is left: %v", left)
	}
	checkTiny(t, o)
	for _, f := range []string{"report.html", "cells.csv", "junit.xml", "results.json"} {
		if _, err := os.Stat(filepath.Join(out, f)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "lab")); err == nil {
		t.Error("a lab is noted still")
	}
}

// checkTiny: the settings differ by the 100 ms that they are to differ by.
func checkTiny(t *testing.T, o experiment.Outcome) {
	t.Helper()
	if o.Passed != 4 || o.Cells != 4 {
		t.Errorf("%d of %d passed: %+v", o.Passed, o.Cells, o.Records)
	}
	found := false
	for _, d := range o.Differences {
		if d.Metric == "ping.rtt_min_ms" {
			found = true
			if d.Mean < 95 || d.Mean > 110 || d.N != 2 {
				t.Errorf("far is %v ms beyond near, want 100: %+v", d.Mean, d)
			}
		}
	}
	for _, r := range o.Records {
		if r.Metrics["shell.network_number"] != 77 || r.Metrics["bulk.goodput_bps"] <= 0 || r.Metrics["link.down_delivered_bps"] <= 0 {
			t.Errorf("%s: %v", r.ID, r.Metrics)
		}
	}
	if !found {
		t.Error("no difference of round trips")
	}
}

// TestRunInLab: on a box that stands already the link is as before in the
// end, and a cell that is not as expected fails the command.
func TestRunInLab(t *testing.T) {
	t.Parallel()
	l := labUp(t, "--profile", "terrestrial/interop", "--seed", "4")
	file, out := tinyFile(t, strings.Replace(tiny, "most = 60", "most = 31\nleast_ = 1", 1))
	if _, stderr, status := farlink(t, "run", file, "--out", out, "--lab", l.Name); status != failed || !strings.Contains(stderr, file+`:`) || !strings.Contains(stderr, `"least_"`) {
		t.Errorf("%d %s", status, stderr)
	}
	file, out = tinyFile(t, strings.Replace(strings.Replace(tiny, "least = 30", "least = 300", 1), "most = 60", "", 1))
	_, stderr, status := farlink(t, "run", file, "--out", out, "--lab", l.Name)
	if status != failed || !strings.Contains(stderr, "[1/4] geo/qirse-t, near, seed 1, repetition 1: failed: ping.rtt_min_ms is 3") {
		t.Errorf("%d %s", status, stderr)
	}
	if s := state(t, l); s.Want.Profile != "terrestrial/interop" || s.Want.Seed != 4 {
		t.Errorf("the link is not as before: %+v", s.Want)
	}
	if _, body := ask(t, l, "GET", "/lease", ""); !strings.Contains(body, `"held":false`) {
		t.Error("the lease was not given back:", body)
	}
	if _, body := ask(t, l, "GET", "/runs", ""); strings.TrimSpace(body) != "[]" {
		t.Error("runs are left:", body)
	}
}

func TestRunList(t *testing.T) {
	t.Parallel()
	if out := must(t, "run", "--list"); !strings.Contains(out, "geo-pep ") || !strings.Contains(out, "bufferbloat") {
		t.Error(out)
	}
	if out := must(t, "run", "geo-pep", "--list", "--quick"); !strings.Contains(out, "3 cells, about ") {
		t.Error(out)
	}
	for _, args := range [][]string{{"run"}, {"run", "geo-pep", "--api", "127.0.0.1:1"}, {"run", "geo-pep", "--api", "127.0.0.1:1", "--host-a", "x", "--host-b", "10.0.0.1"}} {
		if _, stderr, status := farlink(t, args...); status != misuse {
			t.Errorf("%v: status %d: %s", args, status, stderr)
		}
	}
}
