package bundle

import (
	"cmp"
	"net/netip"
	"slices"

	"farlink/emulator/netspace"
	"farlink/pep/mptcp"
	"farlink/pep/multipath"
)

// PathState is a path now.
type PathState struct {
	Name string `json:"name" doc:"Name of the path."`
	Link string `json:"link,omitempty" doc:"Link of the box that emulates it."`
	Up   bool   `json:"up" doc:"Whether its interfaces are."`
	Best bool   `json:"best" doc:"Whether what is not carried over all paths goes by it."`
	// Bytes since the interface came to be, with all headers.
	UpBytes   uint64 `json:"up_bytes" doc:"Bytes that went up by it, from the devices, since it is there."`
	DownBytes uint64 `json:"down_bytes" doc:"Bytes that went down by it."`
}

// Subflow is one path of one connection.
type Subflow struct {
	Path       string         `json:"path" doc:"Name of the path."`
	Local      netip.AddrPort `json:"local,omitzero" doc:"Address at the far side, in mode wire."`
	Remote     netip.AddrPort `json:"remote,omitzero" doc:"Address at the near side, in mode wire."`
	Congestion string         `json:"congestion,omitempty" doc:"Congestion control of what is sent by it from where this is read."`
	RTTMs      float64        `json:"rtt_ms"`
	Cwnd       int            `json:"cwnd_packets"`
	Up         uint64         `json:"up_bytes" doc:"From the device."`
	Down       uint64         `json:"down_bytes" doc:"To the device."`
	Priority   string         `json:"priority" enum:"normal,backup" doc:"backup carries only while no other does."`
	State      string         `json:"state" enum:"up,joining,silent" doc:"silent: nothing is acknowledged for several round trips."`
}

// Connection is one that is carried over several paths.
type Connection struct {
	Client    netip.AddrPort `json:"client"`
	Server    netip.AddrPort `json:"server"`
	Mode      Mode           `json:"mode" enum:"wire,lab" doc:"The mode in which it began."`
	Scheduler string         `json:"scheduler" doc:"linux-default in mode wire."`
	Fallback  bool           `json:"fallback" doc:"In mode wire: it is plain TCP, since the device or something between does not speak MPTCP."`
	Subflows  []Subflow      `json:"subflows"`
}

// CarriedTotals are counted since the bundle stands.
type CarriedTotals struct {
	Opened     uint64 `json:"opened" doc:"Connections carried over all paths."`
	Refused    uint64 `json:"refused" doc:"Connections that servers refused or did not answer."`
	Fallbacks  uint64 `json:"fallbacks" doc:"Connections of mode wire that were plain TCP in the end."`
	Resets     uint64 `json:"resets" doc:"Connections of mode lab that ended otherwise than properly."`
	Strangers  uint64 `json:"strangers" doc:"Subflows of mode lab that were turned away: wrong key, replayed, another version."`
	Reinjected uint64 `json:"reinjected_chunks" doc:"Chunks of mode lab that were sent by a second path."`
}

// Status is what a bundle does.
type Status struct {
	Scheduler   string        `json:"scheduler" doc:"Of new connections: linux-default in mode wire."`
	Paths       []PathState   `json:"paths"`
	Totals      CarriedTotals `json:"totals"`
	Total       int           `json:"total" doc:"How many connections are carried."`
	Connections []Connection  `json:"connections" doc:"A page of them."`
}

// Paths returns the paths.
func (b *Bundle) Paths() []PathState {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]PathState, len(b.site.Paths))
	chosen := b.site.best(b.config, b.up)
	for i, p := range b.site.Paths {
		all[i] = PathState{Name: p.Name, Link: p.Link, Up: b.up[i], Best: i == chosen, UpBytes: b.seen[i].sent, DownBytes: b.seen[i].received}
	}
	return all
}

// Status returns what the bundle does, with most connections from offset on.
func (b *Bundle) Status(offset, most int) (Status, error) {
	s := Status{Scheduler: b.Config().Scheduler, Paths: b.Paths(), Connections: []Connection{}}
	if b.Config().Mode == Wire {
		s.Scheduler = mptcp.Scheduler
	}
	all := b.labConnections(&s.Totals)
	wire, err := b.wireConnections(&s.Totals)
	all = append(all, wire...)
	slices.SortFunc(all, func(x, y Connection) int {
		return cmp.Or(x.Server.Compare(y.Server), x.Client.Compare(y.Client))
	})
	s.Total = len(all)
	from := min(max(offset, 0), len(all))
	s.Connections = append(s.Connections, all[from:min(from+most, len(all))]...)
	if b.entrance != nil {
		s.Totals.Refused = b.entrance.refused.Load()
	}
	return s, err
}

// labConnections are those of the relays, as the router sees them.
func (b *Bundle) labConnections(t *CarriedTotals) (all []Connection) {
	if b.router == nil {
		return nil
	}
	r, p := b.router.Stats(), b.proxy.Stats()
	t.Opened, t.Resets, t.Reinjected, t.Strangers = r.Opened, r.Resets, r.Reinjected+p.Reinjected, p.Refused
	for _, c := range r.Connections {
		one := Connection{Client: c.Client, Server: c.Server, Mode: Lab, Scheduler: c.Scheduler, Subflows: []Subflow{}}
		for _, p := range c.Paths {
			one.Subflows = append(one.Subflows, labSubflow(p))
		}
		all = append(all, one)
	}
	return all
}

func labSubflow(p multipath.PathStats) Subflow {
	f := Subflow{Path: p.Carrier, Congestion: p.Congestion, RTTMs: p.RTTMs, Cwnd: p.Cwnd, Up: p.Sent, Down: p.Received, Priority: "normal", State: "up"}
	if p.Backup {
		f.Priority = "backup"
	}
	if p.Stale {
		f.State = "silent"
	}
	return f
}

// wireConnections are those of the far terminator, which meets all of MPTCP.
func (b *Bundle) wireConnections(t *CarriedTotals) (all []Connection, err error) {
	s := b.far.Stats()
	t.Opened += s.Opened
	t.Fallbacks = s.Fallbacks
	if len(s.Connections) == 0 {
		return nil, nil
	}
	var details map[mptcp.Ends]mptcp.Detail
	err = netspace.Do(b.site.Far.Netns, func() (err error) {
		details, err = mptcp.Details()
		return err
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range s.Connections {
		one := Connection{Client: c.Client, Server: c.Server, Mode: Wire, Scheduler: s.Scheduler, Fallback: c.Near.Fallback, Subflows: []Subflow{}}
		if one.Fallback {
			one.Subflows = append(one.Subflows, Subflow{Path: b.pathOf(c.Client.Addr()), Priority: "normal", State: "up"})
		}
		for _, p := range c.Near.Paths {
			one.Subflows = append(one.Subflows, b.wireSubflow(p, details[mptcp.Ends{Local: p.Local, Remote: p.Remote}]))
		}
		all = append(all, one)
	}
	return all, err
}

func (b *Bundle) wireSubflow(p mptcp.Path, d mptcp.Detail) Subflow {
	f := Subflow{Path: b.pathOf(p.Remote.Addr()), Local: p.Local, Remote: p.Remote, Congestion: d.Congestion, RTTMs: p.RTTMs,
		Cwnd: p.Cwnd, Up: p.Got, Down: p.Sent, Priority: "normal", State: "up"}
	if d.Backup {
		f.Priority = "backup"
	}
	switch {
	case p.Silent:
		f.State = "silent"
	case !d.Ready:
		f.State = "joining"
	}
	return f
}
