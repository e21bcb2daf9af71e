// Package bundle holds several paths between two places together: it routes by
// the best of them, and carries TCP connections over all of them, by MPTCP
// (mode wire) or by the relays of pep/multipath (mode lab).
//
//	            near namespace                              far namespace
//	devices ─ interception ─ LAN ┌ router or terminator ┐ ══ path 0 ══ ┌ proxy or terminator ┐ LAN ─ servers
//	           (of its own)      └ rules, best path     ┘ ══ path 1 ══ └ rules, best path    ┘
//
// What is not TCP for the ports, and all of it in mode off, is routed: by a
// rule's path, else by the best one that is up. Settings hold for new
// connections; those that are go on as they began.
package bundle

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"farlink/emulator/link"
	"farlink/pep/congestion"
	"farlink/pep/framing"
	"farlink/pep/multipath"
	"farlink/pep/schedule"
)

// Mode is how connections are carried.
type Mode string

// The modes.
const (
	Off  Mode = "off"  // routed by one path each
	Wire Mode = "wire" // MPTCP v1 (RFC 8684) on the paths
	Lab  Mode = "lab"  // farlink's own relays, a TCP connection per path: not MPTCP
)

// Modes lists them.
var Modes = []Mode{Off, Wire, Lab}

// Site is where a bundle stands; it does not change while it does.
type Site struct {
	Near  Near   `toml:"near" json:"near"`
	Far   Far    `toml:"far" json:"far"`
	Paths []Path `toml:"path" json:"path"`
}

// Near is the side of the devices. Without a namespace there is none: devices
// speak MPTCP themselves.
type Near struct {
	Netns string `toml:"netns" json:"netns,omitempty"` // named namespace that routes for the devices
	LAN   string `toml:"lan" json:"lan,omitempty"`     // its interface towards them
	// Net are the devices' addresses.
	Net  netip.Prefix `toml:"net" json:"net,omitzero"`
	Net6 netip.Prefix `toml:"net6" json:"net6,omitzero"`
	// Between LAN and the devices lies a namespace that takes connections out
	// of the layer-2 path, with an interface to either.
	Intercept string `toml:"intercept" json:"intercept,omitempty"`
	Devices   string `toml:"devices" json:"devices,omitempty"` // its interface towards the devices
	Router    string `toml:"router" json:"router,omitempty"`   // and that towards LAN
	Pins      string `toml:"pins" json:"pins,omitempty"`       // directory on a BPF file system, for it alone
}

// Far is the side of the servers.
type Far struct {
	Netns string `toml:"netns" json:"netns"` // named namespace that routes for the servers
	LAN   string `toml:"lan" json:"lan"`     // its interface towards them
}

// Path is one of the paths between near and far namespace.
type Path struct {
	Name    string     `toml:"name" json:"name"`
	Link    string     `toml:"link" json:"link,omitempty"` // of the box's pair that emulates it
	NearDev string     `toml:"near_dev" json:"near_dev,omitempty"`
	FarDev  string     `toml:"far_dev" json:"far_dev"` // one of its own
	Near    netip.Addr `toml:"near" json:"near"`       // addresses of the two ends
	Far     netip.Addr `toml:"far" json:"far"`
	Near6   netip.Addr `toml:"near6" json:"near6,omitzero"`
	Far6    netip.Addr `toml:"far6" json:"far6,omitzero"`
	// What it carries at best, and its round trip without queueing: the fastest
	// path that is up is the best, and both say how much must be in flight.
	Rate link.Rate     `toml:"rate" json:"rate,omitempty"`
	RTT  link.Duration `toml:"rtt" json:"rtt,omitempty"`
}

// Check reports every problem of the site.
func (s *Site) Check(report link.Report) {
	if len(s.Paths) < 1 || len(s.Paths) > framing.MostPaths {
		report("path", fmt.Sprintf("%d paths", len(s.Paths)), fmt.Sprintf("1 to %d", framing.MostPaths))
	}
	if s.Far.Netns == "" || s.Far.LAN == "" {
		report("far", fmt.Sprintf("netns %q, lan %q", s.Far.Netns, s.Far.LAN), "a named namespace and its interface towards the servers")
	}
	if n := s.Near; n.Netns != "" && (n.LAN == "" || n.Intercept == "" || n.Devices == "" || n.Router == "" || n.Pins == "" || !n.Net.IsValid()) {
		report("near", fmt.Sprintf("lan %q, intercept %q, devices %q, router %q, pins %q, net %v", n.LAN, n.Intercept, n.Devices, n.Router, n.Pins, n.Net), "all of them, or no netns")
	}
	names := map[string]bool{}
	for i, p := range s.Paths {
		at := fmt.Sprintf("path[%d].", i)
		if p.Name == "" || names[p.Name] {
			report(at+"name", fmt.Sprintf("%q", p.Name), "a name of its own")
		}
		names[p.Name] = true
		if !p.Near.Is4() || !p.Far.Is4() || p.FarDev == "" || s.Near.Netns != "" && p.NearDev == "" {
			report(strings.TrimSuffix(at, "."), fmt.Sprintf("near %v at %q, far %v at %q", p.Near, p.NearDev, p.Far, p.FarDev), "an IPv4 address and an interface of its own at either end")
		}
	}
}

// Carriage is what a bundle is to do.
type Carriage struct {
	Mode       Mode                `toml:"mode" json:"mode" enum:"off,wire,lab" doc:"off routes by one path; wire is MPTCP on the paths; lab is farlink's own relay, which is not MPTCP."`
	Scheduler  string              `toml:"scheduler" json:"scheduler,omitempty" doc:"Of mode lab: minrtt, roundrobin, redundant, blest, ecf, arrival (when not given). The kernel's own in mode wire." example:"blest"`
	Congestion string              `toml:"congestion" json:"congestion,omitempty" doc:"Congestion control of the subflows; auto when not given: bbr, and over long round trips of mode lab cubic." example:"bbr"`
	Window     link.Size           `toml:"window" json:"window,omitempty" doc:"Of mode lab: bytes in flight each way; by the rates and round trips of the paths when not given, at least 8MiB." example:"8MiB"`
	Buffer     link.Size           `toml:"buffer" json:"buffer,omitempty" doc:"Of mode wire: what a connection may queue; twice what the paths hold by their rates and round trips when not given, 1MB where these are not known." example:"600kB"`
	Ports      []uint16            `toml:"ports" json:"ports,omitempty" doc:"Ports of servers whose TCP connections are carried over all paths; 80, 443, 5001, 5201 and 8080 when not given."`
	Paths      map[string]PathWant `toml:"paths" json:"paths,omitempty" doc:"What one path is to do, by name."`
	Rules      []PathRule          `toml:"rules" json:"rules,omitempty" doc:"Which path takes what is routed; the first that matches. All else takes the best path that is up."`
}

// PathWant is what one path is to do.
type PathWant struct {
	Congestion string `toml:"congestion" json:"congestion,omitempty" doc:"In place of the common one."`
	Backup     bool   `toml:"backup" json:"backup,omitempty" doc:"Only while no other path is up."`
}

// PathRule sends what it matches by one path. TCP that it matches is not carried
// over all of them.
type PathRule struct {
	Prefix   string `toml:"prefix" json:"prefix,omitempty" doc:"Addresses of the device or of the server." example:"10.79.0.2/32"`
	Protocol string `toml:"protocol" json:"protocol,omitempty" doc:"udp, tcp or icmp; anything when not given." example:"udp"`
	Port     uint16 `toml:"port" json:"port,omitempty" doc:"Of the server; with udp or tcp." example:"443"`
	Path     string `toml:"path" json:"path" doc:"Name of a path, or best." example:"lte/kt"`
}

// best names the best path in a rule.
const best = "best"

// DefaultPorts are taken when none are named.
var DefaultPorts = []uint16{80, 443, 5001, 5201, 8080}

// Round trips are longer under load: queues of an eNodeB hold that much, and
// over a satellite BBR keeps two rounds in flight. What a connection of mode
// wire queues beyond the paths' own is latency, so less is allowed for there.
const (
	loaded = 250 * link.Millisecond
	queued = 50 * link.Millisecond
)

// holds is the sum of the paths' rates, and the longest round trip.
func (s *Site) holds() (sum link.Rate, rtt link.Duration) {
	for _, p := range s.Paths {
		sum, rtt = sum+p.Rate, max(rtt, p.RTT)
	}
	return sum, rtt
}

// withDefaults fills in what is not said, for a site.
func (c Carriage) withDefaults(s *Site) Carriage {
	sum, rtt := s.holds()
	if c.Mode == "" {
		c.Mode = Off
	}
	if c.Scheduler == "" {
		c.Scheduler = "arrival"
	}
	if c.Congestion == "" {
		c.Congestion = multipath.Auto
	}
	if c.Window == 0 {
		c.Window = max(multipath.Window(sum, max(rtt+loaded, 2*rtt)), 8<<20)
	}
	if c.Buffer == 0 {
		c.Buffer = 1e6
		if sum > 0 && rtt > 0 {
			c.Buffer = max(2*sum.Bytes(rtt+queued), 128e3)
		}
	}
	if len(c.Ports) == 0 {
		c.Ports = DefaultPorts
	}
	return c
}

// kernelControls are those that mode wire can have: the kernel's own, since
// the others need to be told what a socket belongs to.
var kernelControls = []string{"reno", "cubic", "bbr", multipath.Auto}

// mostPorts and mostRules bound a configuration.
const mostPorts, mostRules = 16, 40

// Check reports every problem that the configuration has at a site.
func (c Carriage) Check(s *Site, report link.Report) {
	d := c.withDefaults(s)
	if !slices.Contains(Modes, d.Mode) {
		report("mode", string(d.Mode), "off, wire or lab")
	}
	if d.Mode == Lab && s.Near.Netns == "" {
		report("mode", "lab", "off or wire: without a near side there is no relay near the devices")
	}
	if !slices.Contains(schedule.Names(), d.Scheduler) {
		report("scheduler", d.Scheduler, "one of "+strings.Join(schedule.Names(), ", "))
	}
	d.checkControl("congestion", d.Congestion, report)
	for _, name := range slices.Sorted(maps.Keys(c.Paths)) {
		if s.index(name) < 0 {
			report("paths."+name, fmt.Sprintf("%q", name), "one of "+strings.Join(s.names(), ", "))
		}
		if law := c.Paths[name].Congestion; law != "" {
			d.checkControl("paths."+name+".congestion", law, report)
		}
	}
	if len(d.Ports) > mostPorts || slices.Contains(d.Ports, 0) {
		report("ports", fmt.Sprint(d.Ports), fmt.Sprintf("at most %d, 1 to 65535", mostPorts))
	}
	if len(d.Rules) > mostRules {
		report("rules", fmt.Sprintf("%d rules", len(d.Rules)), fmt.Sprintf("at most %d", mostRules))
	}
	for i, r := range d.Rules {
		r.check(s, report.Under(fmt.Sprintf("rules[%d]", i)))
	}
	d.lab(s).Check(func(path, got, want string) {
		if path == "window" {
			report(path, got, want)
		}
	})
	if d.Buffer < 64e3 || d.Buffer > 256<<20 {
		report("buffer", d.Buffer.String(), "64kB to 256MiB")
	}
}

func (c Carriage) checkControl(at, law string, report link.Report) {
	known := append(congestion.Names(), multipath.Auto)
	if c.Mode == Wire {
		known = kernelControls
	}
	if !slices.Contains(known, law) {
		report(at, law, "one of "+strings.Join(known, ", "))
	}
}

func (r PathRule) check(s *Site, report link.Report) {
	if r.Prefix != "" {
		if _, err := netip.ParsePrefix(r.Prefix); err != nil {
			report("prefix", r.Prefix, "a prefix, such as 10.79.0.0/24")
		}
	}
	if _, ok := protocols[r.Protocol]; !ok {
		report("protocol", r.Protocol, "udp, tcp, icmp, or none")
	}
	if r.Port != 0 && r.Protocol != "udp" && r.Protocol != "tcp" {
		report("port", fmt.Sprint(r.Port), "none, or protocol udp or tcp")
	}
	if r.Path != best && s.index(r.Path) < 0 {
		report("path", fmt.Sprintf("%q", r.Path), "best, or one of "+strings.Join(s.names(), ", "))
	}
}

// Err returns all problems as one error, nil if there are none.
func (c Carriage) Err(s *Site) error {
	var errs []error
	c.Check(s, func(path, got, want string) {
		errs = append(errs, fmt.Errorf("multipath: %s: got %s, want %s", path, got, want))
	})
	return errors.Join(errs...)
}

// lab is what the relays are told.
func (c Carriage) lab(s *Site) multipath.Config {
	m := multipath.Config{Scheduler: c.Scheduler, Congestion: c.Congestion, Window: c.Window}
	for _, p := range s.Paths {
		m.PerPath = append(m.PerPath, c.Paths[p.Name].Congestion)
		m.Backup = append(m.Backup, c.Paths[p.Name].Backup)
	}
	return m
}

func (s *Site) names() (all []string) {
	for _, p := range s.Paths {
		all = append(all, p.Name)
	}
	return all
}

func (s *Site) index(name string) int {
	return slices.IndexFunc(s.Paths, func(p Path) bool { return p.Name == name })
}

// best is the fastest path that is up and no backup; if there is none, the
// fastest that is up; if none is up, the first.
func (s *Site) best(c Carriage, up []bool) int {
	chosen, rank := 0, -1
	for i, p := range s.Paths {
		r := 0
		if up[i] {
			r = 1
			if !c.Paths[p.Name].Backup {
				r = 2
			}
		}
		if r > rank || r == rank && p.Rate > s.Paths[chosen].Rate {
			chosen, rank = i, r
		}
	}
	return chosen
}
