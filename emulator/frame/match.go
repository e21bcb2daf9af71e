package frame

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"farlink/emulator/link"
)

// Match says which frames a rule takes; what is not set matches all. Address,
// prefix and port match either end, so that one rule takes both ways of a
// flow.
type Match struct {
	From     From     `toml:"from"`     // the test port it came in at: "a" (device side) or "b"
	VLAN     VLAN     `toml:"vlan"`     // outermost VLAN: "100", or "none" for untagged
	MAC      MAC      `toml:"mac"`      // source or destination
	Prefix   Prefix   `toml:"prefix"`   // source or destination, IPv4 or IPv6: "10.1.0.0/16"
	DSCP     DSCP     `toml:"dscp"`     // "0" to "63"
	Protocol Protocol `toml:"protocol"` // "tcp", "udp", "icmp", … or a number
	Port     Ports    `toml:"port"`     // source or destination: "443" or "5000-5100"
}

// Takes reports whether a frame that travels w matches.
func (m *Match) Takes(h *Header, w link.Way) bool {
	return m.From.takes(w) && m.VLAN.takes(h) && m.MAC.takes(h) &&
		m.Prefix.takes(h) && m.DSCP.takes(h) && m.Protocol.takes(h) && m.Port.takes(h)
}

// From is a test port, as text "a" or "b"; empty is either.
type From string

// UnmarshalText reads "a" or "b".
func (f *From) UnmarshalText(b []byte) error {
	if s := string(b); s != "a" && s != "b" && s != "" {
		return fmt.Errorf(`%q; want "a" (device side) or "b" (network side)`, b)
	}
	*f = From(b)
	return nil
}

func (f From) takes(w link.Way) bool { return f == "" || (f == "a") == (w == link.Up) }

// VLAN is an outermost VLAN identifier, as text "100", or "none".
type VLAN struct {
	set bool
	id  int16 // -1: untagged
}

// MarshalText and UnmarshalText make it text in documents.
func (v VLAN) MarshalText() ([]byte, error) {
	if v.id < 0 {
		return []byte("none"), nil
	}
	return strconv.AppendInt(nil, int64(v.id), 10), nil
}

func (v *VLAN) UnmarshalText(b []byte) error {
	if string(b) == "none" {
		*v = VLAN{true, -1}
		return nil
	}
	n, err := strconv.ParseUint(string(b), 10, 16)
	if err != nil || n > 4094 {
		return fmt.Errorf(`%q; want a VLAN "0" to "4094", or "none"`, b)
	}
	*v = VLAN{true, int16(n)}
	return nil
}

func (v VLAN) takes(h *Header) bool { return !v.set || v.id == h.vlan }

// DSCP is a differentiated services code point, as text "46".
type DSCP struct {
	set   bool
	value uint8
}

// MarshalText and UnmarshalText make it text in documents.
func (d DSCP) MarshalText() ([]byte, error) { return strconv.AppendUint(nil, uint64(d.value), 10), nil }

func (d *DSCP) UnmarshalText(b []byte) error {
	n, err := strconv.ParseUint(string(b), 10, 8)
	if err != nil || n > 63 {
		return fmt.Errorf(`%q; want a code point "0" to "63"`, b)
	}
	*d = DSCP{true, uint8(n)}
	return nil
}

func (d DSCP) takes(h *Header) bool { return !d.set || h.version != 0 && h.traffic>>2 == d.value }

// MAC is an Ethernet address, as text "02:00:00:00:00:01".
type MAC [6]byte

// String writes the address with colons.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// MarshalText and UnmarshalText make it text in documents.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

func (m *MAC) UnmarshalText(b []byte) error {
	parts := strings.FieldsFunc(string(b), func(r rune) bool { return r == ':' || r == '-' })
	if len(parts) != 6 {
		return fmt.Errorf("%q; want an address such as 02:00:00:00:00:01", b)
	}
	for i, s := range parts {
		n, err := strconv.ParseUint(s, 16, 8)
		if err != nil {
			return fmt.Errorf("%q; want an address such as 02:00:00:00:00:01", b)
		}
		m[i] = byte(n)
	}
	return nil
}

func (m MAC) takes(h *Header) bool {
	return m == MAC{} || m == h.source || m == h.destination
}

// Prefix is an IPv4 or IPv6 prefix, as text "10.77.0.0/24"; an address alone
// means itself.
type Prefix struct{ netip.Prefix }

// UnmarshalText reads a prefix or an address.
func (p *Prefix) UnmarshalText(b []byte) error {
	if a, err := netip.ParseAddr(string(b)); err == nil {
		p.Prefix = netip.PrefixFrom(a.WithZone(""), a.BitLen())
		return nil
	}
	x, err := netip.ParsePrefix(string(b))
	if err != nil {
		return fmt.Errorf("%q; want an address or prefix such as 10.77.0.0/24 or fd77::1", b)
	}
	p.Prefix = x.Masked()
	return nil
}

func (p *Prefix) takes(h *Header) bool {
	return !p.IsValid() || h.version != 0 && (p.Contains(h.addresses[0]) || p.Contains(h.addresses[1]))
}

// Protocol is an IP protocol number, as text "tcp" or "132".
type Protocol struct {
	set    bool
	number uint8
}

// protocolNames are those of IANA's registry that testers use.
var protocolNames = []struct {
	name   string
	number uint8
}{{"icmp", 1}, {"tcp", 6}, {"udp", 17}, {"gre", 47}, {"esp", 50}, {"icmpv6", 58}, {"sctp", 132}}

// MarshalText and UnmarshalText make it text in documents.
func (p Protocol) MarshalText() ([]byte, error) {
	for _, n := range protocolNames {
		if n.number == p.number {
			return []byte(n.name), nil
		}
	}
	return strconv.AppendUint(nil, uint64(p.number), 10), nil
}

func (p *Protocol) UnmarshalText(b []byte) error {
	for _, n := range protocolNames {
		if n.name == string(b) {
			*p = Protocol{true, n.number}
			return nil
		}
	}
	n, err := strconv.ParseUint(string(b), 10, 8)
	if err != nil {
		return fmt.Errorf("%q; want tcp, udp, icmp, icmpv6, sctp, gre, esp or a number 0 to 255", b)
	}
	*p = Protocol{true, uint8(n)}
	return nil
}

func (p Protocol) takes(h *Header) bool {
	return !p.set || h.version != 0 && p.number == h.protocol
}

// Ports is a range of transport ports, as text "443" or "5000-5100".
type Ports struct{ First, Last uint16 }

// MarshalText and UnmarshalText make it text in documents.
func (p Ports) MarshalText() ([]byte, error) {
	if p.First == p.Last {
		return strconv.AppendUint(nil, uint64(p.First), 10), nil
	}
	return fmt.Appendf(nil, "%d-%d", p.First, p.Last), nil
}

func (p *Ports) UnmarshalText(b []byte) error {
	first, last, ranged := strings.Cut(string(b), "-")
	if !ranged {
		last = first
	}
	lo, err1 := strconv.ParseUint(first, 10, 16)
	hi, err2 := strconv.ParseUint(last, 10, 16)
	if err1 != nil || err2 != nil || lo > hi || hi == 0 {
		return fmt.Errorf(`%q; want a port "443" or a range "5000-5100"`, b)
	}
	*p = Ports{uint16(lo), uint16(hi)}
	return nil
}

func (p Ports) takes(h *Header) bool {
	return p == Ports{} || h.hasPorts && (p.has(h.ports[0]) || p.has(h.ports[1]))
}

func (p Ports) has(port uint16) bool { return p.First <= port && port <= p.Last }
