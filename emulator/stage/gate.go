package stage

import (
	"strconv"

	"farlink/emulator/link"
)

// ethernetHeader is what a frame has before its payload: two addresses and
// the type.
const ethernetHeader = 14

// GateConfig says what may enter a way of a link, and when.
type GateConfig struct {
	// MTU is the largest payload of a frame: the frame without FCS less the
	// 14 bytes of Ethernet header, so that 1500B passes what a host with
	// that MTU sends untagged (a VLAN tag takes 4 of it). Zero: no limit.
	MTU link.Size `toml:"mtu,omitempty"`
	// Cut lists spans of the run in which nothing enters.
	Cut []CutConfig `toml:"cut,omitempty"`
	// Flap cuts the link again and again.
	Flap *FlapConfig `toml:"flap,omitempty"`
}

// CutConfig is one span without a link: from At for For.
type CutConfig struct {
	At  link.Duration `toml:"at"`
	For link.Duration `toml:"for"`
}

// FlapConfig is a link that goes down for Down at the end of every Period,
// counted from Start.
type FlapConfig struct {
	Period link.Duration `toml:"period"`
	Down   link.Duration `toml:"down"`
	Start  link.Duration `toml:"start,omitempty"`
}

// Check reports what is wrong with c.
func (c GateConfig) Check(report link.Report) {
	if c.MTU != 0 && (c.MTU < 46 || c.MTU > 9202) {
		report("mtu", c.MTU.String(), "46B..9202B (a frame of up to 9216B), or leave it out")
	}
	for i, cut := range c.Cut {
		if cut.For <= 0 {
			report("cut."+strconv.Itoa(i)+".for", cut.For.String(), "a positive duration")
		}
	}
	if f := c.Flap; f != nil {
		if f.Period <= 0 {
			report("flap.period", f.Period.String(), "a positive duration")
		}
		if f.Down <= 0 || f.Down >= f.Period {
			report("flap.down", f.Down.String(), "more than 0 and less than the period, "+f.Period.String())
		}
	}
}

// Gate is the entry of a way of a link. What it does to a packet depends on
// the packet's size and time of arrival alone, so it needs no waking.
type Gate struct {
	largest      int // bytes of frame
	cuts         []link.Span
	flap         FlapConfig
	live         link.Span // the cut asked for while running
	tooBig, lost int
}

// NewGate returns the gate that c describes.
func NewGate(c GateConfig) *Gate {
	g := &Gate{largest: 1 << 16}
	if c.MTU > 0 {
		g.largest = int(c.MTU) + ethernetHeader
	}
	for _, cut := range c.Cut {
		g.cuts = append(g.cuts, link.Span{Start: link.Time(cut.At), End: link.Time(cut.At + cut.For)})
	}
	if c.Flap != nil {
		g.flap = *c.Flap
	}
	return g
}

// Cut closes the gate from a time until another; Never: until it is cut
// anew. It replaces the cut of a former call; an empty span opens the gate.
func (g *Gate) Cut(from, until link.Time) { g.live = link.Span{Start: from, End: until} }

// Closed reports whether the gate is cut at t.
func (g *Gate) Closed(t link.Time) bool {
	if g.live.Holds(t) {
		return true
	}
	for _, s := range g.cuts {
		if s.Holds(t) {
			return true
		}
	}
	since := t - link.Time(g.flap.Start)
	return g.flap.Period > 0 && since >= 0 &&
		since%link.Time(g.flap.Period) >= link.Time(g.flap.Period-g.flap.Down)
}

// Put lets p in, or loses it.
func (g *Gate) Put(p link.Packet, out link.Sink) {
	switch {
	case int(p.Size) > g.largest:
		g.tooBig++
		out.Lose(p, link.Cause{Reason: link.TooBig})
	case g.Closed(p.When):
		g.lost++
		out.Lose(p, link.Cause{Reason: link.Cut})
	default:
		out.Deliver(p)
	}
}

// Next returns Never: a gate holds nothing.
func (g *Gate) Next() link.Time { return link.Never }

// Run does nothing.
func (g *Gate) Run(link.Time, link.Sink) {}

// Inherit keeps a cut that was asked for while the old gate stood here.
func (g *Gate) Inherit(_ link.Time, old link.Stage) {
	if o, ok := old.(*Gate); ok {
		g.live = o.live
	}
}

// Probes yields whether the gate is open and what it refused.
func (g *Gate) Probes(now link.Time, yield func(link.Probe)) {
	open := 1.0
	if g.Closed(now) {
		open = 0
	}
	yield(link.Probe{Name: "gate_open", Value: open})
	yield(link.Probe{Name: "too_big_packets", Value: float64(g.tooBig)})
	yield(link.Probe{Name: "cut_packets", Value: float64(g.lost)})
}
