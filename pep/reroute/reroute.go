// Package reroute takes chosen TCP connections out of a router's way into its
// own sockets, by policy routing alone: clients and servers keep seeing each
// other's addresses. For a layer-2 path there is pep/intercept.
package reroute

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// table is the routing table in which every address is local.
const table = 900

// Capture takes TCP that crosses a router out of its way: what comes by Dev
// for the ports, or with Back from them, is delivered to the router itself,
// whatever its address. Everything else is routed on.
//
//	ip rule iif DEV ipproto tcp dport PORT lookup 900
//	ip route local default dev lo table 900
//
// A listener must have the port of the connections that it takes: for plain
// TCP that saves a packet filter, for MPTCP it is what lets MP_JOIN find its
// connection.
type Capture struct {
	Dev   string
	Ports []uint16 // of the servers
	Back  bool     // towards the servers: what they answer
}

// Apply sets up the calling thread's network namespace. Applying again is no
// error. Ports that an earlier Capture of Dev took in this direction, and that
// nobody released because its process was killed, are released first: their
// connections would be refused for want of a listener.
func (c Capture) Apply() error {
	for name, value := range map[string]string{
		"net/ipv4/ip_forward": "1", "net/ipv6/conf/all/forwarding": "1",
		"net/ipv4/conf/all/rp_filter": "0", "net/ipv4/conf/" + c.Dev + "/rp_filter": "0",
	} {
		if err := write(name, value); err != nil {
			return fmt.Errorf("capture by %s: %w", c.Dev, err)
		}
	}
	if err := localTable(); err != nil {
		return fmt.Errorf("capture by %s: %w", c.Dev, err)
	}
	if err := c.sweep(); err != nil {
		return err
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		for _, port := range c.Ports {
			if err := netlink.RuleAdd(c.rule(family, port)); err != nil && !errors.Is(err, os.ErrExist) {
				return fmt.Errorf("capture port %d by %s: %w", port, c.Dev, err)
			}
		}
	}
	return nil
}

// sweep removes the rules of Captures of Dev in this direction.
func (c Capture) sweep() error {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		rules, err := netlink.RuleListFiltered(family, &netlink.Rule{Table: table}, netlink.RT_FILTER_TABLE)
		if err != nil {
			return fmt.Errorf("rules of %s: %w", c.Dev, err)
		}
		for _, r := range rules {
			if r.IifName != c.Dev || c.Back != (r.Sport != nil) {
				continue
			}
			r.Family = family
			if err := netlink.RuleDel(&r); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("release a rule of %s: %w", c.Dev, err)
			}
		}
	}
	return nil
}

// localTable makes every address local in the table.
func localTable() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	for _, all := range []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}} {
		route := &netlink.Route{LinkIndex: lo.Attrs().Index, Dst: all, Type: unix.RTN_LOCAL, Table: table}
		if len(all.IP) == net.IPv4len {
			route.Scope = netlink.SCOPE_HOST
		}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("local route: %w", err)
		}
	}
	return nil
}

// Remove lets everything pass on its way again. What is not there is no error.
func (c Capture) Remove() error {
	var all error
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		for _, port := range c.Ports {
			if err := netlink.RuleDel(c.rule(family, port)); err != nil && !errors.Is(err, os.ErrNotExist) {
				all = errors.Join(all, fmt.Errorf("release port %d of %s: %w", port, c.Dev, err))
			}
		}
	}
	return all
}

func (c Capture) rule(family int, port uint16) *netlink.Rule {
	r := netlink.NewRule()
	r.Family, r.Priority, r.IifName, r.IPProto, r.Table = family, 100, c.Dev, unix.IPPROTO_TCP, table
	ports := netlink.NewRulePortRange(port, port)
	if r.Dport = ports; c.Back {
		r.Dport, r.Sport = nil, ports
	}
	return r
}

// Listen opens the listeners of captured connections, in the calling thread's
// namespace: one per port and family. mptcp takes MPTCP as well as plain TCP.
func (c Capture) Listen(ctx context.Context, mptcp bool) (all []*net.TCPListener, err error) {
	lc := net.ListenConfig{KeepAlive: -1, Control: func(network, _ string, raw syscall.RawConn) error {
		return setting(raw, func(fd int) error { return transparent(fd, network == "tcp4") })
	}}
	lc.SetMultipathTCP(mptcp)
	for _, port := range c.Ports {
		for _, family := range []string{"tcp4", "tcp6"} {
			l, err := lc.Listen(ctx, family, fmt.Sprintf(":%d", port))
			if err != nil {
				for _, l := range all {
					l.Close()
				}
				return nil, fmt.Errorf("listen for captured connections: %w", err)
			}
			all = append(all, l.(*net.TCPListener))
		}
	}
	return all, nil
}

// Original is where the client of a captured connection wanted to go.
func Original(c *net.TCPConn) netip.AddrPort {
	a, _ := netip.ParseAddrPort(c.LocalAddr().String())
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// DialAs connects to a server with the client's own address and port, in the
// calling thread's namespace; a Capture with Back brings the answers.
func DialAs(ctx context.Context, client, server netip.AddrPort, mptcp bool) (*net.TCPConn, error) {
	v4 := server.Addr().Is4()
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(client), KeepAlive: -1, Control: func(_, _ string, raw syscall.RawConn) error {
		return setting(raw, func(fd int) error {
			return errors.Join(
				transparent(fd, v4),
				unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
				unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
		})
	}}
	d.SetMultipathTCP(mptcp)
	conn, err := d.DialContext(ctx, "tcp", server.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// setting runs f on the socket.
func setting(raw syscall.RawConn, f func(fd int) error) error {
	var set error
	err := raw.Control(func(fd uintptr) { set = f(int(fd)) })
	return errors.Join(err, set)
}

// transparent lets a socket have an address that is not the machine's.
func transparent(fd int, v4 bool) error {
	if v4 {
		return unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TRANSPARENT, 1)
	}
	return unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_TRANSPARENT, 1)
}
