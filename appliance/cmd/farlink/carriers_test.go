package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"farlink/appliance"
	"farlink/appliance/lab"
	"farlink/pep/bundle"
)

// carrierSettings are set in this order.
var carrierSettings = []struct {
	set   []string
	shows string
	all   bool // over both paths
}{
	{[]string{"lab", "--scheduler", "roundrobin", "--path", "lte/skt-constant=cubic"}, "not MPTCP on the wire", true},
	{[]string{"wire"}, "linux-default", true},
	{[]string{"off"}, "mode off", false},
}

// countBytes says how many bytes each client sent; sendAll is a client.
const (
	countBytes = `
import socket
l = socket.create_server(("10.79.0.2", 8080))
while True:
    c, _ = l.accept()
    n = 0
    while b := c.recv(65536): n += len(b)
    c.sendall(str(n).encode())
    c.close()`
	sendAll = `
import socket, sys, time
for i in range(50):
    try:
        c = socket.create_connection(("10.79.0.2", 8080), 10)
        break
    except ConnectionRefusedError: time.sleep(0.1)
c.sendall(bytes(3_000_000))
c.shutdown(socket.SHUT_WR)
print(c.recv(100).decode())`
)

// serveCount counts bytes at the server until the test ends.
func serveCount(t *testing.T, l lab.Lab) {
	t.Helper()
	server := exec.Command("ip", "netns", "exec", l.NsServer, "python3", "-c", countBytes)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
}

// killRelays kills the relays, which are started again with a path down
// meanwhile.
func killRelays(t *testing.T, l lab.Lab, state func() appliance.MultipathState) {
	t.Helper()
	pid := state().PID
	sh(t, "ip -n "+l.NsA+" link set c1 down")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(15 * time.Second); !state().Effective || state().PID == pid || !state().Paths[1].Up; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the relays do not come back: %+v", state())
		}
	}
	sh(t, "ip -n "+l.NsA+" link set c1 up")
	for end := time.Now().Add(5 * time.Second); !state().Paths[0].Up && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
}

// A lab of two carriers is walked as docs/multipath.md has it: a transfer over
// both, modes and schedulers changed by the command, shown by it; nothing
// stays.
func TestLabCarriers(t *testing.T) {
	t.Parallel()
	l := labUp(t, "--carriers", "lte/skt-constant,lte/kt-constant", "--seed", "3")
	if l.NsDevice != l.Name+"-d" || l.NsServer != l.Name+"-s" {
		t.Errorf("%+v", l)
	}
	if out, want := must(t, "lab", "list"), "d NAME-d, a NAME-a, b NAME-b, s NAME-s"; !strings.Contains(out, strings.ReplaceAll(want, "NAME", l.Name)) {
		t.Errorf("lab list:\n%s", out)
	}
	serveCount(t, l)
	state := func() (s appliance.MultipathState) {
		t.Helper()
		out := must(t, "multipath", "status", "--lab", l.Name, "--json")
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		return s
	}
	opened := uint64(0)
	for _, c := range carrierSettings {
		out := must(t, append([]string{"multipath", "set", "--lab", l.Name}, c.set...)...)
		if !strings.Contains(out, c.shows) || !strings.Contains(out, "lte/kt-constant") {
			t.Errorf("set %v prints\n%s", c.set, out)
		}
		if c.set[0] == "wire" { // its relays are killed and started again, with a path down meanwhile
			killRelays(t, l, state)
			opened = 0 // they count anew
		}
		before := state()
		if got := strings.TrimSpace(must(t, "lab", "exec", "--name", l.Name, "d", "--", "python3", "-c", sendAll)); got != "3000000" {
			t.Errorf("set %v: the server had %s bytes", c.set, got)
		}
		after := state()
		for i, p := range after.Paths {
			// What is not carried over all paths goes by the better one.
			if used := p.UpBytes-before.Paths[i].UpBytes > 100_000; used != (c.all || p.Best) {
				t.Errorf("set %v: path %s took %d bytes", c.set, p.Name, p.UpBytes-before.Paths[i].UpBytes)
			}
		}
		if c.all {
			opened++
		}
		if after.Totals.Opened != opened || after.Want.Mode != bundle.Mode(c.set[0]) || after.Totals.Fallbacks != 0 {
			t.Errorf("set %v: %+v %+v", c.set, after.Want, after.Totals)
		}
	}
	if s := state(); s.Want.Scheduler != "roundrobin" || s.Want.Paths["lte/skt-constant"].Congestion != "cubic" {
		t.Errorf("what no flag named is not kept: %+v", s.Want)
	}
	if status, body := ask(t, l, http.MethodPatch, "/multipath", `{"paths":{"lte/lgu":{}}}`); status != 422 || !strings.Contains(body, "lte/skt-constant, lte/kt-constant") {
		t.Errorf("an unknown path: %d %s", status, body)
	}
	must(t, "lab", "down", "--name", l.Name)
	if left := traces(t, l.Name, nil); len(left) > 0 {
		t.Errorf("left of the lab: %v", left)
	}
	if out := sh(t, "ls /sys/fs/bpf/farlink-pep 2>/dev/null | grep "+l.Name+" || true"); out != "" {
		t.Errorf("left of the interception: %s", out)
	}
}

// What cannot be is refused before anything is made.
func TestCarriersMisuse(t *testing.T) {
	for _, args := range [][]string{
		{"lab", "up", "--carriers", "9"}, {"lab", "up", "--carriers", "0"}, {"lab", "up", "--carriers", "2", "--pep"},
		{"multipath", "set", "both"}, {"multipath", "set", "lab", "--path", "x"}, {"multipath", "set"},
		{"multipath", "set", "wire", "--backup", ""}, {"multipath", "set", "wire", "--backup", "none,lte/kt"},
	} {
		if status := run(args); status != misuse {
			t.Errorf("%v: status %d, want %d", args, status, misuse)
		}
	}
}

// Backups are those that are named, of the paths that there are; what a path
// is to do is shown before any connection takes it.
func TestBackups(t *testing.T) {
	all := []bundle.PathState{{Name: "lte/skt", Up: true}, {Name: "lte/kt"}}
	for _, c := range []struct{ backups, want, bad string }{
		{"lte/kt", "map[lte/kt:map[backup:true] lte/skt:map[backup:false congestion:cubic]]", ""},
		{"none", "map[lte/kt:map[backup:false] lte/skt:map[backup:false congestion:cubic]]", ""},
		{"lte/kt,lte/nope", "", `--backup lte/kt,lte/nope: got "lte/nope", want lte/skt, lte/kt, or none`},
	} {
		m := multipathChange{backups: strings.Split(c.backups, ","), paths: []string{"lte/skt=cubic"}}
		patch, err := m.patch("wire")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.spare(patch, all); err != nil || c.bad != "" {
			if err == nil || err.Error() != c.bad {
				t.Errorf("--backup %s: %v, want %s", c.backups, err, c.bad)
			}
		} else if got := fmt.Sprint(patch["paths"]); got != c.want {
			t.Errorf("--backup %s: %s, want %s", c.backups, got, c.want)
		}
	}
	s := appliance.MultipathState{Effective: true, Want: bundle.Carriage{Mode: bundle.Wire, Congestion: "bbr", Paths: map[string]bundle.PathWant{"lte/kt": {Congestion: "cubic", Backup: true}}}}
	s.Paths, s.Total, s.Totals.Strangers = all, 1, 2
	var out strings.Builder
	if err := printMultipath(&out, s); err != nil {
		t.Fatal(err)
	}
	shown := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"lte/skt up normal bbr", "lte/kt down backup cubic", "1 connection now", "0 resets, 2 strangers"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
