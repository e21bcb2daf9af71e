package wire

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"farlink/emulator/netlab"
	"farlink/emulator/netspace"
	"farlink/emulator/wire/steer"
)

// The carrier of a veth just made comes a little later, by itself.
var moving = regexp.MustCompile(`promiscuity \d+|NO-CARRIER,|,LOWER_UP|state \w+`)

// portState is all that a port shows of itself.
func portState(t *testing.T, l *netlab.Lab) string {
	t.Helper()
	var all string
	for _, args := range []string{"ip -d link show", "ethtool -k " + l.PortA, "ethtool -k " + l.PortB, "ip addr", "ip route", "ls /sys/fs/bpf/farlink/" + l.Box} {
		var out []byte
		netspace.Do(l.Box, func() error {
			f := strings.Fields(args)
			out, _ = exec.Command(f[0], f[1:]...).Output()
			return nil
		})
		all += args + "\n" + string(out)
	}
	return moving.ReplaceAllString(all, "")
}

// After Remove the ports, and the BPF file system, are as before the first
// Start: after a clean end, a kill, and a second engine that took over.
func TestRemoveLeavesTheKernelAsItWas(t *testing.T) {
	eachAttach(t, func(t *testing.T, how steer.Attach) {
		l := newLab(t, netlab.Options{})
		before := portState(t, l)
		c := Config{Pair: l.Box, A: l.PortA, B: l.PortB, Netns: l.Box, Attach: how}
		t.Cleanup(func() { Remove(c.Pair) }) // also when the test ends early
		for _, kill := range []bool{true, false} {
			e, err := Start(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if kill {
				e.kill()
				<-e.Done()
			} else if !e.Report().TakenOver {
				t.Error("not taken over")
			}
			e.Close()
		}
		if during := portState(t, l); during == before {
			t.Fatal("nothing to see of the program: the comparison is blind")
		}
		if err := Remove(c.Pair); err != nil {
			t.Fatal(err)
		}
		if after := portState(t, l); after != before {
			for i, line := range strings.Split(before, "\n") {
				if a := strings.Split(after, "\n"); i >= len(a) || a[i] != line {
					t.Fatalf("line %d of\n%s\nwas %q", i+1, after, line)
				}
			}
		}
		if err := Remove(c.Pair); err != nil {
			t.Errorf("remove again: %v", err)
		}
		if _, err := os.Stat(steer.Dir(c.Pair)); !os.IsNotExist(err) {
			t.Errorf("pin directory: %v", err)
		}
	})
}
