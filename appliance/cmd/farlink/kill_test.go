package main

import (
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"farlink/appliance"
	"farlink/appliance/lab"
)

// TestCase22KilledAtRandom kills the daemon at random instants of its start and its
// life. Each time the pair passes frames, and in the end, after one clean
// stop, the ports are as they were before the first start. FARLINK_KILLS says
// how often (docs of the benchmark use 1000).
func TestCase22KilledAtRandom(t *testing.T) {
	t.Parallel()
	kills, err := strconv.Atoi(os.Getenv("FARLINK_KILLS"))
	if err != nil {
		kills = 4
	}
	l := labUp(t)
	stop(t, l.PID)
	before := portPicture(t, l)
	first := serveLab(t, l) // the program is on the ports from now on
	ready(t, l, first)
	first.Process.Kill()
	first.Wait()
	least(t, ping(t, l, "10.77.0.2", 1))
	for i := range kills {
		c := serveLab(t, l)
		after := time.Duration(rand.Int64N(int64(400 * time.Millisecond)))
		time.Sleep(after)
		c.Process.Kill()
		c.Wait()
		out, _, _ := farlink(t, "lab", "exec", "--name", l.Name, "a", "ping", "-c", "3", "-i", "0.3", "-W", "1", "10.77.0.2")
		if !strings.Contains(out, " received") || strings.Contains(out, " 0 received") {
			t.Fatalf("kill %d, %v after the start: no frame passes\n%s", i, after, out)
		}
	}
	c := serveLab(t, l)
	ready(t, l, c)
	c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil {
		t.Errorf("clean stop: %v", err)
	}
	after, was := strings.Split(portPicture(t, l), "\n"), strings.Split(before, "\n")
	for i := range max(len(after), len(was)) {
		if i >= len(after) || i >= len(was) || after[i] != was[i] {
			t.Fatalf("ports are not as before:\n%q\n%q", after[min(i, len(after)):], was[min(i, len(was)):])
		}
	}
}

// A bench that must not go on without its link asks for fallback = "cut".
func TestFallbackCut(t *testing.T) {
	t.Parallel()
	l := labUp(t)
	path := lab.Root + "/" + l.Name + "/config.toml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := strings.Replace(string(text), "[[pairs]]", "[[pairs]]\nfallback = \"cut\"", 1)
	if err := os.WriteFile(path, []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	stop(t, l.PID)
	c := serveLab(t, l)
	ready(t, l, c)
	least(t, ping(t, l, "10.77.0.2", 1))
	c.Process.Kill()
	c.Wait()
	out, _, _ := farlink(t, "lab", "exec", "--name", l.Name, "a", "ping", "-c", "3", "-i", "0.2", "-W", "0.4", "10.77.0.2")
	if !strings.Contains(out, " 0 received") {
		t.Errorf("frames pass a pair that was to be cut:\n%s", out)
	}
}

// serveLab starts a daemon for the lab in the place of a killed one.
func serveLab(t *testing.T, l lab.Lab) *exec.Cmd {
	t.Helper()
	c := another("serve", "--config", lab.Root+"/"+l.Name+"/config.toml")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// ready waits until the daemon's link stands.
func ready(t *testing.T, l lab.Lab, c *exec.Cmd) {
	t.Helper()
	eventually(t, 10*time.Second, "the link stands", func() bool {
		now, err := lab.Find(l.Name)
		return err == nil && now.PID == c.Process.Pid && state(t, now).Word == appliance.Emulating
	})
}

// stop ends the daemon cleanly.
func stop(t *testing.T, pid int) {
	t.Helper()
	syscall.Kill(pid, syscall.SIGTERM)
	eventually(t, 10*time.Second, "the daemon ends", func() bool { return ended(pid) })
}

// portPicture is what the kernel says of the ports.
func portPicture(t *testing.T, l lab.Lab) string {
	t.Helper()
	return sh(t, strings.ReplaceAll(`for p in a1 b1; do
		ip -n NS-box -d -o link show $p 2>/dev/null; ip netns exec NS-box ethtool -k $p; ip netns exec NS-box ethtool -l $p
		ip netns exec NS-box cat /proc/sys/net/ipv6/conf/$p/disable_ipv6; done
		ls /sys/fs/bpf/farlink | grep lab-NS || true; ls /run/farlink/labs/NS/state`, "NS", l.Name))
}

// A daemon that was killed while the disk filled up starts with what is
// stored, says so, and refuses what it could not keep.
func TestStartWithFullDisk(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	l := labUp(t, "--profile", "geo/qirse-sat", "--api", free.Addr().String()) // the same after the start
	dir := lab.Root + "/" + l.Name + "/state"
	syscall.Kill(l.PID, syscall.SIGKILL)
	eventually(t, 10*time.Second, "the daemon ends", func() bool { return ended(l.PID) })
	sh(t, strings.ReplaceAll(`cp -a DIR DIR.was; mount -t tmpfs -o size=256k none DIR; cp -a DIR.was/. DIR; rm -r DIR.was
		dd if=/dev/zero of=DIR/fill bs=4k 2>/dev/null || true`, "DIR", dir))
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	c := serveLab(t, l)
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	eventually(t, 10*time.Second, "the API answers", func() bool {
		a, err := http.Get(l.API + "/healthz")
		if err == nil {
			a.Body.Close()
		}
		return err == nil
	})
	eventually(t, 10*time.Second, "the link stands", func() bool { return state(t, l).Word == appliance.Emulating })
	if _, body := ask(t, l, http.MethodGet, "/status", ""); !strings.Contains(body, `"storage":"write `) {
		t.Errorf("status says nothing: %s", body)
	}
	if status, body := ask(t, l, http.MethodPut, "/link", `{"profile": "clear"}`); status != http.StatusInsufficientStorage {
		t.Errorf("PUT: %d %s", status, body)
	}
	if p := state(t, l).Want.Profile; p != "geo/qirse-sat" {
		t.Errorf("want is %s", p)
	}
}
