package intercept

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Marks and tables by port: what comes by port i carries mark 0x0a000001+i
// into the stack, and a socket's mark chooses the port it sends by.
const (
	markBase   = 0x0a000001
	markReplay = 0x0e000000
	tableLocal = 100
	tableBase  = 201
)

// sysctls make the namespace's stack answer for addresses that are not its
// own, and keep quiet otherwise.
var sysctls = []struct{ name, value string }{
	{"net/ipv4/conf/all/rp_filter", "0"},
	{"net/ipv4/ip_forward", "0"},
	{"net/ipv4/tcp_fwmark_accept", "1"},
	{"net/ipv4/fwmark_reflect", "1"},
	{"net/ipv6/fwmark_reflect", "1"},
	{"net/ipv4/tcp_tw_reuse", "1"},
	{"net/ipv4/tcp_syncookies", "1"}, // under a flood of SYNs only
	{"net/ipv4/tcp_max_syn_backlog", "65536"},
	{"net/core/somaxconn", "65535"},
	{"net/ipv4/tcp_no_metrics_save", "1"},
	{"net/ipv4/tcp_slow_start_after_idle", "0"},
	{"net/ipv4/ip_local_port_range", "1024 65535"},
	{"net/ipv4/tcp_ecn", "1"},
	{"net/ipv4/tcp_mtu_probing", "1"},
	// In the middle the buffer with which a connection starts.
	{"net/ipv4/tcp_rmem", "4096 4194304 67108864"},
	{"net/ipv4/tcp_wmem", "4096 1048576 67108864"},
}

var portSysctls = []struct{ name, value string }{
	{"net/ipv6/conf/%s/addr_gen_mode", "1"},
	{"net/ipv6/conf/%s/disable_ipv6", "0"}, // its routes need it; addresses it gets none
	{"net/ipv6/conf/%s/accept_ra", "0"},
	{"net/ipv6/conf/%s/router_solicitations", "0"},
	{"net/ipv4/conf/%s/rp_filter", "0"},
}

// Prepare makes the calling thread's network namespace ready: sysctls, ports
// up without ARP or address, and the routes by mark. It may be called again
// (a port that went down loses its routes).
func Prepare(lan, wan string) error {
	for _, s := range sysctls {
		if err := write(s.name, s.value); err != nil {
			return err
		}
	}
	if err := up("lo"); err != nil {
		return err
	}
	for i, name := range []string{lan, wan} {
		if err := preparePort(i, name); err != nil {
			return fmt.Errorf("prepare port %s: %w", name, err)
		}
	}
	return localRoutes()
}

func write(name, value string) error {
	err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644)
	if err != nil && strings.HasPrefix(name, "net/core/") && os.IsNotExist(err) {
		return nil // older kernels keep it for the first namespace only
	}
	if err != nil {
		return fmt.Errorf("set %s to %s: %w", name, value, err)
	}
	return nil
}

func up(name string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("port %s: %w", name, err)
	}
	return netlink.LinkSetUp(l)
}

func preparePort(i int, name string) error {
	for _, s := range portSysctls {
		if err := write(fmt.Sprintf(s.name, name), s.value); err != nil {
			return err
		}
	}
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	for _, set := range []func(netlink.Link) error{netlink.LinkSetARPOff, netlink.SetPromiscOn, netlink.LinkSetUp} {
		if err := set(l); err != nil {
			return err
		}
	}
	return portRoutes(i, l)
}

// initialWindow is the receive window at the start of a connection, in
// segments: as much as its buffer holds. The kernel's own 64 KB would hold a
// 600 ms path at 0.9 Mbit/s for its first round.
const initialWindow = 100_000

// portRoutes sends what carries the port's mark out of the port, whatever its
// address: one neighbour for all, which an interface without ARP resolves by
// itself.
func portRoutes(i int, l netlink.Link) error {
	mark, table := uint32(markBase+i), tableBase+i
	gateway := net.ParseIP("fe80::1")
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		in, out := netlink.NewRule(), netlink.NewRule()
		in.Family, in.Priority, in.IifName, in.Mark, in.Table = family, 10, l.Attrs().Name, mark, tableLocal
		out.Family, out.Priority, out.IifName, out.Mark, out.Table = family, 20, "lo", mark, table
		for _, r := range []*netlink.Rule{in, out} {
			if err := netlink.RuleAdd(r); err != nil && !os.IsExist(err) {
				return fmt.Errorf("rule for mark %#x: %w", mark, err)
			}
		}
		route := &netlink.Route{LinkIndex: l.Attrs().Index, Table: table, Flags: int(netlink.FLAG_ONLINK), Family: family, InitRwnd: initialWindow}
		if family == netlink.FAMILY_V4 {
			route.Dst = &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
			route.Via = &netlink.Via{AddrFamily: netlink.FAMILY_V6, Addr: gateway}
		} else {
			route.Dst = &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
			route.Gw = gateway
		}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("route for mark %#x: %w", mark, err)
		}
	}
	return nil
}

// localRoutes makes every address local to what carries a port's mark. For
// IPv4 also without a mark: else the kernel could not send a reset from an
// address that is not its own, and "refused" would look like silence.
func localRoutes() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	index := lo.Attrs().Index
	v4 := &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
	v6 := &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	for _, r := range []netlink.Route{
		{LinkIndex: index, Dst: v4, Type: unix.RTN_LOCAL, Table: tableLocal, Scope: netlink.SCOPE_HOST},
		{LinkIndex: index, Dst: v4, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: netlink.SCOPE_HOST},
		{LinkIndex: index, Dst: v6, Type: unix.RTN_LOCAL, Table: tableLocal},
	} {
		if err := netlink.RouteReplace(&r); err != nil {
			return fmt.Errorf("local route %v in table %d: %w", r.Dst, r.Table, err)
		}
	}
	// The rule for table local comes first by default and would win over
	// the marks.
	first := netlink.NewRule()
	first.Family, first.Priority, first.Table = netlink.FAMILY_V4, 0, unix.RT_TABLE_LOCAL
	if err := netlink.RuleDel(first); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("move the rule for table local: %w", err)
	}
	return nil
}
