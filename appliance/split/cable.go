package split

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"farlink/appliance/ports"
	"farlink/emulator/netspace"
)

// cable lays a veth pair from device, here in namespace pair, to peer in a proxy's namespace,
// both without offloads: what crosses must be frames as a cable carries them.
func cable(pair, device, proxy, peer string, mtu int) error {
	ns, err := netns.GetFromName(proxy)
	if err != nil {
		return err
	}
	defer ns.Close()
	v := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: device, MTU: mtu, NumTxQueues: 1, NumRxQueues: 1},
		PeerName:  peer, PeerNamespace: netlink.NsFd(ns),
		PeerMTU: uint32(mtu), PeerNumTxQueues: 1, PeerNumRxQueues: 1,
	}
	// One of before may be there still: the kernel takes a deleted namespace
	// away some time later, minutes when a connection has not ended in it.
	if old, err := netlink.LinkByName(device); err == nil {
		if err := netlink.LinkDel(old); err != nil {
			return fmt.Errorf("veth %s of before: %w", device, err)
		}
	}
	if err := netlink.LinkAdd(v); err != nil {
		return fmt.Errorf("veth %s: %w", device, err)
	}
	if err := quiet(device); err != nil {
		return err
	}
	if err := netspace.Do(proxy, func() error { return plain(peer) }); err != nil {
		return err
	}
	if err := errors.Join(tagsWithin(pair, device), tagsWithin(proxy, peer)); err != nil {
		return err
	}
	made, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	return netlink.LinkSetAlias(made, laid)
}

// tagsWithin keeps VLAN tags in the frame, where XDP sees them, in place of
// beside it.
func tagsWithin(namespace, device string) error {
	ns, err := ports.Open(namespace)
	if err != nil {
		return err
	}
	defer ns.Close()
	var steps []ports.Step
	for _, f := range []string{"tx-vlan-hw-insert", "tx-vlan-stag-hw-insert"} {
		steps = append(steps, ports.Step{Port: device, Setting: "feature " + f, From: "on", To: "off"})
	}
	return ns.Apply(steps)
}

// laid is the alias of a veth that is whole.
const laid = "farlink proxy"

func (c Config) mtu() int {
	if c.MTU == 0 {
		return 1500
	}
	return c.MTU
}

// quiet brings a port of the box up without addresses, ARP or IPv6.
func quiet(device string) error {
	off := filepath.Join("/proc/sys/net/ipv6/conf", device, "disable_ipv6")
	if err := os.WriteFile(off, []byte("1"), 0o644); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("IPv6 off on %s: %w", device, err)
	}
	if err := plain(device); err != nil {
		return err
	}
	l, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	for _, set := range []func(netlink.Link) error{netlink.LinkSetARPOff, netlink.SetPromiscOn, netlink.LinkSetUp} {
		if err := set(l); err != nil {
			return fmt.Errorf("port %s: %w", device, err)
		}
	}
	return nil
}

// Commands of linux/ethtool.h.
const (
	setTxChecksum = 0x17
	setTSO        = 0x1f
	setGSO        = 0x24
	setGRO        = 0x2c
)

// plain switches offloads off.
func plain(device string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, command := range []uint32{setTSO, setGSO, setGRO, setTxChecksum} {
		if err := ethtool(fd, device, command); err != nil && err != unix.EOPNOTSUPP {
			return fmt.Errorf("offloads off on %s: %w", device, err)
		}
	}
	return nil
}
