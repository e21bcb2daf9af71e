package reroute

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
)

//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types mine bpf/mine.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu

// mark is what a segment carries that is for a socket of the namespace: MARK
// of mine.bpf.c.
const mark = 0x0c000001

// Mine delivers to the sockets of a router what is for them, whatever their
// addresses, by interface: segments of connections that the router's own
// sockets have, and SYNs for taken ports. Connections that go through the
// router past its sockets are not touched, whatever their ports; so taking
// begins and ends with new connections. It ends with its process.
type Mine struct {
	objects mineObjects
	links   []link.Link
}

// OpenMine attaches to interfaces of the calling thread's network namespace.
func OpenMine(devs ...string) (*Mine, error) {
	m := &Mine{}
	if err := loadMineObjects(&m.objects, nil); err != nil {
		return nil, fmt.Errorf("load reroute: %w", err)
	}
	if err := markRoutes(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	for _, dev := range devs {
		i, err := net.InterfaceByName(dev)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("take from %s: %w", dev, err), m.Close())
		}
		l, err := link.AttachTCX(link.TCXOptions{Interface: i.Index, Program: m.objects.MineIn, Attach: ebpf.AttachTCXIngress})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("take from %s: %w", dev, err), m.Close())
		}
		m.links = append(m.links, l)
		if err := write("net/ipv4/conf/"+dev+"/rp_filter", "0"); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// Take has SYNs for these ports taken, and no others.
func (m *Mine) Take(ports []uint16) error {
	var key uint16
	var there []uint16
	for all := m.objects.Taken.Iterate(); all.Next(&key, new(uint8)); {
		there = append(there, key)
	}
	want := map[uint16]bool{}
	for _, p := range ports {
		order := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, p))
		want[order] = true
		if err := m.objects.Taken.Put(order, uint8(1)); err != nil {
			return fmt.Errorf("take port %d: %w", p, err)
		}
	}
	for _, p := range there {
		if !want[p] {
			if err := m.objects.Taken.Delete(p); err != nil {
				return fmt.Errorf("let go of a port: %w", err)
			}
		}
	}
	return nil
}

// Close lets everything pass on its way again.
func (m *Mine) Close() error {
	var errs []error
	for _, l := range m.links {
		errs = append(errs, l.Close())
	}
	return errors.Join(append(errs, m.objects.Close())...)
}

// markRoutes makes every address local to what carries the mark.
func markRoutes() error {
	for _, s := range []struct{ name, value string }{
		{"net/ipv4/ip_forward", "1"}, {"net/ipv6/conf/all/forwarding", "1"}, {"net/ipv4/conf/all/rp_filter", "0"},
		// A socket that answers a marked SYN must not send by the mark.
		{"net/ipv4/tcp_fwmark_accept", "0"},
	} {
		if err := write(s.name, s.value); err != nil {
			return err
		}
	}
	if err := localTable(); err != nil {
		return err
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		r := netlink.NewRule()
		r.Family, r.Priority, r.Mark, r.Table = family, 90, mark, table
		if err := netlink.RuleAdd(r); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("rule for mark %#x: %w", mark, err)
		}
	}
	return nil
}

func write(name, value string) error {
	if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0); err != nil {
		return fmt.Errorf("set %s to %s: %w", name, value, err)
	}
	return nil
}
