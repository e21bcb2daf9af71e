// Package multipath carries TCP connections over several carriers at once,
// between two relays of ours: mode "lab".
//
//	          ┌─ Router ─┐   carrier 0: TCP subflow    ┌─ Proxy ─┐
//	client ──▶│ Book ────┼──▶━━━━━━━━━━━━━━━━━━━━━━━━━▶┼ Reorder ┼──▶ server
//	          │ schedule │   carrier 1: TCP subflow    │         │
//	          └──────────┘──▶━━━━━━━━━━━━━━━━━━━━━━━━━▶└─────────┘
//
// The client and the server speak plain TCP. Between the relays each
// connection has one kernel TCP socket per carrier, with a congestion control
// of pep/congestion (the coupled laws coupled across them), and frames of
// pep/framing on it. A chunk is given to a path only when it could leave at
// once (TCP_INFO is read before each decision), so that what a path turns out
// to be can still be heeded. This is not MPTCP on the wire.
package multipath

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"farlink/emulator/link"
	"farlink/pep/congestion"
	"farlink/pep/schedule"
)

// Config is how connections are carried; changes hold for new ones.
type Config struct {
	Scheduler  string        `toml:"scheduler" json:"scheduler"`         // a name of pep/schedule; "" is arrival
	Congestion string        `toml:"congestion" json:"congestion"`       // a name of pep/congestion, or Auto; "" is Auto
	PerPath    []string      `toml:"per_path" json:"per_path,omitempty"` // by carrier: one other than congestion; "" is none
	Backup     []bool        `toml:"backup" json:"backup,omitempty"`     // by carrier: only while no other is up, for what this end sends
	Window     link.Size     `toml:"window" json:"window"`               // bytes in flight and out of order, each way; 0 is 4 MiB
	Chunk      link.Size     `toml:"chunk" json:"chunk"`                 // bytes given to a path at once; 0 is 5768 (4 segments)
	Patience   link.Duration `toml:"patience" json:"patience"`           // without any path, then the connection is reset; 0 is 30 s
	Segments   int           `toml:"num_segments" json:"num_segments,omitempty"`
	Strict     bool          `toml:"strict_rotation" json:"strict_rotation,omitempty"` // round robin waits for the path whose turn it is (cwnd_limited=false)
	Eager      bool          `toml:"eager" json:"eager,omitempty"`                     // fill socket buffers, as naive relays do: to compare
}

// Auto is the congestion control that goes by the path: BBR, but CUBIC where
// the handshake took farRTT. Over a satellite BBR doubles past the queue, and
// what it loses then holds up the whole connection for half a minute; every
// 10 s it empties the path to see its round trip, for two of them. CUBIC ends
// its start when the round trip grows.
const Auto = "auto"

const farRTT = 200 * link.Millisecond

// Bounds of the sizes.
const (
	leastWindow = 64 << 10
	mostWindow  = 256 << 20
	mostChunk   = 60 << 10
)

// withDefaults fills in what is not said.
func (c Config) withDefaults() Config {
	if c.Scheduler == "" {
		c.Scheduler = "arrival"
	}
	if c.Congestion == "" {
		c.Congestion = Auto
	}
	if c.Window == 0 {
		c.Window = 4 << 20
	}
	if c.Chunk == 0 {
		c.Chunk = 4*1448 - 24
	}
	if c.Patience == 0 {
		c.Patience = 30 * link.Second
	}
	return c
}

// law is the congestion control on carrier i.
func (c Config) law(i int) string {
	if i < len(c.PerPath) && c.PerPath[i] != "" {
		return c.PerPath[i]
	}
	return c.Congestion
}

// backup reports whether carrier i is for when no other is up.
func (c Config) backup(i int) bool { return i < len(c.Backup) && c.Backup[i] }

// Check reports every problem of the configuration.
func (c Config) Check(report link.Report) {
	d := c.withDefaults()
	if !slices.Contains(schedule.Names(), d.Scheduler) {
		report("scheduler", d.Scheduler, "one of "+strings.Join(schedule.Names(), ", "))
	}
	laws := append(congestion.Names(), Auto)
	if !slices.Contains(laws, d.Congestion) {
		report("congestion", d.Congestion, "one of "+strings.Join(laws, ", "))
	}
	for i, law := range d.PerPath {
		if law != "" && !slices.Contains(laws, law) {
			report(fmt.Sprintf("per_path[%d]", i), law, "one of "+strings.Join(laws, ", "))
		}
	}
	if d.Window < leastWindow || d.Window > mostWindow {
		report("window", d.Window.String(), "64KiB to 256MiB; twice the sum of rates times the longest round trip")
	}
	if d.Chunk < 256 || d.Chunk > mostChunk {
		report("chunk", d.Chunk.String(), "256B to 60KiB")
	}
	if d.Patience < link.Second {
		report("patience", d.Patience.String(), "at least 1s")
	}
	if c.Segments < 0 {
		report("num_segments", fmt.Sprint(c.Segments), "at least 1")
	}
}

// Err returns all problems as one error, nil if there are none.
func (c Config) Err() error {
	var errs []error
	c.Check(func(path, got, want string) {
		errs = append(errs, fmt.Errorf("multipath: %s: got %s, want %s", path, got, want))
	})
	return errors.Join(errs...)
}

// Window is the rule for Config.Window: twice what all carriers hold for the
// longest loaded round trip, and at least 1 MiB.
func Window(sum link.Rate, rtt link.Duration) link.Size {
	return max(link.Size(2*float64(sum)/8*rtt.Seconds()), 1<<20)
}
