package ports

import (
	"fmt"
	"strings"
	"testing"
)

func nic(name string, change ...func(*Facts)) Facts {
	f := Facts{Name: name, Index: 2, Kind: "device", MTU: 1500, MaxMTU: 9216, ARP: true, IPv6: true,
		Features: []Feature{{"rx-gro", true}, {"rx-hashing", true}, {"rx-lro", false}, {"tx-vlan-hw-insert", true}},
		Channels: Channels{Combined: 8}}
	for _, c := range change {
		c(&f)
	}
	return f
}

func lines[T any](all []T) string {
	var b strings.Builder
	for _, x := range all {
		fmt.Fprintln(&b, x)
	}
	return b.String()
}

func TestPlanGolden(t *testing.T) {
	jumbo := nic("eth2", func(f *Facts) {
		*f = Facts{Name: "eth2", Index: 3, Kind: "veth", MTU: 9000, ARP: true, Up: true, Channels: Channels{RX: 2, TX: 1}}
	})
	steps, no := Plan(Pair{A: "eth1", B: "eth2"}, nic("eth1"), jumbo)
	if len(no) > 0 {
		t.Fatal(no)
	}
	// rx-hashing is no business of ours, rx-lro is off already; the MTU is
	// the larger one; eth2 is up and has one TX queue already.
	want := `eth1: ipv6 on -> off
eth1: arp on -> off
eth1: feature rx-gro on -> off
eth1: feature tx-vlan-hw-insert on -> off
eth1: queues 8 -> 1
eth1: mtu 1500 -> 9000
eth1: promiscuous off -> on
eth1: up off -> on
eth2: arp on -> off
eth2: rx queues 2 -> 1
eth2: promiscuous off -> on
`
	if got := lines(steps); got != want {
		t.Errorf("plan is\n%swant\n%s", got, want)
	}
	back := lines(Undo(steps))
	if !strings.HasPrefix(back, "eth2: promiscuous on -> off\neth2: rx queues 1 -> 2\n") || !strings.HasSuffix(back, "eth1: ipv6 off -> on\n") {
		t.Errorf("undo is\n%s", back)
	}
}

func TestPlanOfReadyPortsIsEmpty(t *testing.T) {
	ready := func(f *Facts) {
		*f = Facts{Name: f.Name, Index: 2, Kind: "veth", MTU: 1500, Up: true, Promisc: true}
	}
	steps, no := Plan(Pair{A: "a", B: "b"}, nic("a", ready), nic("b", ready))
	if len(steps)+len(no) > 0 {
		t.Errorf("steps %v, refusals %v; want none", steps, no)
	}
}

func TestPlanRefuses(t *testing.T) {
	cases := []struct {
		name string
		pair Pair
		bad  func(*Facts)
		want string
	}{
		{"missing", Pair{}, func(f *Facts) { *f = Facts{Name: "eth1"} }, "port eth1: no such interface; want one that `ip link` shows in the pair's network namespace"},
		{"loopback", Pair{}, func(f *Facts) { f.Loopback = true; f.Addresses = []string{"127.0.0.1/8"} }, "port eth1: is the loopback interface; want a network interface with a cable"},
		{"address", Pair{}, func(f *Facts) { f.Addresses = []string{"192.0.2.2/24"} }, "port eth1: has address 192.0.2.2/24; want no address (ip addr flush dev eth1)"},
		{"default route", Pair{}, func(f *Facts) { f.Default = true }, "port eth1: carries the default route; want a port that the box itself does not use"},
		{"bridge member", Pair{}, func(f *Facts) { f.Master = "bridge br0" }, "port eth1: belongs to bridge br0; want a port of no bridge or bond (ip link set eth1 nomaster)"},
		{"bridge", Pair{}, func(f *Facts) { f.Kind = "bridge" }, "port eth1: is a bridge; want a physical port or a veth"},
		{"ssh", Pair{Carries: map[string]string{"eth1": "the ssh session from 192.0.2.9"}}, func(*Facts) {}, "port eth1: carries the ssh session from 192.0.2.9; want a port that nobody manages the box through"},
		{"mtu", Pair{MTU: 9500}, func(*Facts) {}, "port eth1: takes an MTU of at most 9216; want 9500\nport eth2: takes an MTU of at most 9216; want 9500"},
		{"many", Pair{}, func(f *Facts) { f.Default = true; f.Addresses = []string{"10.0.0.1/8", "fd00::1/64"} },
			"port eth1: carries the default route; want a port that the box itself does not use\nport eth1: has address 10.0.0.1/8; want no address (ip addr flush dev eth1)\nport eth1: has address fd00::1/64; want no address (ip addr flush dev eth1)"},
	}
	for _, c := range cases {
		c.pair.A, c.pair.B = "eth1", "eth2"
		steps, no := Plan(c.pair, nic("eth1", c.bad), nic("eth2"))
		if got := strings.TrimSpace(lines(no)); got != c.want || steps != nil {
			t.Errorf("%s: got\n%s\n%v\nwant\n%s", c.name, got, steps, c.want)
		}
	}
}

func TestPlanRefusesOnePortTwice(t *testing.T) {
	_, no := Plan(Pair{A: "eth1", B: "eth1"}, nic("eth1"), nic("eth1"))
	if got := lines(no); got != "port eth1: both ends of the pair; want two different interfaces\n" {
		t.Errorf("got %s", got)
	}
}

func TestSSHSession(t *testing.T) {
	// 192.0.2.2:22 <- 192.0.2.9:50000, established; words in host order.
	local, remote, ok := sshSession("   3: 020200C0:0016 090200C0:C350 01 00000000:00000000 02:000A7E65 00000000")
	if !ok || local.String() != "192.0.2.2" || remote.String() != "192.0.2.9" {
		t.Errorf("got %v %v %v", local, remote, ok)
	}
	for _, line := range []string{"", "  sl  local_address rem_address   st", "   3: 020200C0:0016 00000000:0000 0A", "   3: 020200C0:0050 090200C0:C350 01"} {
		if _, _, ok := sshSession(line); ok {
			t.Errorf("%q taken for an ssh session", line)
		}
	}
}
