package run

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farlink/appliance"
	"farlink/emulator/need"
)

// smallDisk mounts 64 KiB as a directory.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	need.That(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k") == nil, "a tmpfs of its own")
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes all that is left of a disk.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	file := filepath.Join(dir, "other")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 512)); err != nil {
			break
		}
	}
	return func() {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// confessed checks that both reports tell of samples that are missing.
func confessed(t *testing.T, r Run, samples []Dated) {
	t.Helper()
	var html, junit bytes.Buffer
	if err := errors.Join(WriteHTML(&html, r, samples, "test"), WriteJUnit(&junit, r)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(html.String(), "samples are missing (") || !strings.Contains(junit.String(), "samples could not be written") {
		t.Errorf("the reports keep quiet about the hole")
	}
}

// A disk that is full for a while leaves a hole that the run names, in one
// piece of news each way, and nothing else: no half documents, no lost lines.
func TestFullDiskDuringRun(t *testing.T) {
	c, dir, p := &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}, smallDisk(t), pairState()
	k := open(t, dir, c)
	if _, err := k.Begin("night", "", "ci", p); err != nil {
		t.Fatal(err)
	}
	feed(t, k, c, p, 10)
	free := fill(t, dir)
	var news []Notice
	add := func(n int) {
		for range n {
			c.t = c.t.Add(Every)
			s := PairSample{Name: "main", Down: WaySample{Offered: 1e6, Packets: 1}}
			news = append(news, k.Add(Sample{Time: c.t, Pairs: []PairSample{s}}, appliance.State{Pairs: []appliance.PairState{p}})...)
		}
	}
	add(100)
	if len(news) != 1 || !strings.Contains(news[0].Text, unix.ENOSPC.Error()) || news[0].Pair != "main" {
		t.Errorf("news of a full disk: %+v", news)
	}
	if _, err := k.Mark("night", "x", "ci"); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a mark that cannot be written: %v", err)
	}
	if _, err := k.Stop("night"); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("an end that cannot be written: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*"+newAs)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	free()
	if r, err := k.Stop("night"); err != nil || len(r.Marks) != 0 || r.Phase != Stopped {
		t.Errorf("stopped again, with room: %+v, %v", r, err)
	}
	// Another one goes on when there is room again.
	if _, err := k.Begin("day", "", "ci", p); err != nil {
		t.Fatal(err)
	}
	add(5)
	free = fill(t, dir)
	news = nil
	add(20)
	free()
	add(10)
	if len(news) != 2 || !strings.Contains(news[1].Text, "written again") {
		t.Errorf("news of a disk that was full for a while: %+v", news)
	}
	r, err := k.Stop("day")
	if err != nil || len(r.Gaps) != 1 || r.Gaps[0].To.IsZero() {
		t.Fatalf("%+v, %v", r, err)
	}
	samples, err := k.Samples("day")
	if missing := r.Gaps[0].Samples; err != nil || missing == 0 || len(samples)+missing != 35 || len(samples) != r.Samples {
		t.Errorf("%d samples and %d missing of 35, %v", len(samples), missing, err)
	}
	confessed(t, r, samples)
	// What stands on the disk says the same.
	if r, err := open(t, dir, c).Get("night"); err != nil || r.Phase != Stopped || len(r.Gaps) != 1 || r.Gaps[0].To.IsZero() {
		t.Errorf("%+v, %v", r, err)
	}
}

// A run that cannot begin leaves nothing.
func TestFullDiskAtBegin(t *testing.T) {
	c, dir := &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}, smallDisk(t)
	k := open(t, dir, c)
	free := fill(t, dir)
	if _, err := k.Begin("night", "", "ci", pairState()); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("begun on a full disk: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "night*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	free()
	if _, err := k.Begin("night", "", "ci", pairState()); err != nil {
		t.Errorf("begun with room: %v", err)
	}
}
