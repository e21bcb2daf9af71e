package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"farlink/appliance/lab"
)

// TestUnit: systemd understands every line of the unit.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd-analyze here")
	}
	unit, err := os.ReadFile("../../../docs/farlink.service")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "farlink.service")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(unit), "/usr/bin/farlink", self(t))), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", file).CombinedOutput(); err != nil || strings.Contains(string(out), "farlink.service:") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestCapabilities: with the capabilities of docs/farlink.service and no
// others a daemon forwards through its link; and it recovers after a kill in
// the sandbox, whose mount namespace takes the proxies' namespaces along.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("no setpriv here")
	}
	unit, err := os.ReadFile("../../../docs/farlink.service")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^CapabilityBoundingSet=(.*)$`).FindSubmatch(unit)
	if line == nil {
		t.Fatal("docs/farlink.service has no CapabilityBoundingSet")
	}
	set := "-all"
	for word := range strings.FieldsSeq(strings.ToLower(string(line[1]))) {
		set += ",+" + strings.TrimPrefix(word, "cap_")
	}
	l := labUp(t, "--profile", "geo/qirse-t", "--pep")
	syscall.Kill(l.PID, syscall.SIGTERM)
	eventually(t, 5*time.Second, "the daemon ends", func() bool { return ended(l.PID) })
	start := func() *exec.Cmd {
		c := exec.Command("unshare", "--mount", "--propagation", "slave", "setpriv", "--bounding-set", set, "--inh-caps", "-all", "--no-new-privs",
			self(t), "serve", "--config", lab.Root+"/"+l.Name+"/config.toml")
		c.Env = append(os.Environ(), "FARLINK_TEST=1")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
		eventually(t, 20*time.Second, "a ping passes the link", func() bool {
			found, err := lab.Find(l.Name)
			if err != nil || found.PID != c.Process.Pid {
				return false
			}
			out, _ := exec.Command("ip", "netns", "exec", l.NsA, "ping", "-c", "1", "-W", "1", "10.77.0.2").CombinedOutput()
			rtt := regexp.MustCompile(`time=(\d+)`).FindSubmatch(out)
			return rtt != nil && len(rtt[1]) >= 2 // 30 ms; without a link it is none
		})
		return c
	}
	first := start()
	// As systemd does it: all of the unit's processes at once.
	syscall.Kill(-first.Process.Pid, syscall.SIGKILL)
	first.Wait()
	second := start()
	second.Process.Signal(syscall.SIGTERM)
	if err := second.Wait(); err != nil {
		t.Errorf("the daemon does not end: %v", err)
	}
}
