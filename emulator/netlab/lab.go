package netlab

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"farlink/emulator/netspace"
)

// Options of a lab; the zero value is a plain one.
type Options struct {
	MTU int // of all four interfaces, in bytes; 0 is 1500
}

// Lab is two endpoints and a box between them.
type Lab struct {
	A, B         End    // device side and network side
	Box          string // namespace of the box's ports
	PortA, PortB string // the ports, in Box
}

// End is an endpoint: a namespace with one interface.
type End struct {
	Netns  string // name of the namespace
	Dev    string // its interface
	IP, V6 net.IP // its addresses
}

// New makes the lab called name (at most 11 characters, unique on the
// machine). What it cannot finish it takes down again.
func New(name string, o Options) (*Lab, error) {
	l := &Lab{
		A:     End{Netns: name + "-a", Dev: "a0", IP: net.IPv4(10, 77, 0, 1), V6: net.ParseIP("fd77::1")},
		B:     End{Netns: name + "-b", Dev: "b0", IP: net.IPv4(10, 77, 0, 2), V6: net.ParseIP("fd77::2")},
		Box:   name + "-box",
		PortA: "a1", PortB: "b1",
	}
	if o.MTU == 0 {
		o.MTU = 1500
	}
	if err := l.make(o); err != nil {
		return nil, errors.Join(fmt.Errorf("make lab %s: %w", name, err), l.Close())
	}
	return l, nil
}

func (l *Lab) make(o Options) error {
	for _, name := range []string{l.A.Netns, l.B.Netns, l.Box} {
		if err := netspace.Make(name); err != nil {
			return err
		}
	}
	for _, side := range []struct {
		end  End
		port string
	}{{l.A, l.PortA}, {l.B, l.PortB}} {
		if err := l.cable(side.end, side.port, o.MTU); err != nil {
			return err
		}
	}
	return nil
}

// cable lays a veth pair from an endpoint to a port of the box and brings
// both ends up.
func (l *Lab) cable(e End, port string, mtu int) error {
	far, err := netns.GetFromName(e.Netns)
	if err != nil {
		return err
	}
	defer far.Close()
	return netspace.Do(l.Box, func() error {
		v := &netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: port, MTU: mtu, NumTxQueues: 1, NumRxQueues: 1},
			PeerName:  e.Dev, PeerNamespace: netlink.NsFd(far),
			PeerMTU: uint32(mtu), PeerNumTxQueues: 1, PeerNumRxQueues: 1,
		}
		if err := netlink.LinkAdd(v); err != nil {
			return fmt.Errorf("veth %s to %s: %w", port, e.Netns, err)
		}
		if err := silence(port); err != nil {
			return err
		}
		if err := up(port); err != nil {
			return err
		}
		return netspace.Do(e.Netns, func() error { return e.raise() })
	})
}

// raise gives the endpoint's interface its addresses and brings it up.
func (e End) raise() error {
	if err := dull(e.Dev); err != nil {
		return err
	}
	dev, err := netlink.LinkByName(e.Dev)
	if err != nil {
		return err
	}
	for _, a := range []*netlink.Addr{
		{IPNet: &net.IPNet{IP: e.IP, Mask: net.CIDRMask(24, 32)}},
		// No duplicate address detection: the address is ours at once.
		{IPNet: &net.IPNet{IP: e.V6, Mask: net.CIDRMask(64, 128)}, Flags: ifaNoDAD},
	} {
		if err := netlink.AddrAdd(dev, a); err != nil {
			return fmt.Errorf("address %s on %s: %w", a.IPNet, e.Dev, err)
		}
	}
	if err := up(e.Dev); err != nil {
		return err
	}
	return poll(e.Dev)
}

// Close takes the lab down: with the namespaces go the interfaces. Closing
// twice, or a lab half made, is no error.
func (l *Lab) Close() error {
	return Remove(l.A.Netns, l.B.Netns, l.Box)
}

// Remove deletes the named namespaces and what is in them; one that does not
// exist is no error.
func Remove(names ...string) error {
	var all error
	for _, name := range names {
		if err := netns.DeleteNamed(name); err != nil && !isMissing(err) {
			all = errors.Join(all, fmt.Errorf("delete namespace %s: %w", name, err))
		}
	}
	return all
}
