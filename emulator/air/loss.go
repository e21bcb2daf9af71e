package air

import (
	"strconv"

	"farlink/emulator/link"
)

// LossConfig says which packets the air loses. Several processes may be at
// work; a packet that any of them names is lost.
type LossConfig struct {
	// Probability with which each packet is lost, whatever its size:
	// dummynet's plr.
	Probability float64 `toml:"probability,omitempty"`
	// BER is the probability of a bit being wrong; a frame with one is
	// lost.
	BER float64 `toml:"ber,omitempty"`
	// BERSize, when set, gives every frame the loss of one of this size:
	// what a plr that was converted from a BER does.
	BERSize link.Size `toml:"ber_size,omitempty"`
	// Gilbert is loss in bursts counted in packets.
	Gilbert *GilbertConfig `toml:"gilbert,omitempty"`
	// GilbertTime is loss in bursts that last for a time.
	GilbertTime *GilbertTimeConfig `toml:"gilbert_time,omitempty"`
	// FourState is netem's 4-state model.
	FourState *FourStateConfig `toml:"four_state,omitempty"`
	// Pattern names the packets to lose.
	Pattern *PatternConfig `toml:"pattern,omitempty"`
	// NOfM loses so many of every so many.
	NOfM *NOfMConfig `toml:"n_of_m,omitempty"`
}

// Check reports what is wrong with c.
func (c LossConfig) Check(report link.Report) {
	report.Probability("probability", c.Probability)
	report.Probability("ber", c.BER)
	if c.BERSize != 0 && c.BER == 0 {
		report("ber_size", c.BERSize.String(), `"ber" beside it, as 1e-7`)
	}
	if c.BERSize > 9216 {
		report("ber_size", c.BERSize.String(), "at most 9216B")
	}
	if c.Gilbert != nil {
		c.Gilbert.check(report.Under("gilbert"))
	}
	if c.GilbertTime != nil {
		c.GilbertTime.check(report.Under("gilbert_time"))
	}
	if c.FourState != nil {
		c.FourState.check(report.Under("four_state"))
	}
	if c.Pattern != nil {
		c.Pattern.check(report.Under("pattern"))
	}
	if c.NOfM != nil {
		c.NOfM.check(report.Under("n_of_m"))
	}
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// process is one cause of loss.
type process interface {
	// loses returns why p, which comes now, is lost; None when it is not.
	loses(p link.Packet) link.Reason
	// inherit goes on from the state of a process of the same kind.
	inherit(old process)
}

// Loss is the air: it loses packets or lets them pass at once.
type Loss struct {
	processes  []process
	seen, lost int
}

// NewLoss returns the loss that c describes. Each process draws under its
// own name, so that adding one does not change what the others lose.
func NewLoss(c LossConfig, draw link.Draw) *Loss {
	l := &Loss{}
	if c.Probability > 0 {
		l.add(&independent{draw, c.Probability})
	}
	if c.BER > 0 {
		bits := newBitErrors(c.BER, uint16(c.BERSize), draw.Sub("ber"))
		l.add(&bits)
	}
	if c.Gilbert != nil {
		l.add(newGilbert(*c.Gilbert, draw.Sub("gilbert")))
	}
	if c.GilbertTime != nil {
		l.add(newGilbertTime(*c.GilbertTime, draw.Sub("gilbert_time")))
	}
	if c.FourState != nil {
		l.add(newFourState(*c.FourState, draw.Sub("four_state")))
	}
	if c.Pattern != nil {
		l.add(newPattern(*c.Pattern))
	}
	if c.NOfM != nil {
		l.add(newNOfM(*c.NOfM, draw.Sub("n_of_m")))
	}
	return l
}

func (l *Loss) add(p process) { l.processes = append(l.processes, p) }

// Put loses p or passes it on.
func (l *Loss) Put(p link.Packet, out link.Sink) {
	l.seen++
	why := link.None
	// Every process sees every packet: what one loses the others count.
	for _, process := range l.processes {
		if w := process.loses(p); why == link.None {
			why = w
		}
	}
	if why != link.None {
		l.lost++
		out.Lose(p, link.Cause{Reason: why})
		return
	}
	out.Deliver(p)
}

// Next returns Never: the air holds nothing.
func (l *Loss) Next() link.Time { return link.Never }

// Run does nothing.
func (l *Loss) Run(link.Time, link.Sink) {}

// Inherit goes on with the state of the channel that was.
func (l *Loss) Inherit(_ link.Time, old link.Stage) {
	o, ok := old.(*Loss)
	if !ok {
		return
	}
	for _, p := range l.processes {
		for _, q := range o.processes {
			p.inherit(q)
		}
	}
}

// Probes yields the share of packets lost so far, and the state of the
// channel where it has one: 1 is bad.
func (l *Loss) Probes(_ link.Time, yield func(link.Probe)) {
	ratio := 0.0
	if l.seen > 0 {
		ratio = float64(l.lost) / float64(l.seen)
	}
	yield(link.Probe{Name: "loss_ratio", Value: ratio})
	yield(link.Probe{Name: "lost_packets", Value: float64(l.lost)})
	for _, p := range l.processes {
		if s, ok := p.(interface{ state() link.Probe }); ok {
			yield(s.state())
		}
	}
}

// Course is a loss that goes by time.
type Course interface {
	// Loss returns the probability at now, and the span in which it holds.
	Loss(now link.Time) (probability float64, span link.Span)
}

// Follow lets the loss follow the course, besides what it has of its own.
func (l *Loss) Follow(c Course, draw link.Draw) {
	l.add(&courseLoss{independent: independent{draw: draw}, course: c})
}

// courseLoss loses each packet with the probability of its time.
type courseLoss struct {
	independent
	course Course
	span   link.Span // in which the probability holds
}

func (c *courseLoss) loses(p link.Packet) link.Reason {
	if !c.span.Holds(p.When) {
		c.probability, c.span = c.course.Loss(p.When)
	}
	return c.independent.loses(p)
}

func state(name string, bad bool) link.Probe {
	if bad {
		return link.Probe{Name: name, Value: 1}
	}
	return link.Probe{Name: name}
}

// independent loses each packet with the same probability.
type independent struct {
	draw        link.Draw
	probability float64
}

func (i *independent) loses(p link.Packet) link.Reason {
	if i.draw.Chance(p.Seq, i.probability) {
		return link.Random
	}
	return link.None
}

func (*independent) inherit(process) {}
