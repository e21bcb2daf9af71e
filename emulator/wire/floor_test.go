package wire

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
	"farlink/emulator/need"
	"farlink/emulator/netlab"
	"farlink/emulator/wire/steer"
)

// An engine measures its floor with frames of its own, in both ways that the
// program can sit: each frame came through, the witness outside sees the same
// frames take as long (within what a shared machine allows), the pair's own
// book knows nothing of them, and no trace is left.
func TestFloorIsMeasured(t *testing.T) {
	eachAttach(t, func(t *testing.T, how steer.Attach) {
		pins := listed(t, "/sys/fs/bpf/farlink")
		r := newRig(t, netlab.Options{}, Config{Attach: how})
		f := r.Report().Floor
		if f.Why != "" || f.Frames < floorFrames/2 || f.Attached != how {
			t.Fatalf("%+v", f)
		}
		if f.P50 <= 0 || f.P50 > 5*link.Millisecond || f.P99 < f.P50 || f.WitnessP50 <= 0 {
			t.Errorf("%+v", f)
		}
		if apart := f.WitnessP50 - f.P50; apart < -200*link.Microsecond || apart > 200*link.Microsecond {
			t.Errorf("the witness says %v, the ledger %v", f.WitnessP50, f.P50)
		}
		if in := r.Stats().Ways[link.Up].Book.In; in > 20 {
			t.Errorf("%d frames in the book of the pair", in)
		}
		for _, name := range listed(t, "/sys/fs/bpf/farlink") {
			if strings.Contains(name, "floor") && !strings.Contains(strings.Join(pins, " "), name) {
				t.Errorf("pins of the measurement are left: %s", name)
			}
		}
		t.Logf("%+v", f)
	})
}

func listed(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The next engine of a pair takes over what the one before found, and one
// whose program is to sit otherwise measures anew.
func TestFloorIsRemembered(t *testing.T) {
	need.Root(t)
	known := Floor{Attached: steer.Generic, Frames: 7, P50: 42}
	if f := floorOf(Config{Before: &Report{Floor: known}}, steer.Generic); f != known {
		t.Errorf("%+v, want what is known", f)
	}
	c, err := Config{Pair: "x", A: "x", B: "y", Before: &Report{Floor: known}}.filled()
	if err != nil {
		t.Fatal(err)
	}
	if f := floorOf(c, steer.Native); f.Attached != steer.Native || f.Frames < floorFrames/2 || f.P50 == 42 {
		t.Errorf("%+v, want a measurement", f)
	}
}

// What cannot be measured says why: too few frames; or, in a process that may
// make no namespace, the right that is missing.
func TestFloorSaysWhyNot(t *testing.T) {
	var f Floor
	if err := f.take(new(ledger.Book), 0, nil); err == nil || !strings.Contains(err.Error(), "0 of 100 frames") {
		t.Errorf("%v", err)
	}
	need.Root(t)
	cmd := exec.Command("setpriv", "--bounding-set", "-sys_admin", "/proc/self/exe")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args[3] = self
	cmd.Env = []string{"FARLINK_TEST_FLOOR=1"}
	out, err := cmd.CombinedOutput()
	if want := "not measured: network namespace of one's own (want CAP_SYS_ADMIN)"; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v: %s; want %s", err, out, want)
	}
}
