package stage

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
}

// Check reports what is wrong with c.
func (c LossConfig) Check(report link.Report) {
	checkProbability("probability", c.Probability, report)
}

func checkProbability(path string, p float64, report link.Report) {
	if !(p >= 0 && p <= 1) {
		report(path, strconv.FormatFloat(p, 'g', -1, 64), "a probability, 0..1 (1% is 0.01)")
	}
}

// process is one cause of loss.
type process interface {
	// loses reports whether p, which comes now, is lost, and why.
	loses(p *link.Packet) link.Reason
}

// Loss is the air: it loses packets or lets them pass at once.
type Loss struct {
	processes  []process
	seen, lost int
}

// NewLoss returns the loss that c describes.
func NewLoss(c LossConfig, draw link.Draw) *Loss {
	l := &Loss{}
	if c.Probability > 0 {
		l.processes = append(l.processes, &independent{draw, c.Probability})
	}
	return l
}

// Put loses p or passes it on.
func (l *Loss) Put(p link.Packet, out link.Sink) {
	l.seen++
	for _, process := range l.processes {
		if why := process.loses(&p); why != link.None {
			l.lost++
			out.Lose(p, link.Cause{Reason: why})
			return
		}
	}
	out.Deliver(p)
}

// Next returns Never: the air holds nothing.
func (l *Loss) Next() link.Time { return link.Never }

// Run does nothing.
func (l *Loss) Run(link.Time, link.Sink) {}

// Probes yields the share of packets lost so far.
func (l *Loss) Probes(_ link.Time, yield func(link.Probe)) {
	ratio := 0.0
	if l.seen > 0 {
		ratio = float64(l.lost) / float64(l.seen)
	}
	yield(link.Probe{Name: "loss_ratio", Value: ratio})
	yield(link.Probe{Name: "lost_packets", Value: float64(l.lost)})
}

// independent loses each packet with the same probability.
type independent struct {
	draw        link.Draw
	probability float64
}

func (i *independent) loses(p *link.Packet) link.Reason {
	if i.draw.Chance(p.Seq, i.probability) {
		return link.Random
	}
	return link.None
}
