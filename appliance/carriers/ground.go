package carriers

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"farlink/emulator/link"
	"farlink/emulator/netlab"
	"farlink/emulator/netspace"
	"farlink/emulator/wire/steer"
	"farlink/pep/bundle"
	"farlink/pep/intercept"
)

// Ground is the lie of a laboratory of several carriers for a daemon: a
// device with a modem for each carrier, which routes for a plain one behind
// it; and on the other side of the box what routes for the servers.
//
//	NAME-d      NAME-n          NAME-a                     NAME-box       NAME-b                   NAME-s
//	plain ──── interception ─── device ─ a0 ═══════════════ engine ═══════ b0 ─ proxy ──────────── server
//	10.78.0.2                   10.78.0.1  c1 10.77.1.1 ┄┄┄ by MAC ┄┄┄ 10.77.1.2 c1     10.79.0.1  10.79.0.2
//	fd78::2                     fd78::1    c2 10.77.2.1 ┄┄┄┄┄┄┄┄┄┄┄┄┄┄ 10.77.2.2 c2     fd79::1    fd79::2
//
// Each carrier has an interface of its own at either end (a macvlan), by whose
// address the box tells frames apart. A program in NAME-a has all carriers.
type Ground struct {
	Lab  *netlab.Lab
	Name string
	Site bundle.Site
}

// Namespaces are all that a ground has.
func Namespaces(name string) (all []string) {
	for _, of := range []string{"a", "b", "box", "n", "d", "s"} {
		all = append(all, name+"-"+of)
	}
	return all
}

// pins is where the interception of a ground is pinned.
func pins(name string) string { return filepath.Join(steer.Root, "farlink-pep", name+"-n") }

// RemoveGround takes away what is left of a ground's, whatever became of it.
func RemoveGround(name string) error {
	err := errors.Join(intercept.Remove(pins(name)), netlab.Remove(Namespaces(name)...))
	_ = os.Remove(pins(name)) // it may not be there, or have others beside it
	_ = os.Remove(filepath.Dir(pins(name)))
	return err
}

// Carried is a carrier of a ground.
type Carried struct {
	Name string
	Link string    // of the box
	Rate link.Rate // at best
	RTT  link.Duration
}

// NewGround lays the ground called name, at most 11 characters and unique on
// the machine. What it cannot finish it takes away again.
func NewGround(name string, mtu int, carriers []Carried) (*Ground, error) {
	g := &Ground{Name: name}
	lab, err := netlab.New(name, netlab.Options{MTU: mtu})
	if err != nil {
		return nil, err
	}
	g.Lab = lab
	g.Site = bundle.Site{
		Near: bundle.Near{Netns: lab.A.Netns, LAN: "x0", Net: netip.MustParsePrefix(deviceNet + "0/24"), Net6: netip.MustParsePrefix(device6 + "/64"),
			Intercept: name + "-n", Devices: "l0", Router: "w0", Pins: pins(name)},
		Far: bundle.Far{Netns: lab.B.Netns, LAN: "x0"},
	}
	if err := g.lay(carriers); err != nil {
		return nil, errors.Join(fmt.Errorf("lay the ground of %d carriers: %w", len(carriers), err), RemoveGround(name))
	}
	return g, nil
}

func (g *Ground) lay(carriers []Carried) error {
	for _, of := range []string{"-n", "-d", "-s"} {
		if err := netspace.Make(g.Name + of); err != nil {
			return err
		}
	}
	a, b, n, d, s := g.Lab.A.Netns, g.Lab.B.Netns, g.Name+"-n", g.Name+"-d", g.Name+"-s"
	for _, c := range [][4]string{{d, "e0", n, "l0"}, {n, "w0", a, "x0"}, {b, "x0", s, "e0"}} {
		if err := cable(c[0], c[1], c[2], c[3]); err != nil {
			return err
		}
	}
	for _, e := range []struct{ netns, dev, v4, v6 string }{
		{d, "e0", deviceNet + "2", device6 + "2"}, {a, "x0", deviceNet + "1", device6 + "1"},
		{b, "x0", serverNet + "1", server6 + "1"}, {s, "e0", serverNet + "2", server6 + "2"},
	} {
		if err := netspace.Do(e.netns, func() error { return address(e.dev, e.v4, e.v6) }); err != nil {
			return err
		}
	}
	for i, c := range carriers {
		p := bundle.Path{Name: c.Name, Link: c.Link, Rate: c.Rate, RTT: c.RTT, NearDev: device(i), FarDev: device(i), Near: at(i, 1), Far: at(i, 2), Near6: at6(i, 1), Far6: at6(i, 2)}
		g.Site.Paths = append(g.Site.Paths, p)
		for side, e := range []netlab.End{g.Lab.A, g.Lab.B} {
			if err := e.Do(func() error { return modem(e.Dev, i, side+1) }); err != nil {
				return fmt.Errorf("carrier %s in %s: %w", c.Name, e.Netns, err)
			}
		}
	}
	return errors.Join(
		netspace.Do(d, func() error { return gateways(deviceNet+"1", device6+"1") }),
		netspace.Do(s, func() error { return gateways(serverNet+"1", server6+"1") }))
}

// device is the interface of carrier i at either end.
func device(i int) string { return fmt.Sprint("c", i+1) }

// at6 is the IPv6 address of a side on carrier i.
func at6(i, side int) netip.Addr {
	return netip.AddrFrom16([16]byte{0xfd, 0x77, 0, byte(i + 1), 15: byte(side)})
}

// MAC is the address of a side's interface on carrier i; side 1 is the
// device's.
func MAC(i, side int) string { return fmt.Sprintf("02:fa:00:00:%02x:%02x", i+1, side) }

// modem makes the interface of a side on carrier i, on top of the cable to the
// box, in the calling thread's namespace.
func modem(parent string, i, side int) error {
	p, err := netlink.LinkByName(parent)
	if err != nil {
		return err
	}
	mac, err := net.ParseMAC(MAC(i, side))
	if err != nil {
		return err
	}
	m := &netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: device(i), ParentIndex: p.Attrs().Index, HardwareAddr: mac, MTU: p.Attrs().MTU}, Mode: netlink.MACVLAN_MODE_PRIVATE}
	if err := netlink.LinkAdd(m); err != nil {
		return err
	}
	// Each answers for its own address only, or all would answer for all.
	for _, s := range []struct{ name, value string }{{"arp_ignore", "1"}, {"arp_announce", "2"}, {"rp_filter", "0"}} {
		for _, dev := range []string{"all", device(i)} {
			if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+dev+"/"+s.name, []byte(s.value), 0); err != nil {
				return err
			}
		}
	}
	return address(device(i), at(i, side).String(), at6(i, side).String())
}

// cable lays one between two namespaces.
func cable(a, devA, b, devB string) error {
	far, err := netns.GetFromName(b)
	if err != nil {
		return err
	}
	defer far.Close()
	return netspace.Do(a, func() error {
		v := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: devA}, PeerName: devB, PeerNamespace: netlink.NsFd(far)}
		if err := netlink.LinkAdd(v); err != nil {
			return fmt.Errorf("cable from %s to %s: %w", a, b, err)
		}
		return nil
	})
}

// gateways are the way to all else.
func gateways(v4, v6 string) error {
	return errors.Join(
		netlink.RouteAdd(&netlink.Route{Gw: net.ParseIP(v4)}),
		netlink.RouteAdd(&netlink.Route{Gw: net.ParseIP(v6)}))
}
