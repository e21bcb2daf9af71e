package ports

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"farlink/emulator/need"
)

func sh(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("sh", "-ec", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// bench makes a namespace with two veths whose far ends are in it too.
func bench(t *testing.T) *Namespace {
	need.Root(t)
	name := fmt.Sprintf("flp%d-%x", os.Getpid(), rand.Uint32())
	sh(t, "ip netns add "+name)
	t.Cleanup(func() { sh(t, "ip netns del "+name) })
	sh(t, fmt.Sprintf("ip -n %[1]s link add p0 type veth peer name p1; ip -n %[1]s link add q0 type veth peer name q1; ip -n %[1]s link set q0 mtu 3000", name))
	n, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// picture is everything the kernel says of the ports that a stranger sees,
// but for the queueing discipline: "noop" means that the port was never up.
func picture(t *testing.T, n *Namespace) string {
	return strings.ReplaceAll(sh(t, strings.ReplaceAll(`for p in p0 q0; do
		ip -n NS -d -o link show $p; ip netns exec NS ethtool -k $p; ip netns exec NS ethtool -l $p
		ip netns exec NS cat /proc/sys/net/ipv6/conf/$p/disable_ipv6; done`, "NS", n.Name)), "qdisc noop ", "qdisc noqueue ")
}

// same compares two pictures line by line.
func same(t *testing.T, after, before string) {
	t.Helper()
	a, b := strings.Split(after, "\n"), strings.Split(before, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("now  %s\nwas %s", a[i], b[i])
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d lines, were %d", len(a), len(b))
	}
}

func facts(t *testing.T, n *Namespace, port string) Facts {
	t.Helper()
	f, err := n.Read(port)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestApplyAndRestore(t *testing.T) {
	n := bench(t)
	before := picture(t, n)
	want := Pair{A: "p0", B: "q0"}
	steps, no := Plan(want, facts(t, n, "p0"), facts(t, n, "q0"))
	if len(no) > 0 {
		t.Fatal(no)
	}
	if err := n.Apply(steps); err != nil {
		t.Fatal(err)
	}
	now := picture(t, n)
	for _, s := range []string{"tcp-segmentation-offload: off", "generic-segmentation-offload: off", "generic-receive-offload: off", "rx-vlan-offload: off", "tx-vlan-offload: off"} {
		if strings.Count(now, s) != 2 {
			t.Errorf("not on both ports: %s", s)
		}
	}
	for _, s := range []string{"NOARP", "PROMISC", ",UP", "mtu 3000"} {
		if strings.Count(now, s) < 2 {
			t.Errorf("not on both ports: %s", s)
		}
	}
	// A second daemon, after the first was killed, finds nothing to do.
	if again, no := Plan(want, facts(t, n, "p0"), facts(t, n, "q0")); len(again)+len(no) > 0 {
		t.Errorf("ports that are ready need %v %v", again, no)
	}
	if err := n.Restore(steps); err != nil {
		t.Fatal(err)
	}
	same(t, picture(t, n), before)
}

func TestReadRefusable(t *testing.T) {
	n := bench(t)
	sh(t, strings.ReplaceAll(`ip -n NS addr add 192.0.2.1/24 dev p0; ip -n NS link set p0 up; ip -n NS link set p1 up
		ip -n NS route add default via 192.0.2.9
		ip -n NS link add br0 type bridge; ip -n NS link set q0 master br0`, "NS", n.Name))
	_, no := Plan(Pair{A: "p0", B: "q0"}, facts(t, n, "p0"), facts(t, n, "q0"))
	want := `port p0: carries the default route; want a port that the box itself does not use
port p0: has address 192.0.2.1/24; want no address (ip addr flush dev p0)
port q0: belongs to bridge br0; want a port of no bridge or bond (ip link set q0 nomaster)
`
	if got := lines(no); got != want {
		t.Errorf("got\n%s", got)
	}
	if f := facts(t, n, "lo"); !f.Loopback {
		t.Errorf("lo: %+v", f)
	}
	if f := facts(t, n, "br0"); f.Kind != "bridge" {
		t.Errorf("br0: %+v", f)
	}
	if f := facts(t, n, "none"); f.Index != 0 {
		t.Errorf("none: %+v", f)
	}
}

func TestFailedApplyTakesBack(t *testing.T) {
	n := bench(t)
	before := picture(t, n)
	err := n.Apply([]Step{{"p0", "up", "off", "on"}, {"p0", "mtu", "1500", "70000"}})
	if err == nil || !strings.Contains(err.Error(), "p0: mtu 1500 -> 70000") {
		t.Errorf("error is %v", err)
	}
	same(t, picture(t, n), before)
}

func TestLock(t *testing.T) {
	n := bench(t)
	first, err := n.Lock("p0")
	if err != nil {
		t.Fatal(err)
	}
	var no Refusal
	if _, err := n.Lock("p0"); !errors.As(err, &no) || no.Got != "in use by another farlink" {
		t.Errorf("second lock: %v", err)
	}
	first.Close()
	again, err := n.Lock("p0")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestWatch(t *testing.T) {
	n := bench(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changed, ended := make(chan bool, 100), make(chan error)
	go func() { ended <- n.Watch(ctx, func() { there, _, _ := n.Look("p0"); changed <- there }) }()
	wait := func(there bool) {
		deadline := time.After(5 * time.Second)
		for {
			select {
			case now := <-changed:
				if now == there {
					return
				}
			case <-deadline:
				t.Fatalf("no word of p0, there %v", there)
			}
		}
	}
	time.Sleep(50 * time.Millisecond)
	sh(t, "ip -n "+n.Name+" link del p0")
	wait(false)
	sh(t, "ip -n "+n.Name+" link add p0 type veth peer name p1")
	wait(true)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestNoSuchNamespace(t *testing.T) {
	if _, err := Open("no-such-netns"); err == nil || err.Error() != "no network namespace \"no-such-netns\"; want one that `ip netns` lists" {
		t.Errorf("%v", err)
	}
}
