package carriers

import (
	"errors"
	"net"

	"github.com/vishvananda/netlink"

	"farlink/emulator/netlab"
	"farlink/emulator/netspace"
)

// Ports of servers that the lab's relays take; all else is routed, by the
// last carrier.
var Ports = []uint16{80, 443, 5001, 5201, 8080}

// bulkPort is that of the lab's own server.
const bulkPort = 5001

// The networks behind the relays: end .2 and relay .1.
const (
	deviceNet = "10.78.0."
	serverNet = "10.79.0."
	device6   = "fd78::"
	server6   = "fd79::"
)

// ends makes a namespace behind either relay: NAME-d, the device, and NAME-s,
// the server. Their way to each other leads through the relays' namespaces.
func (l *Lab) ends(name string) (err error) {
	l.Device, err = behind(name+"-d", l.A, deviceNet, device6)
	if err != nil {
		return err
	}
	l.Server, err = behind(name+"-s", l.B, serverNet, server6)
	if err != nil {
		return err
	}
	best := l.best()
	return errors.Join(
		l.A.Do(func() error {
			return errors.Join(via(serverNet+"0/24", at(best, 2).AsSlice()), via(server6+"/64", l.B.V6))
		}),
		l.B.Do(func() error {
			return errors.Join(via(deviceNet+"0/24", at(best, 1).AsSlice()), via(device6+"/64", l.A.V6))
		}))
}

// best is the carrier of the greatest rate: what no relay takes goes by it.
func (l *Lab) best() (best int) {
	for i, p := range l.Profiles {
		if p.Expect.Up > l.Profiles[best].Expect.Up {
			best = i
		}
	}
	return best
}

// behind makes a namespace with one cable to a relay's, its way to all else.
func behind(name string, relay netlab.End, v4, v6 string) (netlab.End, error) {
	e := netlab.End{Netns: name, Dev: "e0", IP: net.ParseIP(v4 + "2"), V6: net.ParseIP(v6 + "2")}
	if err := netspace.Make(name); err != nil {
		return e, err
	}
	if err := cable(relay.Netns, "x0", name, e.Dev); err != nil {
		return e, err
	}
	if err := relay.Do(func() error { return address("x0", v4+"1", v6+"1") }); err != nil {
		return e, err
	}
	return e, e.Do(func() error {
		if err := address(e.Dev, v4+"2", v6+"2"); err != nil {
			return err
		}
		return gateways(v4+"1", v6+"1")
	})
}

// address gives an interface its addresses and brings it up.
func address(dev, v4, v6 string) error {
	l, err := netlink.LinkByName(dev)
	if err != nil {
		return err
	}
	return errors.Join(
		netlink.AddrAdd(l, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(v4).To4(), Mask: net.CIDRMask(24, 32)}}),
		netlink.AddrAdd(l, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(v6), Mask: net.CIDRMask(64, 128)}, Flags: 0x02}), // IFA_F_NODAD
		netlink.LinkSetUp(l))
}

// via routes a network by a gateway.
func via(network string, gateway net.IP) error {
	_, to, err := net.ParseCIDR(network)
	if err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{Dst: to, Gw: gateway})
}
