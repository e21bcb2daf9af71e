package stage

import "farlink/emulator/link"

// MiddleboxConfig is a box on the way that does not bear MPTCP (RFC 8684), as
// firewalls and transparent proxies of operators are (RFC 8041, 4.3; Honda
// et al., IMC 2011). Plain TCP passes it unharmed.
type MiddleboxConfig struct {
	// StripSYN takes the option of MPTCP out of every SYN and SYN+ACK:
	// connections begin as plain TCP, further subflows are refused.
	StripSYN bool `toml:"strip_syn,omitempty"`
	// StripData takes the option out of all other segments: a connection that
	// began as MPTCP falls back on its first data, or ends there.
	StripData bool `toml:"strip_data,omitempty"`
	// DropCapable loses every SYN that asks for MPTCP (MP_CAPABLE): the
	// connection hangs until the host tries without.
	DropCapable bool `toml:"drop_capable,omitempty"`
}

// Check reports what is wrong with c.
func (c MiddleboxConfig) Check(report link.Report) {
	if c.DropCapable && c.StripSYN {
		report("strip_syn", "true", "either strip_syn or drop_capable: a SYN that is lost has nothing to strip")
	}
}

// Middlebox meddles with what carries MPTCP. What it does follows from the
// segment alone; the driver has marked what each carries, and takes the option
// out of what leaves with the mark Stripped.
type Middlebox struct {
	config            MiddleboxConfig
	stripped, dropped int
}

// NewMiddlebox returns the middlebox that c describes.
func NewMiddlebox(c MiddleboxConfig) *Middlebox { return &Middlebox{config: c} }

// Put passes p on as it is or stripped, or loses it.
func (m *Middlebox) Put(p link.Packet, out link.Sink) {
	carries := p.Mark & link.MPTCPCapable
	switch {
	case carries == link.MPTCPCapable && m.config.DropCapable:
		m.dropped++
		out.Lose(p, link.Cause{Reason: link.Middlebox})
		return
	case carries == link.MPTCP && m.config.StripData, carries != link.MPTCP && carries != 0 && m.config.StripSYN:
		m.stripped++
		p.Mark |= link.Stripped
	}
	out.Deliver(p)
}

// Next returns Never: nothing is held.
func (m *Middlebox) Next() link.Time { return link.Never }

// Run does nothing.
func (m *Middlebox) Run(link.Time, link.Sink) {}

// Inherit goes on counting.
func (m *Middlebox) Inherit(_ link.Time, old link.Stage) {
	if o, ok := old.(*Middlebox); ok {
		m.stripped, m.dropped = o.stripped, o.dropped
	}
}

// Probes yields how many segments were stripped, and how many lost.
func (m *Middlebox) Probes(_ link.Time, yield func(link.Probe)) {
	yield(link.Probe{Name: "stripped_packets", Value: float64(m.stripped)})
	yield(link.Probe{Name: "capable_dropped_packets", Value: float64(m.dropped)})
}
