package api

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sys/unix"

	"farlink/appliance"
	"farlink/appliance/api/entry"
	"farlink/appliance/api/problem"
	"farlink/appliance/run"
	"farlink/emulator/need"
)

// A full disk is no bug of the box: the answer names it.
func TestFullDisk(t *testing.T) {
	for _, errno := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EDQUOT} {
		full := fmt.Errorf("state file: %w", &fs.PathError{Op: "write", Path: "/s/pair-main.json", Err: errno})
		for _, err := range []error{problem.Refuse(full, "body"), entry.TurnAway(full), refuseRun(full)} {
			p, ok := err.(*huma.ErrorModel)
			if !ok || p.Status != http.StatusInsufficientStorage || p.Type != problem.URN+"storage" || !strings.Contains(p.Detail, errno.Error()) {
				t.Errorf("%v: %#v", errno, err)
			}
		}
	}
}

// A disk that fills while a run goes on is one event, not one in each tenth
// of a second, and the run tells of it.
func TestFullDiskDuringRun(t *testing.T) {
	dir := t.TempDir()
	need.That(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k") == nil, "a tmpfs of its own")
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	b := newBench(t, func(c *Config) { c.State = dir })
	if got := b.ask(driveToken, "PUT", "/api/v1/runs/night", `{}`); got.StatusCode != 200 {
		t.Fatal(got.body)
	}
	other, err := os.Create(filepath.Join(dir, "other"))
	for ; err == nil; _, err = other.Write(make([]byte, 512)) {
	}
	other.Close()
	told := func() (n int) {
		s := b.box.Subscribe(0)
		defer s.Close()
		for _, e := range s.Past {
			if e.Kind == appliance.KindStorage && strings.Contains(e.Text, "run night") {
				n++
			}
		}
		return n
	}
	b.until("the full disk is told of", func() bool { return told() > 0 })
	if got := b.ask(driveToken, "PUT", "/api/v1/runs/night", `{"phase":"stopped"}`); got.StatusCode != 507 {
		t.Errorf("stopped without room: %d %s", got.StatusCode, got.body)
	}
	if n := told(); n != 1 {
		t.Errorf("told %d times", n)
	}
	if err := os.Remove(filepath.Join(dir, "other")); err != nil {
		t.Fatal(err)
	}
	got := b.ask(driveToken, "PUT", "/api/v1/runs/night", `{"phase":"stopped"}`)
	if r := decoded[run.Run](t, got.body); got.StatusCode != 200 || len(r.Gaps) != 1 || r.Gaps[0].Samples == 0 {
		t.Errorf("stopped with room: %d %s", got.StatusCode, got.body)
	}
	if got := b.ask(readToken, "GET", "/api/v1/runs/night/report", ""); !strings.Contains(got.body, "samples are missing") {
		t.Error("the report keeps quiet")
	}
}
