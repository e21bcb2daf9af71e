package air

import "farlink/emulator/link"

// FourStateConfig is netem's 4-state model (GI, general and intuitive:
// Salsano, Ludovici, Ordine, Giannuzzi: Definition of a general and intuitive
// loss model for packet networks, 2012). State 1 receives; 3 loses, in a
// burst; 2 receives, within a burst; 4 loses one packet alone.
type FourStateConfig struct {
	// P13 begins a burst.
	P13 float64 `toml:"p13,omitempty"`
	// P31 ends it; default 1-p13, as in netem.
	P31 float64 `toml:"p31,omitempty"`
	// P32 goes to receiving within it, P23 back to losing; default of p23
	// is 1.
	P32 float64 `toml:"p32,omitempty"`
	P23 float64 `toml:"p23,omitempty"`
	// P14 loses one packet alone.
	P14 float64 `toml:"p14,omitempty"`
}

// complete fills in the defaults.
func (c FourStateConfig) complete() FourStateConfig {
	if c.P31 == 0 {
		c.P31 = 1 - c.P13
	}
	if c.P23 == 0 {
		c.P23 = 1
	}
	return c
}

func (c FourStateConfig) check(report link.Report) {
	report.Probability("p13", c.P13)
	report.Probability("p31", c.P31)
	report.Probability("p32", c.P32)
	report.Probability("p23", c.P23)
	report.Probability("p14", c.P14)
	if c.P13+c.P14 > 1 {
		report.Figure("p14", c.P14, "at most 1-p13, "+number(1-c.P13)+": what leaves state 1 sums to 1 at most")
	}
	if d := c.complete(); d.P31+d.P32 > 1 {
		report.Figure("p32", c.P32, "at most 1-p31, "+number(1-d.P31)+": what leaves state 3 sums to 1 at most")
	}
	if c.P13 == 0 && c.P14 == 0 {
		report("p13", "0", "p13 or p14 above 0: nothing would ever be lost")
	}
}

type fourState struct {
	FourStateConfig
	draw link.Draw
	at   int // 1..4
}

func newFourState(c FourStateConfig, draw link.Draw) *fourState {
	return &fourState{c.complete(), draw, 1}
}

// loses moves the chain by one packet. One number decides: the probabilities
// of what leaves a state lie side by side from 0, and staying has the rest.
func (f *fourState) loses(p link.Packet) link.Reason {
	u := f.draw.Float(p.Seq)
	switch f.at {
	case 1:
		f.at = choose(u, f.P13, 3, f.P14, 4, 1)
	case 2:
		f.at = choose(u, f.P23, 3, 0, 2, 2)
	case 3:
		f.at = choose(u, f.P31, 1, f.P32, 2, 3)
	case 4:
		f.at = 1
	}
	if f.at >= 3 {
		return link.Random
	}
	return link.None
}

func choose(u, p float64, a int, q float64, b, rest int) int {
	switch {
	case u < p:
		return a
	case u < p+q:
		return b
	}
	return rest
}

func (f *fourState) inherit(old process) {
	if o, ok := old.(*fourState); ok {
		f.at = o.at
	}
}

func (f *fourState) state() link.Probe { return state("four_state_bad", f.at == 2 || f.at == 3) }
