package ports

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The peer of a veth is looked at wherever it is, and nothing is said of it
// once it finishes its checksums.
func TestUnfinished(t *testing.T) {
	n := bench(t)
	if got := n.Unfinished("lo"); got != "" {
		t.Errorf("lo: %s", got)
	}
	said := func(want string) {
		t.Helper()
		if got := n.Unfinished("p0"); !strings.HasPrefix(got, "p0 is a veth whose peer p1 in namespace "+want) || !strings.HasSuffix(got, "ethtool -K p1 tx off") {
			t.Errorf("%s", got)
		}
	}
	said(n.Name + " leaves")
	other := n.Name + "b"
	sh(t, "ip netns add "+other)
	t.Cleanup(func() { sh(t, "ip netns del "+other) })
	sh(t, fmt.Sprintf("ip -n %s link set p1 netns %s", n.Name, other))
	said(other + " leaves")
	sh(t, "ip netns exec "+other+" ethtool -K p1 tx off")
	if got := n.Unfinished("p0"); got != "" {
		t.Errorf("after tx off: %s", got)
	}
}

// A namespace without a name is found through a process in it.
func TestUnfinishedOfProcess(t *testing.T) {
	n := bench(t)
	c := exec.Command("unshare", "-n", "sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	proc := fmt.Sprintf("/proc/%d/ns/net", c.Process.Pid)
	sh(t, fmt.Sprintf("for i in $(seq 100); do [ $(readlink %s) != $(readlink /proc/self/ns/net) ] && break; sleep 0.05; done; ip -n %s link set p1 netns %d", proc, n.Name, c.Process.Pid))
	time.Sleep(10 * time.Millisecond)
	if got := n.Unfinished("p0"); !strings.Contains(got, "run nsenter --net="+proc+" ethtool -K p1 tx off") {
		t.Errorf("%s", got)
	}
}
