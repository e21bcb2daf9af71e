package bundle

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"farlink/emulator/netspace"
	"farlink/pep/multipath"
)

// Tables and priorities of the rules, from first to last. What belongs to a
// socket is marked, and comes before all of them (reroute.Mine).
const (
	tableBest = 1000
	tablePath = 1001 // and following, one for each path

	firstOwn     = 100 // rules of the user
	priorityFrom = 150 // what has a path's own address goes by it
	priorityNet  = 160 // to the devices by the best path
	priorityLAN  = 200 // what comes from the LAN by the best path
	lastOwn      = 220
	// What has no other way takes the best path: programs of the namespace.
	priorityElse = 32800
)

// protocols by the name that a rule has; 0 is any.
var protocols = map[string]int{"": 0, "udp": unix.IPPROTO_UDP, "tcp": unix.IPPROTO_TCP, "icmp": unix.IPPROTO_ICMP}

// side is one of the two namespaces, as routes see it.
type side struct {
	netns, lan string
	near       bool
}

func (s *Site) sides() (all []side) {
	if s.Near.Netns != "" {
		all = append(all, side{s.Near.Netns, s.Near.LAN, true})
	}
	return append(all, side{s.Far.Netns, s.Far.LAN, false})
}

// end is a path as one side sees it.
type end struct {
	dev            string
	own, gateway   netip.Addr
	own6, gateway6 netip.Addr
}

func (p *Path) end(near bool) end {
	if near {
		return end{p.NearDev, p.Near, p.Far, p.Near6, p.Far6}
	}
	return end{p.FarDev, p.Far, p.Near, p.Far6, p.Near6}
}

// rules are those that a side is to have, both families, in their order.
func (s *Site) rules(c Carriage, v side) (all []*netlink.Rule) {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		add := func(priority, table int, set func(*netlink.Rule)) {
			r := netlink.NewRule()
			r.Family, r.Priority, r.Table = family, priority, table
			set(r)
			all = append(all, r)
		}
		for i, rule := range c.Rules {
			for _, set := range rule.matches(family, v) {
				add(firstOwn+i, s.table(rule.Path), set)
			}
		}
		for i := range s.Paths {
			own := s.Paths[i].end(v.near).own
			if family == netlink.FAMILY_V6 {
				own = s.Paths[i].end(v.near).own6
			}
			if own.IsValid() {
				add(priorityFrom, tablePath+i, func(r *netlink.Rule) { r.Src = host(own) })
			}
		}
		devices := s.Near.Net
		if family == netlink.FAMILY_V6 {
			devices = s.Near.Net6
		}
		if !v.near && devices.IsValid() {
			add(priorityNet, tableBest, func(r *netlink.Rule) { r.Dst = network(devices) })
		}
		if v.near {
			add(priorityLAN, tableBest, func(r *netlink.Rule) { r.IifName = v.lan })
		}
		add(priorityElse, tableBest, func(*netlink.Rule) {})
	}
	return all
}

// table is that of a path, by its name in a rule.
func (s *Site) table(path string) int {
	if path == best {
		return tableBest
	}
	return tablePath + s.index(path)
}

// matches are what a rule asks of a packet from the LAN, as one or two rules
// of the kernel: a prefix may be that of either end.
func (r PathRule) matches(family int, v side) (all []func(*netlink.Rule)) {
	common := func(to *netlink.Rule) {
		to.IifName, to.IPProto = v.lan, protocols[r.Protocol]
		if family == netlink.FAMILY_V6 && to.IPProto == unix.IPPROTO_ICMP {
			to.IPProto = unix.IPPROTO_ICMPV6
		}
		if r.Port != 0 && v.near {
			to.Dport = netlink.NewRulePortRange(r.Port, r.Port)
		} else if r.Port != 0 {
			to.Sport = netlink.NewRulePortRange(r.Port, r.Port)
		}
	}
	if r.Prefix == "" {
		return append(all, common)
	}
	p, err := netip.ParsePrefix(r.Prefix)
	if err != nil || p.Addr().Is4() != (family == netlink.FAMILY_V4) {
		return nil
	}
	return append(all,
		func(to *netlink.Rule) { common(to); to.Dst = network(p) },
		func(to *netlink.Rule) { common(to); to.Src = network(p) })
}

func host(a netip.Addr) *net.IPNet { return network(netip.PrefixFrom(a, a.BitLen())) }

func network(p netip.Prefix) *net.IPNet {
	p = p.Masked()
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// route is one that a side is to have.
type route struct {
	table      int
	dev        string
	to         netip.Prefix // invalid: everything
	gateway    netip.Addr
	v6         bool
	congestion string // of connections by it
}

// routes are those that a side is to have: everything by each path, by the
// best, and to the other end of each with the path's congestion control. From
// end to end of a path go the relays' subflows, which have controls of their
// own: a route that locks one would refuse them (tcp_set_congestion_control
// answers EPERM), and connections of mode lab outlive it.
func (s *Site) routes(c Carriage, v side, up []bool) (all []route) {
	for i := range s.Paths {
		p := &s.Paths[i]
		e, law := p.end(v.near), ""
		if c.Mode == Wire {
			if law = c.Paths[p.Name].Congestion; law == "" {
				law = c.Congestion
			}
			if law == multipath.Auto {
				law = "bbr"
			}
		}
		for _, one := range []struct {
			gateway netip.Addr
			v6      bool
		}{{e.gateway, false}, {e.gateway6, true}} {
			if !one.gateway.IsValid() {
				continue
			}
			r := route{table: tablePath + i, dev: e.dev, gateway: one.gateway, v6: one.v6, congestion: law}
			all = append(all, r)
			if i == s.best(c, up) {
				r.table = tableBest
				all = append(all, r)
			}
			other := netip.PrefixFrom(one.gateway, one.gateway.BitLen())
			all = append(all, route{table: unix.RT_TABLE_MAIN, dev: e.dev, to: other, v6: one.v6, congestion: law},
				route{table: tablePath + i, dev: e.dev, to: other, v6: one.v6})
		}
	}
	return all
}

// apply makes a side's rules and routes those that are wanted: new ones come
// before old ones go, so that there is always a way.
func (s *Site) apply(c Carriage, v side, up []bool) error {
	return netspace.Do(v.netns, func() error {
		for _, r := range s.routes(c, v, up) {
			// A link that went down just now is told of by the watch.
			if err := r.put(); err != nil && up[s.byDev(r.dev, v.near)] && !errors.Is(err, unix.ENETDOWN) {
				return fmt.Errorf("route by %s in %s: %w", r.dev, v.netns, err)
			}
		}
		return setRules(s.rules(c, v))
	})
}

// byDev is the path whose interface it is.
func (s *Site) byDev(dev string, near bool) int {
	return slices.IndexFunc(s.Paths, func(p Path) bool { return p.end(near).dev == dev })
}

// put makes it one of the calling thread's namespace. A congestion control is
// locked: subflows that the other end joins would else get their connection's.
func (r route) put() error {
	dev, err := netlink.LinkByName(r.dev)
	if err != nil {
		return err
	}
	m := nl.NewRtMsg()
	m.Family, m.Table, m.Scope = unix.AF_INET, unix.RT_TABLE_UNSPEC, unix.RT_SCOPE_UNIVERSE
	if r.v6 {
		m.Family = unix.AF_INET6
	} else if !r.gateway.IsValid() {
		m.Scope = unix.RT_SCOPE_LINK
	}
	q := nl.NewNetlinkRequest(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE|unix.NLM_F_ACK)
	q.AddData(m)
	q.AddData(nl.NewRtAttr(unix.RTA_TABLE, nl.Uint32Attr(uint32(r.table))))
	q.AddData(nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(uint32(dev.Attrs().Index))))
	if r.to.IsValid() {
		m.Dst_len = uint8(r.to.Bits())
		q.AddData(nl.NewRtAttr(unix.RTA_DST, r.to.Addr().AsSlice()))
	}
	if r.gateway.IsValid() {
		m.Flags |= unix.RTNH_F_ONLINK
		q.AddData(nl.NewRtAttr(unix.RTA_GATEWAY, r.gateway.AsSlice()))
	}
	if r.congestion != "" {
		metrics := nl.NewRtAttr(unix.RTA_METRICS, nil)
		metrics.AddRtAttr(unix.RTAX_LOCK, nl.Uint32Attr(1<<unix.RTAX_CC_ALGO))
		metrics.AddRtAttr(unix.RTAX_CC_ALGO, nl.ZeroTerminated(r.congestion))
		q.AddData(metrics)
	}
	_, err = q.Execute(unix.NETLINK_ROUTE, 0)
	return err
}

// own reports whether a rule of a namespace is one of a bundle's.
func own(r *netlink.Rule) bool {
	return r.Priority >= firstOwn && r.Priority <= lastOwn || r.Priority == priorityElse
}

// setRules makes the rules of the calling thread's namespace those that are
// wanted, of those that are a bundle's.
func setRules(want []*netlink.Rule) error {
	there := map[string]netlink.Rule{}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		all, err := netlink.RuleList(family)
		if err != nil {
			return fmt.Errorf("list rules: %w", err)
		}
		for _, r := range all {
			if r.Family = family; own(&r) {
				there[describe(&r)] = r
			}
		}
	}
	var errs []error
	for _, r := range want {
		if _, known := there[describe(r)]; known {
			delete(there, describe(r))
		} else if err := netlink.RuleAdd(r); err != nil && !errors.Is(err, os.ErrExist) {
			errs = append(errs, fmt.Errorf("rule %s: %w", describe(r), err))
		}
	}
	for _, r := range there {
		if err := netlink.RuleDel(&r); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove rule %s: %w", describe(&r), err))
		}
	}
	return errors.Join(errs...)
}

// describe writes what tells rules apart.
func describe(r *netlink.Rule) string {
	ports := func(p *netlink.RulePortRange) string {
		if p == nil {
			return ""
		}
		return fmt.Sprint(p.Start)
	}
	return fmt.Sprintf("%d/%d iif %s from %v to %v proto %d sport %s dport %s lookup %d", r.Family, r.Priority, r.IifName, r.Src, r.Dst, r.IPProto, ports(r.Sport), ports(r.Dport), r.Table)
}
