package multipath

import (
	"net/netip"
	"sync/atomic"
	"time"
)

// Delays is a histogram of in-order delays, in milliseconds, from the sending
// of a chunk's first copy to its delivery in order. It needs one clock for
// both relays: it says something only where both are on one machine.
type Delays struct{ at [4096]atomic.Uint64 }

func (d *Delays) add(t time.Duration) {
	d.at[min(max(t.Milliseconds(), 0), int64(len(d.at)-1))].Add(1)
}

// Quantile returns the q-th quantile.
func (d *Delays) Quantile(q float64) time.Duration {
	var all uint64
	for i := range d.at {
		all += d.at[i].Load()
	}
	var below uint64
	for i := range d.at {
		if below += d.at[i].Load(); all > 0 && float64(below) >= q*float64(all) {
			return time.Duration(i) * time.Millisecond
		}
	}
	return 0
}

// Forget begins anew.
func (d *Delays) Forget() {
	for i := range d.at {
		d.at[i].Store(0)
	}
}

// Delays returns the relay's histogram.
func (e *end) Delays() *Delays { return &e.delays }

// PathStats is a path of a connection now.
type PathStats struct {
	Carrier    string  `json:"carrier"`
	Congestion string  `json:"congestion"`
	RTTMs      float64 `json:"rtt_ms"`
	RateBPS    int64   `json:"rate_bps"` // as delivered, payload
	Cwnd       int     `json:"cwnd_packets"`
	Sent       uint64  `json:"sent_bytes"`
	Received   uint64  `json:"received_bytes"`
	Stale      bool    `json:"stale"`
	Backup     bool    `json:"backup,omitempty"`
}

// ConnectionStats is a connection now.
type ConnectionStats struct {
	Client     netip.AddrPort `json:"client"`
	Server     netip.AddrPort `json:"server"`
	Scheduler  string         `json:"scheduler"`
	Paths      []PathStats    `json:"paths"`
	Unsent     int            `json:"unsent_bytes"`
	Reorder    int            `json:"reorder_bytes"`
	ReorderMax int            `json:"reorder_max_bytes"`
	Reinjected uint64         `json:"reinjected_chunks"`
}

// Stats is a relay now, and since it began.
type Stats struct {
	Opened      uint64            `json:"opened"`
	Resets      uint64            `json:"resets"`
	Refused     uint64            `json:"refused_subflows"`
	Reinjected  uint64            `json:"reinjected_chunks"`
	ReorderMax  uint64            `json:"reorder_max_bytes"`
	Connections []ConnectionStats `json:"connections"`
}

// Stats returns what the relay does.
func (e *end) Stats() Stats {
	t := Stats{
		Opened: e.totals.opened.Load(), Resets: e.totals.resets.Load(), Refused: e.totals.refused.Load(),
		Reinjected: e.totals.reinjected.Load(), ReorderMax: e.totals.held.Load(), Connections: []ConnectionStats{},
	}
	for _, s := range e.all() {
		c := s.stats()
		t.Reinjected += c.Reinjected
		t.ReorderMax = max(t.ReorderMax, uint64(c.ReorderMax))
		t.Connections = append(t.Connections, c)
	}
	return t
}

// all returns the connections that are.
func (e *end) all() []*session {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*session, 0, len(e.sessions))
	for _, s := range e.sessions {
		all = append(all, s)
	}
	return all
}

func (s *session) stats() ConnectionStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := ConnectionStats{Client: s.client, Server: s.server, Scheduler: s.conf.Scheduler, Unsent: s.book.Unsent(), Reinjected: s.book.Reinjected, Paths: []PathStats{}}
	c.Reorder, c.ReorderMax = s.order.Held()
	for _, f := range s.flows {
		if f == nil {
			continue
		}
		c.Paths = append(c.Paths, PathStats{
			Carrier: f.carrier, Congestion: f.law, RTTMs: float64(f.path.SRTT) / 1e6, RateBPS: int64(f.path.Rate), Cwnd: f.path.Cwnd,
			Sent: f.sent.Load(), Received: f.received.Load(), Stale: f.lost, Backup: f.backup,
		})
	}
	return c
}
