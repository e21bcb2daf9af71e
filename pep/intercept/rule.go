package intercept

import (
	"fmt"
	"net"
	"net/netip"

	"farlink/emulator/link"
)

// Action is what is done with the SYNs of a rule.
type Action uint8

// The actions, numbered as in words.h.
const (
	Pass     Action = iota // crosses unsplit
	Deferred               // answered when the far side has answered
	Early                  // answered at once
)

var actionNames = []string{"pass", "deferred", "early"}

func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("action %d", uint8(a))
}

// MarshalText writes the action's name.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads an action's name.
func (a *Action) UnmarshalText(b []byte) error {
	for i, n := range actionNames {
		if n == string(b) {
			*a = Action(i)
			return nil
		}
	}
	return fmt.Errorf("action %q: want pass, deferred or early", b)
}

// MostRules is how many rules there may be.
const MostRules = 64

// Rule says which connections are split, and how. The first rule that
// matches a SYN holds; an empty field matches all.
type Rule struct {
	Name      string       `toml:"name" json:"name,omitempty"`
	Source    netip.Prefix `toml:"source" json:"source,omitzero"`
	Target    netip.Prefix `toml:"target" json:"target,omitzero"`
	Ports     [2]uint16    `toml:"ports" json:"ports,omitzero"` // of the server, first and last
	ClientMAC string       `toml:"client_mac" json:"client_mac,omitempty"`
	DSCP      *uint8       `toml:"dscp" json:"dscp,omitempty"`
	MPTCP     *bool        `toml:"mptcp" json:"mptcp,omitempty"`
	Handshake Action       `toml:"handshake" json:"handshake"`
}

// Check reports every problem of the rule.
func (r Rule) Check(report link.Report) {
	if r.Ports[0] > r.Ports[1] {
		report("ports", fmt.Sprint(r.Ports), "the first port no higher than the last")
	}
	if r.ClientMAC != "" {
		if mac, err := net.ParseMAC(r.ClientMAC); err != nil || len(mac) != 6 {
			report("client_mac", r.ClientMAC, `six bytes, "02:00:00:00:00:01"`)
		}
	}
	if r.DSCP != nil && *r.DSCP > 63 {
		report("dscp", fmt.Sprint(*r.DSCP), "0 to 63")
	}
	if r.Source.IsValid() && r.Target.IsValid() && r.Source.Addr().Is4() != r.Target.Addr().Is4() {
		report("target", r.Target.String(), "the address family of source "+r.Source.String())
	}
}

// encode writes the rule as the programs read it.
func (r Rule) encode() (out interceptRule) {
	out.FirstPort, out.LastPort = r.Ports[0], r.Ports[1]
	out.Action = uint8(r.Handshake)
	prefix(r.Source, &out.Source, &out.SourceMask, &out.Family)
	prefix(r.Target, &out.Target, &out.TargetMask, &out.Family)
	if mac, err := net.ParseMAC(r.ClientMAC); err == nil {
		copy(out.Mac[:], mac)
		out.ByMac = 1
	}
	if r.DSCP != nil {
		out.Dscp, out.ByDscp = *r.DSCP, 1
	}
	if r.MPTCP != nil {
		out.Mptcp = 2
		if *r.MPTCP {
			out.Mptcp = 1
		}
	}
	return out
}

// prefix writes an address prefix as words in network order.
func prefix(p netip.Prefix, at, mask *[4]uint32, family *uint8) {
	if !p.IsValid() {
		return
	}
	*family = 6
	bytes, bits := p.Masked().Addr().AsSlice(), p.Bits()
	if p.Addr().Is4() {
		*family = 4
	}
	for i, b := range bytes {
		word, shift := i/4, 8*(i%4) // network order, as the bytes lie in memory
		at[word] |= uint32(b) << shift
		set := min(max(bits-8*i, 0), 8)
		mask[word] |= uint32(byte(0xff<<(8-set))) << shift
	}
}
