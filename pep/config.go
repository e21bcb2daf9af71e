package pep

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"farlink/emulator/link"
	"farlink/pep/congestion"
	"farlink/pep/intercept"
)

// Config says what a proxy splits, and how the legs behave. The zero value of
// a field means its default.
type Config struct {
	Enabled bool `toml:"enabled" json:"enabled"`
	// Handshake is for SYNs that no rule matches. Default pass, so that
	// nothing is split unless asked.
	Handshake intercept.Action `toml:"handshake" json:"handshake"`
	Rules     []Policy         `toml:"rules" json:"rules,omitempty"`
	// LAN and WAN are the legs where no rule says otherwise: to the client's
	// side of the box, and to the other.
	LAN Leg `toml:"lan" json:"lan,omitzero"`
	WAN Leg `toml:"wan" json:"wan,omitzero"`
	// Flows is the most connections split at a time; more cross unsplit.
	// Default: what memory and the descriptor limit allow.
	Flows int `toml:"flows" json:"flows,omitempty"`
	// Fault makes what xlayer hears of the link's capacity wrong, to see
	// what such an error costs.
	Fault Fault `toml:"fault" json:"fault,omitzero"`
	// LeastRTT is the round trip of the wan leg's link below which nothing is
	// split, since on so short a way a split costs more than it brings.
	// Default 20ms: over 13 ms a page of 1 MB was 3 % slower. A link without
	// a limit tells no round trip, and is split.
	LeastRTT link.Duration `toml:"least_rtt" json:"least_rtt,omitempty"`
	// DialTimeout is how long the far side is asked. Default 130s, the
	// kernel's own patience with a SYN.
	DialTimeout link.Duration `toml:"dial_timeout" json:"dial_timeout,omitempty"`
}

// Policy is which connections are split, and how their legs behave.
type Policy struct {
	intercept.Rule
	LAN Leg `toml:"lan" json:"lan,omitzero"`
	WAN Leg `toml:"wan" json:"wan,omitzero"`
}

// Leg is how one side of a split connection behaves.
type Leg struct {
	// Congestion is a control of congestion.Names. Default cubic; for a leg
	// over the emulated link "xlayer" follows its grants.
	Congestion string `toml:"congestion" json:"congestion,omitempty"`
	// Fallback is the kernel control where Congestion cannot be loaded.
	// Default cubic.
	Fallback string `toml:"fallback" json:"fallback,omitempty"`
	// Link is the number of the link whose capacity xlayer follows, 0..255.
	Link int `toml:"link" json:"link,omitempty"`
	// Gain is xlayer's window over granted rate times RTT, 1 to 4; default
	// 1.25. Floor is the least window in packets, default 10.
	Gain  float64 `toml:"gain" json:"gain,omitempty"`
	Floor int     `toml:"floor" json:"floor,omitempty"`
	// Unsent bounds what waits in the send buffer before the window
	// (TCP_NOTSENT_LOWAT). Default 50 ms of the link's rate, 128 KiB at
	// least.
	Unsent link.Size `toml:"unsent" json:"unsent,omitempty"`
	// Buffer bounds send and receive buffer, in bytes. Default three
	// bandwidth-delay products of the link; where that is not known the
	// kernel sizes them.
	Buffer link.Size `toml:"buffer" json:"buffer,omitempty"`

	away bool // not over the link
}

// over returns l with unset fields from base.
func (l Leg) over(base Leg) Leg {
	or(&l.Congestion, base.Congestion)
	or(&l.Fallback, base.Fallback)
	or(&l.Link, base.Link)
	or(&l.Gain, base.Gain)
	or(&l.Floor, base.Floor)
	or(&l.Unsent, base.Unsent)
	or(&l.Buffer, base.Buffer)
	return l
}

func or[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

func (c Config) withDefaults(room room) Config {
	leg := Leg{Congestion: "cubic", Fallback: "cubic"}
	c.LAN, c.WAN = c.LAN.over(leg), c.WAN.over(leg)
	or(&c.DialTimeout, 130*link.Second)
	or(&c.LeastRTT, 20*link.Millisecond)
	or(&c.Flows, room.flows())
	c.Flows = min(c.Flows, room.sockets())
	return c
}

// Check reports every problem of the configuration.
func (c Config) Check(report link.Report) {
	if len(c.Rules) > intercept.MostRules {
		report("rules", fmt.Sprint(len(c.Rules)), fmt.Sprintf("at most %d", intercept.MostRules))
	}
	for i, r := range c.Rules {
		at := fmt.Sprintf("rules[%d].", i)
		r.Check(func(path, got, want string) { report(at+path, got, want) })
		r.LAN.check(at+"lan.", report)
		r.WAN.check(at+"wan.", report)
	}
	c.LAN.check("lan.", report)
	c.WAN.check("wan.", report)
	if c.Flows < 0 || c.Flows > 1e6 {
		report("flows", fmt.Sprint(c.Flows), "0 (what memory and descriptors allow) to 1000000")
	}
	c.Fault.check(report)
	if c.LeastRTT < 0 || c.LeastRTT > link.Second {
		report("least_rtt", c.LeastRTT.String(), "up to 1s")
	}
	if c.DialTimeout < 0 || c.DialTimeout > 600*link.Second {
		report("dial_timeout", c.DialTimeout.String(), "up to 600s")
	}
}

func (l Leg) check(at string, report link.Report) {
	if l.Congestion != "" && !slices.Contains(congestion.Names(), l.Congestion) {
		report(at+"congestion", fmt.Sprintf("%q", l.Congestion), "one of "+strings.Join(congestion.Names(), ", "))
	}
	if l.Fallback != "" && !slices.Contains(congestion.Kernel, l.Fallback) {
		report(at+"fallback", fmt.Sprintf("%q", l.Fallback), "one of "+strings.Join(congestion.Kernel, ", "))
	}
	if l.Link < 0 || l.Link > 255 {
		report(at+"link", fmt.Sprint(l.Link), "0 to 255")
	}
	if l.Gain != 0 && (l.Gain < 1 || l.Gain > 4) {
		report(at+"gain", fmt.Sprint(l.Gain), "1 to 4")
	}
	if l.Floor < 0 || l.Floor > 10000 {
		report(at+"floor", fmt.Sprint(l.Floor), "0 (the default, 10) to 10000")
	}
	if l.Buffer < 0 || l.Buffer > 1<<30 {
		report(at+"buffer", l.Buffer.String(), "up to 1GiB")
	}
}

// Err returns all problems as one error, nil if there are none.
func (c Config) Err() error {
	var errs []error
	c.Check(func(path, got, want string) {
		errs = append(errs, fmt.Errorf("pep: %s: got %s, want %s", path, got, want))
	})
	return errors.Join(errs...)
}

// legs returns the leg towards the client and the leg towards the server of
// a connection that rule i split. fromLAN says on which side the client is.
func (c *Config) legs(i int, fromLAN bool) (client, server Leg) {
	lan, wan := c.LAN, c.WAN
	if i < len(c.Rules) {
		lan, wan = c.Rules[i].LAN.over(lan), c.Rules[i].WAN.over(wan)
	}
	lan.away = true
	if fromLAN {
		return lan, wan
	}
	return wan, lan
}

// controls lists the congestion controls that the configuration names.
func (c Config) controls() []string {
	names := []string{c.LAN.Congestion, c.WAN.Congestion}
	for _, r := range c.Rules {
		names = append(names, r.LAN.Congestion, r.WAN.Congestion)
	}
	return names
}
