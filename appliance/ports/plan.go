// Package ports prepares network interfaces to be the two test ports of a
// pair, and gives them back as they were.
//
//	Read ──▶ Facts ──Plan──▶ []Step ──Apply──▶ saved steps ──Restore──▶ as before
//	            (pure)    │
//	                      └──▶ []Refusal (port, got, want)
//
// A test port has no address, answers no ARP and no IPv6, hears every frame
// (promiscuous), splits and merges none (segmentation and VLAN offloads off),
// and takes all of them on one queue. A port on which somebody depends is
// refused.
//
// MTU is in bytes without the Ethernet header, as the kernel counts it.
package ports

import (
	"fmt"
	"slices"
	"strconv"
)

// Facts is what is about one interface.
type Facts struct {
	Name      string
	Index     int    // 0: there is no such interface
	Kind      string // "veth", "bridge", "device", …
	Driver    string // kernel driver, "" when unknown
	MTU       int
	MaxMTU    int // 0: unknown
	Up        bool
	Promisc   bool
	ARP       bool
	IPv6      bool
	Loopback  bool
	Master    string   // bridge or bond it belongs to
	Addresses []string // without IPv6 link-local ones
	Default   bool     // the default route leaves here
	Features  []Feature
	Channels  Channels
}

// Feature is an offload that can be switched.
type Feature struct {
	Name string
	On   bool
}

// Channels counts the queues; zero where the driver has none of the kind.
type Channels struct{ RX, TX, Combined int }

// Pair says what is wanted of two ports.
type Pair struct {
	A, B string
	// MTU for both; 0 keeps the larger of the two.
	MTU int
	// Carries says what passes an interface that must not be lost, by the
	// interface's name: "the ssh session from 192.0.2.9".
	Carries map[string]string
}

// Refusal says why an interface cannot be a test port.
type Refusal struct {
	Port, Got, Want string
}

func (r Refusal) Error() string {
	return fmt.Sprintf("port %s: %s; want %s", r.Port, r.Got, r.Want)
}

// Step is one setting of one port, with what it was before.
type Step struct {
	Port    string `json:"port"`
	Setting string `json:"setting"` // "mtu", "up", "arp", "feature rx-gro", …
	From    string `json:"from"`
	To      string `json:"to"`
}

func (s Step) String() string {
	return fmt.Sprintf("%s: %s %s -> %s", s.Port, s.Setting, s.From, s.To)
}

// unwanted names the features that split, merge or alter frames, as the
// kernel spells them (ethtool netlink, NETIF_F_* strings).
var unwanted = []string{
	"rx-gro", "rx-gro-hw", "rx-gro-list", "rx-udp-gro-forwarding", "rx-lro",
	"tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation",
	"tx-tcp-mangleid-segmentation", "tx-tcp-accecn-segmentation",
	"tx-generic-segmentation", "tx-udp-segmentation", "tx-gso-list", "tx-sctp-segmentation",
	"rx-vlan-hw-parse", "tx-vlan-hw-insert", "rx-vlan-stag-hw-parse", "tx-vlan-stag-hw-insert",
	"rx-vlan-filter",
}

// Plan returns the steps that turn the two interfaces into test ports, or
// every reason why they cannot be.
func Plan(want Pair, a, b Facts) ([]Step, []Refusal) {
	var no []Refusal
	if want.A == want.B {
		no = append(no, Refusal{want.A, "both ends of the pair", "two different interfaces"})
	}
	mtu := want.MTU
	if mtu == 0 {
		mtu = max(a.MTU, b.MTU)
	}
	var steps []Step
	for _, f := range []Facts{a, b} {
		no = append(no, refuse(f, want.Carries[f.Name], mtu)...)
		steps = append(steps, prepare(f, mtu)...)
	}
	if len(no) > 0 {
		return nil, slices.Compact(no)
	}
	return steps, nil
}

// refuse lists why f cannot be a test port.
func refuse(f Facts, carries string, mtu int) (no []Refusal) {
	say := func(got, want string) { no = append(no, Refusal{f.Name, got, want}) }
	if f.Index == 0 {
		say("no such interface", "one that `ip link` shows in the pair's network namespace")
		return no
	}
	if f.Loopback {
		say("is the loopback interface", "a network interface with a cable")
		return no
	}
	if carries != "" {
		say("carries "+carries, "a port that nobody manages the box through")
	}
	if f.Default {
		say("carries the default route", "a port that the box itself does not use")
	}
	for _, address := range f.Addresses {
		say("has address "+address, "no address (ip addr flush dev "+f.Name+")")
	}
	if f.Master != "" {
		say("belongs to "+f.Master, "a port of no bridge or bond (ip link set "+f.Name+" nomaster)")
	}
	switch f.Kind {
	case "bridge", "bond", "vlan", "macvlan", "ipvlan", "vxlan", "wireguard", "tun":
		say("is a "+f.Kind, "a physical port or a veth")
	}
	if f.MaxMTU > 0 && mtu > f.MaxMTU {
		say(fmt.Sprintf("takes an MTU of at most %d", f.MaxMTU), fmt.Sprintf("%d", mtu))
	}
	return no
}

// prepare lists the steps for one port: first what makes it silent, last
// what opens it.
func prepare(f Facts, mtu int) (steps []Step) {
	set := func(setting string, from, to any) {
		s := Step{f.Name, setting, fmt.Sprint(from), fmt.Sprint(to)}
		if s.From != s.To {
			steps = append(steps, s)
		}
	}
	set("ipv6", onOff(f.IPv6), "off")
	set("arp", onOff(f.ARP), "off")
	for _, feature := range f.Features {
		if slices.Contains(unwanted, feature.Name) {
			set("feature "+feature.Name, onOff(feature.On), "off")
		}
	}
	set("rx queues", f.Channels.RX, min(f.Channels.RX, 1))
	set("tx queues", f.Channels.TX, min(f.Channels.TX, 1))
	set("queues", f.Channels.Combined, min(f.Channels.Combined, 1))
	set("mtu", strconv.Itoa(f.MTU), strconv.Itoa(mtu))
	set("promiscuous", onOff(f.Promisc), "on")
	set("up", onOff(f.Up), "on")
	return steps
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Undo returns the steps that take back what steps did, last first.
func Undo(steps []Step) []Step {
	back := make([]Step, len(steps))
	for i, s := range steps {
		back[len(steps)-1-i] = Step{s.Port, s.Setting, s.To, s.From}
	}
	return back
}
