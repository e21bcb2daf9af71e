package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// No command writes a file that it reads, by whatever name, nor one file
// twice; and what it read is as it was.
func TestOutputIsNoInput(t *testing.T) {
	in := writeCapture(t, 3)
	dir := filepath.Dir(in)
	hard, soft := filepath.Join(dir, "hard.pcapng"), filepath.Join(dir, "soft.pcapng")
	series, mine := filepath.Join(dir, "series.svg"), filepath.Join(dir, "mine.toml")
	for _, err := range []error{os.Link(in, hard), os.Symlink(in, soft), os.WriteFile(series, []byte("t_s,down.loss_packets\n0,1\n1,2\n2,3\n"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := call(t, "profiles", "show", "clear")
	if err == nil {
		err = os.WriteFile(mine, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(dir, "new")
	for _, args := range []string{
		"replay --profile clear --way up --out IN IN", "replay --profile clear --way up --out HARD IN", "replay --profile clear --way up --out SOFT IN",
		"replay --profile clear --way up --out IN SOFT", "sim --profile clear --in IN --way up --out " + dir + "/./in.pcapng",
		"replay --profile MINE --way up --out MINE IN", "replay --profile clear --way up --record NEW --out NEW IN",
		"replay --profile clear --way up --record IN --out NEW IN", "replay --channel HARD --way up --out IN NEW",
		"sim --profile MINE --load ping --series MINE", "plot SERIES --out SERIES",
		"trace record --way up --out IN HARD", "trace record --way up --out NEW --came IN IN", "trace record --way up --out NEW --came NEW IN",
	} {
		before := contents(t, in, series, mine)
		args = strings.NewReplacer("IN", in, "HARD", hard, "SOFT", soft, "MINE", mine, "NEW", fresh, "SERIES", series).Replace(args)
		if _, err := call(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), "to write") {
			t.Errorf("%s: %v, want it refused", args, err)
		}
		if contents(t, in, series, mine) != before {
			t.Fatalf("%s: an input has changed", args)
		}
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("what was refused left a file")
	}
}

func contents(t *testing.T, names ...string) string {
	t.Helper()
	all := ""
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(b)
	}
	return all
}

// A faulty input leaves an older output as it was, and nothing beside it.
func TestFaultLeavesTheOlderOutput(t *testing.T) {
	good := writeCapture(t, 20)
	dir := t.TempDir()
	bad, out := filepath.Join(dir, "bad.pcapng"), filepath.Join(dir, "out.pcapng")
	if err := os.WriteFile(bad, []byte(strings.Repeat("no capture ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, "replay", "--profile", "clear", "--way", "up", "--out", out, good); err != nil {
		t.Fatal(err)
	}
	before := contents(t, out)
	for _, args := range []string{"replay --profile clear --way up --out " + out + " " + bad, "sim --profile clear --in " + bad + " --way up --out " + out,
		"replay --profile clear --way up --record " + out + " --out " + dir + "/fates.pcapng " + bad} {
		if _, err := call(t, strings.Fields(args)...); err == nil {
			t.Errorf("%s: no error", args)
		}
		if contents(t, out) != before {
			t.Fatalf("%s: the older output is gone", args)
		}
	}
	if there, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(there) != 2 {
		t.Errorf("%v, %v: want the input and the older output", there, err)
	}
	if hidden, err := filepath.Glob(filepath.Join(dir, ".*pcapng*")); err != nil || len(hidden) != 0 {
		t.Errorf("left behind: %v, %v", hidden, err)
	}
}

// A figure is an SVG or a PNG, and its file says which.
func TestFigureIsSVGOrPNG(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x.gif", "x", "run.json", "x.svg.txt"} {
		_, err := call(t, "plot", "--profile", "clear", "--load", "ping", "--for", "1s", "--out", filepath.Join(dir, name))
		if err == nil || !strings.Contains(err.Error(), "want FILE.svg, FILE.png") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) != 0 {
		t.Errorf("%v, %v: want nothing", there, err)
	}
}

// Who ends the program while it writes finds the older files, and no others.
func TestInterruptedOutput(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.pcapng")
	if err := os.WriteFile(out, []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := another("replay", "--profile", "clear", "--way", "up", "--record", filepath.Join(dir, "day.csv"), "--out", out, "-")
	if _, err := c.StdinPipe(); err != nil { // which says nothing
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		there, err := os.ReadDir(dir)
		if err != nil || time.Since(begun) > 10*time.Second {
			t.Fatalf("%v, %v: want three files", there, err)
		}
		if len(there) == 3 { // the older one, and two beside
			break
		}
	}
	time.Sleep(100 * time.Millisecond) // from the file to its watch
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("interrupted, and all well")
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) != 1 || contents(t, out) != "older" {
		t.Errorf("%v, %v: want the older file", there, err)
	}
}
