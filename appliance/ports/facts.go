package ports

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
)

// Read returns the facts of the interface called name. An interface that is
// not there is no error: its Index is 0.
func (n *Namespace) Read(name string) (Facts, error) {
	f := Facts{Name: name}
	l, err := n.link.LinkByName(name)
	var none netlink.LinkNotFoundError
	if errors.As(err, &none) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("read port %s: %w", name, err)
	}
	attrs := l.Attrs()
	f.Index, f.Kind, f.MTU = attrs.Index, l.Type(), attrs.MTU
	f.Up = attrs.Flags&net.FlagUp != 0
	f.Loopback = attrs.Flags&net.FlagLoopback != 0
	f.ARP = attrs.RawFlags&iffNoARP == 0
	// Promisc counts all who asked for it, this flag only the administrator.
	f.Promisc = attrs.RawFlags&iffPromisc != 0
	if attrs.MasterIndex != 0 {
		f.Master = n.masterName(attrs.MasterIndex)
	}
	return f, errors.Join(n.readAddresses(l, &f), n.readHardware(&f))
}

const (
	iffPromisc = 0x100 // IFF_PROMISC, linux/if.h
	iffNoARP   = 0x80  // IFF_NOARP
)

func (n *Namespace) masterName(index int) string {
	if m, err := n.link.LinkByIndex(index); err == nil {
		return m.Type() + " " + m.Attrs().Name
	}
	return fmt.Sprintf("interface %d", index)
}

func (n *Namespace) readAddresses(l netlink.Link, f *Facts) error {
	addresses, err := n.link.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("read addresses of %s: %w", f.Name, err)
	}
	for _, a := range addresses {
		if !a.IP.IsLinkLocalUnicast() || a.IP.To4() != nil {
			f.Addresses = append(f.Addresses, a.IPNet.String())
		}
	}
	routes, err := n.link.RouteList(l, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("read routes of %s: %w", f.Name, err)
	}
	for _, r := range routes {
		ones := 0
		if r.Dst != nil {
			ones, _ = r.Dst.Mask.Size()
		}
		f.Default = f.Default || ones == 0
	}
	return nil
}

func (n *Namespace) readHardware(f *Facts) (err error) {
	if f.Features, err = n.features(f.Index); err != nil {
		return fmt.Errorf("port %s: %w", f.Name, err)
	}
	if f.Channels, err = n.channels(f.Index); err != nil {
		return fmt.Errorf("port %s: %w", f.Name, err)
	}
	return n.within(func() error {
		b, err := os.ReadFile(ipv6Path(f.Name))
		f.IPv6 = err == nil && strings.TrimSpace(string(b)) == "0"
		if driver, err := os.Readlink("/sys/class/net/" + f.Name + "/device/driver"); err == nil && n.Name == "" {
			f.Driver = filepath.Base(driver)
		}
		if errors.Is(err, os.ErrNotExist) { // kernel without IPv6
			return nil
		}
		return err
	})
}

// ipv6Path is the file that switches IPv6 off on an interface; dots in the
// name would be taken for slashes by sysctl(8), not here.
func ipv6Path(name string) string {
	return "/proc/sys/net/ipv6/conf/" + name + "/disable_ipv6"
}
