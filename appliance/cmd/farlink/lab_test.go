package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"farlink/appliance"
	"farlink/appliance/lab"
)

// traces lists what of the lab the kernel still knows.
func traces(t *testing.T, name string, programs []ebpf.ProgramID) (left []string) {
	for _, pattern := range []string{"/run/netns/" + name + "*", "/sys/fs/bpf/farlink/*" + name + "*", lab.Root + "/" + name} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, found...)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), name) && strings.Contains(string(b), "serve") {
			left = append(left, path)
		}
	}
	for _, id := range programs {
		if p, err := ebpf.NewProgramFromID(id); err == nil {
			left = append(left, fmt.Sprintf("BPF program %d", id))
			p.Close()
		}
	}
	return left
}

// programs are those on the lab's ports.
func programs(t *testing.T, l lab.Lab) (ids []ebpf.ProgramID) {
	var links []struct {
		XDP struct {
			Prog struct{ ID ebpf.ProgramID }
		}
	}
	out := sh(t, "ip -n "+l.Name+"-box -d -j link")
	if err := json.Unmarshal([]byte(out), &links); err != nil {
		t.Fatal(err)
	}
	for _, p := range links {
		if p.XDP.Prog.ID != 0 {
			ids = append(ids, p.XDP.Prog.ID)
		}
	}
	return ids
}

// gone takes the lab down and looks for what stays.
func gone(t *testing.T, l lab.Lab) {
	t.Helper()
	ids := programs(t, l)
	if len(ids) != 2 {
		t.Errorf("programs %v on the ports, want one each", ids)
	}
	must(t, "lab", "down", "--name", l.Name)
	// The kernel frees programs and namespaces a moment later.
	var left []string
	for range 50 {
		if left = traces(t, l.Name, ids); len(left) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("lab down leaves %v", left)
}

func TestLabEndToEnd(t *testing.T) {
	t.Parallel()
	l := labUp(t, "--profile", "geo/qirse-sat", "--seed", "7")
	for _, to := range []string{"10.77.0.2", "fd77::2"} {
		// 300 ms each way, and what two hosts and their scheduler take.
		if rtt := least(t, ping(t, l, to, 3)); rtt < 600 || rtt > 640 {
			t.Errorf("round trip to %s through the satellite is %v ms, want 600", to, rtt)
		}
	}
	status, body := ask(t, l, http.MethodPut, "/link", `{"profile": "clear"}`)
	var a appliance.Applied
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK || !a.Hitless || !a.Effective {
		t.Errorf("PUT: %d %s", status, body)
	}
	if rtt := least(t, ping(t, l, "10.77.0.2", 5)); rtt > 40 {
		t.Errorf("round trip through a clear wire is %v ms", rtt)
	}
	if out := must(t, "status", "--lab", l.Name); !strings.Contains(out, "clear@") || !strings.Contains(out, "EMULATING") {
		t.Errorf("status:\n%s", out)
	}
	if out := must(t, "apply", "--lab", l.Name, "--seed", "9", "geo/qirse-sat"); !strings.Contains(out, "main: geo/qirse-sat@") || !strings.Contains(out, "seed 9") {
		t.Errorf("apply:\n%s", out)
	}
	checkStateTable(t, l)
	gone(t, l)
}

// checkStateTable looks for each state file in the table that lists them.
func checkStateTable(t *testing.T, l lab.Lab) {
	t.Helper()
	table, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(lab.Root + "/" + l.Name + "/state")
	if err != nil || len(files) < 4 {
		t.Fatal(err, files)
	}
	for _, f := range files {
		row := "| `" + strings.Replace(f.Name(), "-main.", "-PAIR.", 1) + "` |"
		if !f.IsDir() && !strings.Contains(string(table), row) {
			t.Errorf("docs/architecture.md does not list %s", f.Name())
		}
	}
}

func TestLinkEvents(t *testing.T) {
	t.Parallel()
	l := labUp(t)
	least(t, ping(t, l, "10.77.0.2", 2))
	if status, body := ask(t, l, http.MethodPost, "/link/events", `{"kind": "cut", "duration": "6s"}`); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	if s := state(t, l); s.Word != appliance.Cutting || s.Event == nil {
		t.Errorf("during the cut: %+v", s)
	}
	out, _, _ := farlink(t, "lab", "exec", "--name", l.Name, "a", "ping", "-c", "3", "-i", "0.2", "-W", "0.3", "10.77.0.2")
	if !strings.Contains(out, " 0 received") {
		t.Errorf("frames pass a link that is cut:\n%s", out)
	}
	eventually(t, 6*time.Second, "the cut ends", func() bool { return state(t, l).Word == appliance.Emulating })
	least(t, ping(t, l, "10.77.0.2", 2))
}

func TestKilledDaemon(t *testing.T) {
	t.Parallel()
	l := labUp(t, "--profile", "geo/qirse-sat")
	must(t, "apply", "--lab", l.Name, "--seed", "5", "geo/qirse-t")
	least(t, ping(t, l, "10.77.0.2", 1)) // the neighbours know each other
	syscall.Kill(l.PID, syscall.SIGKILL)
	if rtt := least(t, ping(t, l, "10.77.0.2", 3)); rtt > 40 {
		t.Errorf("round trip without a daemon is %v ms, want none of the link", rtt)
	}
	c := another("serve", "--config", lab.Root+"/"+l.Name+"/config.toml")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "the daemon is back", func() bool {
		l, err := lab.Find(l.Name)
		return err == nil && l.PID == c.Process.Pid
	})
	l, err := lab.Find(l.Name)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "the last want is in force", func() bool {
		s := state(t, l)
		return s.Word == appliance.Emulating && s.Want.Profile == "geo/qirse-t" && s.Want.Seed == 5
	})
	// And once more, daemon and engine together, with nobody to clean up.
	syscall.Kill(state(t, l).Engine.PID, syscall.SIGKILL)
	c.Process.Kill()
	c.Wait()
	gone(t, l)
}

func TestKilledEngine(t *testing.T) {
	t.Parallel()
	l := labUp(t, "--profile", "geo/qirse-sat")
	ask(t, l, http.MethodPut, "/runs/killed", `{}`)
	syscall.Kill(state(t, l).Engine.PID, syscall.SIGKILL)
	eventually(t, 5*time.Second, "a new engine runs", func() bool {
		s := state(t, l)
		return s.Word == appliance.Emulating && s.Engine.Restarts == 1
	})
	if rtt := least(t, ping(t, l, "10.77.0.2", 3)); rtt < 600 {
		t.Errorf("round trip through the new engine is %v ms, want 600", rtt)
	}
	notEmulated(t, l, "killed", "engine was gone for ")
}

// notEmulated stops a run and wants it INVALID for the reason, with frames that
// passed in bypass.
func notEmulated(t *testing.T, l lab.Lab, id, reason string) {
	t.Helper()
	_, body := ask(t, l, http.MethodPut, "/runs/"+id, `{"phase": "stopped"}`)
	var r struct {
		Verdict appliance.Verdict
		Faults  []string
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	if v := r.Verdict; v.Word != appliance.Invalid || !strings.HasPrefix(v.Reason, reason) || len(r.Faults) == 0 {
		t.Errorf("run %s: %+v, faults %q", id, v, r.Faults)
	}
	if _, junit := ask(t, l, http.MethodGet, "/runs/"+id+"/report?format=junit", ""); !strings.Contains(junit, reason) {
		t.Errorf("JUnit of run %s: %s", id, junit)
	}
}

func TestHungEngine(t *testing.T) {
	t.Parallel()
	l := labUp(t, "--profile", "geo/qirse-sat")
	least(t, ping(t, l, "10.77.0.2", 1)) // the neighbours know each other
	ask(t, l, http.MethodPut, "/runs/hung", `{}`)
	pid := state(t, l).Engine.PID
	syscall.Kill(pid, syscall.SIGSTOP)
	time.Sleep(500 * time.Millisecond) // fail_after is 250 ms
	if rtt := least(t, ping(t, l, "10.77.0.2", 2)); rtt > 40 {
		t.Errorf("round trip past an engine that hangs is %v ms", rtt)
	}
	eventually(t, 3*time.Second, "a fault", func() bool {
		s := state(t, l)
		return s.Word == appliance.Fault && s.Why == "engine hangs, fallback bypass is in force"
	})
	syscall.Kill(pid, syscall.SIGCONT)
	eventually(t, 3*time.Second, "the link is back", func() bool { return state(t, l).Word == appliance.Emulating })
	if s := state(t, l); s.Engine.PID != pid {
		t.Error("an engine that came back was ended")
	}
	notEmulated(t, l, "hung", "engine hung for ")
}

// An engine that stays hung is ended, by force since it hears nothing, and
// another takes over: after the 5 s that it is given, not twice that.
func TestHungEngineIsReplaced(t *testing.T) {
	t.Parallel()
	l := labUp(t, "--profile", "geo/qirse-sat")
	pid := state(t, l).Engine.PID
	syscall.Kill(pid, syscall.SIGSTOP)
	eventually(t, 9*time.Second, "another engine", func() bool {
		s := state(t, l)
		return s.Word == appliance.Emulating && s.Engine.PID != pid && s.Engine.Restarts == 1
	})
	if rtt := least(t, ping(t, l, "10.77.0.2", 2)); rtt < 590 {
		t.Errorf("round trip %v ms, want that of the link", rtt)
	}
}

// A daemon that stands still does not disturb the link, and goes on.
func TestStoppedDaemon(t *testing.T) {
	t.Parallel()
	l := labUp(t, "--profile", "geo/qirse-sat")
	syscall.Kill(l.PID, syscall.SIGSTOP)
	rtt := least(t, ping(t, l, "10.77.0.2", 2))
	syscall.Kill(l.PID, syscall.SIGCONT)
	if rtt < 590 {
		t.Errorf("round trip %v ms beside a daemon that stands still, want that of the link", rtt)
	}
	if s := state(t, l); s.Word != appliance.Emulating || s.Engine.Restarts != 0 {
		t.Errorf("%s %s, %d restarts", s.Word, s.Why, s.Engine.Restarts)
	}
}

func TestClassifierAndNewRun(t *testing.T) {
	t.Parallel()
	l := labUp(t)
	status, body := ask(t, l, http.MethodPut, "/link", `{"profile": "clear", "links": {"sat": {"profile": "geo/qirse-sat"}},
		"rules": [{"protocol": "icmpv6", "link": "pass"}, {"protocol": "icmp", "prefix": "10.77.0.0/24", "link": "sat"}]}`)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if sat, clean := least(t, ping(t, l, "10.77.0.2", 2)), least(t, ping(t, l, "fd77::2", 2)); sat < 600 || clean > 40 {
		t.Errorf("round trips %v and %v ms, want 600 by the rule and next to none past the links", sat, clean)
	}
	if s := state(t, l); s.Figures.Up.PacketsIn == 0 || len(s.Links) != 2 || s.Links[1].Name != "sat" {
		t.Errorf("%+v", s)
	}
	if status, body := ask(t, l, http.MethodPatch, "/link?new_run=true", `{}`); status != http.StatusOK || !strings.Contains(body, `"hitless":false`) {
		t.Errorf("new run: %d %s", status, body)
	}
	eventually(t, 2*time.Second, "counters begin anew", func() bool { return state(t, l).Figures.Up.PacketsIn < 3 })
}

func TestTwoLabs(t *testing.T) {
	t.Parallel()
	one, two := labUp(t, "--profile", "geo/qirse-sat"), labUp(t)
	if one.API == two.API || one.Token == two.Token {
		t.Errorf("labs share something: %+v %+v", one, two)
	}
	if a, b := least(t, ping(t, one, "10.77.0.2", 2)), least(t, ping(t, two, "10.77.0.2", 2)); a < 600 || b > 40 {
		t.Errorf("round trips %v and %v ms, want 600 and next to none", a, b)
	}
	out := must(t, "lab", "list")
	if !strings.Contains(out, one.Name) || !strings.Contains(out, two.Name) {
		t.Errorf("lab list:\n%s", out)
	}
	gone(t, one)
	least(t, ping(t, two, "10.77.0.2", 2))
}

// It is alone on the machine, as what measures rates is: it loads it.
func TestTerminateUnderLoad(t *testing.T) {
	l := labUp(t, "--profile", "geo/qirse-sat")
	before := sh(t, "ip -n "+l.Name+"-box -o link show a1")
	flood := another("lab", "exec", "--name", l.Name, "a", "--", "ping", "-f", "-s", "1000", "-w", "20", "10.77.0.2")
	if err := flood.Start(); err != nil {
		t.Fatal(err)
	}
	defer flood.Wait()
	defer flood.Process.Kill()
	eventually(t, 15*time.Second, "frames flow", func() bool { return state(t, l).Figures.Down.PacketsOut > 100 })
	syscall.Kill(l.PID, syscall.SIGTERM)
	eventually(t, 15*time.Second, "the daemon ends", func() bool { return ended(l.PID) })
	after := sh(t, "ip -n "+l.Name+"-box -o link show a1")
	if strings.Contains(after, "xdp") || strings.Contains(after, "PROMISC") || !strings.Contains(before, "xdp") || !strings.Contains(before, "PROMISC") {
		t.Errorf("ports given back as %s, were %s", after, before)
	}
	log := sh(t, "cat "+lab.Root+"/"+l.Name+"/daemon.log")
	if !strings.Contains(log, "ports given back") || strings.Contains(log, "level=ERROR") {
		t.Errorf("log:\n%s", log)
	}
	if left, _ := filepath.Glob("/sys/fs/bpf/farlink/*" + l.Name + "*"); len(left) > 0 {
		t.Errorf("pins left: %v", left)
	}
}

func TestCarrierFlaps(t *testing.T) {
	t.Parallel()
	l := labUp(t)
	sh(t, "ip -n "+l.NsA+" link set a0 down")
	eventually(t, 3*time.Second, "the carrier is missed", func() bool { return state(t, l).NotYet == "no carrier on a1" })
	sh(t, "ip -n "+l.NsA+" link set a0 up")
	eventually(t, 3*time.Second, "all is well", func() bool { return state(t, l).Effective })
	least(t, ping(t, l, "10.77.0.2", 2))
	if s := state(t, l); s.Engine.Restarts != 0 {
		t.Errorf("%+v", s)
	}
}

func TestPortVanishes(t *testing.T) {
	t.Parallel()
	l := labUp(t)
	before := state(t, l).Engine.Driver
	sh(t, "ip -n "+l.Name+"-box link del a1")
	// The next look for what was missed is after 5 s.
	eventually(t, 3*time.Second, "a fault", func() bool { return state(t, l).Word == appliance.Fault })
	eventually(t, 5*time.Second, "the reason", func() bool { return strings.Contains(state(t, l).Why, "port a1") })
	sh(t, strings.NewReplacer("NAME", l.Name).Replace(`ip -n NAME-box link add a1 type veth peer name a0 netns NAME-a
		ip netns exec NAME-a ethtool -K a0 tx off >/dev/null
		ip -n NAME-a addr add 10.77.0.1/24 dev a0; ip -n NAME-a link set a0 up
		ip netns exec NAME-a ethtool -K a0 gro on`))
	eventually(t, 10*time.Second, "the link stands again", func() bool { return state(t, l).Word == appliance.Emulating })
	least(t, ping(t, l, "10.77.0.2", 3))
	if now := state(t, l).Engine.Driver; now != before || !strings.HasPrefix(now, "native") {
		t.Errorf("driver %q, before the port vanished %q", now, before)
	}
}
