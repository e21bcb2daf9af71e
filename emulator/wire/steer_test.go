package wire

import (
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"testing"
	"time"

	"farlink/emulator/netlab"
	"farlink/emulator/netspace"
	"farlink/emulator/wire/steer"
)

// A daemon sees and sets what holds beside an engine, and after one.
func TestInspectAndForce(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Fallback: steer.Cut, Patience: 300 * time.Millisecond})
	dir := steer.Dir(r.config.Pair)
	see := func() steer.Inspection {
		in, err := steer.Inspect(dir)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	early := see() // before the engine was there a frame may have come
	bothWays(t, r.Lab, []netlab.Kind{netlab.Sized(100)})
	in := see()
	if in.Mode != steer.Emulate || in.Fallback != steer.Cut || in.Patience != 3e8 || in.Counts[0].Emulated.Frames == 0 || in.Counts[0].FellBack != early.Counts[0].FellBack {
		t.Errorf("%+v", in)
	}
	for port, beat := range in.Beats {
		if age := nanotime() - beat; age < 0 || age > 3e8 {
			t.Errorf("port %d: a beat %d ns ago", port, age)
		}
	}
	r.Engine.Close()
	if d, _ := netlab.Probe(r.A, r.B, netlab.ProbeOptions{Count: 5, Wait: 2e7}); len(d.NS) > 0 {
		t.Errorf("%d of 5 passed a cut", len(d.NS))
	}
	if n := see().Counts[0]; n.FellBack.Frames < 5 || n.Cut.Frames < 5 {
		t.Errorf("%+v", n)
	}
	if err := steer.Force(dir, steer.Bypass, steer.Bypass); err != nil {
		t.Fatal(err)
	}
	bothWays(t, r.Lab, []netlab.Kind{netlab.Sized(100)})
	if n := see().Counts[0].Bypassed; n.Frames == 0 || n.Bytes < 100 {
		t.Errorf("%+v", n)
	}
	if _, err := steer.Inspect(steer.Dir("nosuch")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v; want: does not exist", err)
	}
}

// An applied document that no frame meets is said not to be effective.
func TestNotEffectiveInBypass(t *testing.T) {
	r := newRig(t, netlab.Options{}, Config{})
	a, err := r.Apply((&plain{}).doc())
	if err != nil || a.NotEffective != "" {
		t.Errorf("%v %q", err, a.NotEffective)
	}
	if err := r.SetMode(steer.Bypass); err != nil {
		t.Fatal(err)
	}
	if a, err = r.Apply((&plain{}).doc()); err != nil || !strings.Contains(a.NotEffective, "bypass") {
		t.Errorf("%v %q", err, a.NotEffective)
	}
}

// A port with several receive queues is refused with the way to mend it.
func TestSeveralQueuesAreRefused(t *testing.T) {
	l := newLab(t, netlab.Options{})
	err := netspace.Do(l.Box, func() error {
		if out, err := exec.Command("ip", "link", "add", "q1", "numrxqueues", "4", "numtxqueues", "4", "type", "veth", "peer", "name", "q2", "numrxqueues", "4", "numtxqueues", "4").CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		_, err := findPort("q1")
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "4 receive queues") || !strings.Contains(err.Error(), "ethtool -L q1") {
		t.Errorf("%v", err)
	}
}
