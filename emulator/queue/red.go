package queue

import (
	"math"

	"farlink/emulator/link"
)

// REDConfig is Random Early Detection (Floyd, Jacobson: Random Early
// Detection Gateways for Congestion Avoidance, 1993), gentle (Floyd, 2000),
// its thresholds in bytes.
type REDConfig struct {
	// Least and Most are the average queue at which signals begin, and at
	// which their probability is Probability; from there it grows to 1 at
	// twice Most. Default: a twelfth and a quarter of the limit.
	Least link.Size `toml:"least,omitempty"`
	Most  link.Size `toml:"most,omitempty"`
	// Probability at Most; default 0.1.
	Probability float64 `toml:"probability,omitempty"`
	// Weight of the present queue in the average; default 0.002.
	Weight float64 `toml:"weight,omitempty"`
}

func (c REDConfig) check(report link.Report) {
	report.Probability("probability", c.Probability)
	report.Probability("weight", c.Weight)
	if c.Most != 0 && c.Most <= c.Least {
		report("most", c.Most.String(), "more than least, "+c.Least.String())
	}
	if c.Most == 0 && c.Least != 0 {
		report("most", c.Most.String(), "set with least: usually three times "+c.Least.String())
	}
}

type red struct {
	least, most float64 // bytes
	peak        float64 // probability at most
	weight      float64
	draw        link.Draw
	average     float64 // bytes
	count       int     // packets since the last signal, or since the average was below least
	idleSince   link.Time
}

func newRED(c Config, draw link.Draw) *red {
	r := &red{peak: 0.1, weight: 0.002, draw: draw, idleSince: link.Never}
	r.most = float64(c.Limit.Holds(c.Rate)) / 4
	r.least = r.most / 3
	if c.RED == nil {
		return r
	}
	if c.RED.Most > 0 {
		r.least, r.most = float64(c.RED.Least), float64(c.RED.Most)
	}
	if c.RED.Probability > 0 {
		r.peak = c.RED.Probability
	}
	if c.RED.Weight > 0 {
		r.weight = c.RED.Weight
	}
	return r
}

func (r *red) bears(link.Rate) int64 { return int64(r.least) }

func (r *red) arrive(p link.Packet, q *Room) verdict {
	r.update(p.When, q)
	switch {
	case r.average < r.least:
		r.count = 0
		return keep
	case r.average >= 2*r.most:
		r.count = 0
		return drop
	}
	chance := r.peak * (r.average - r.least) / (r.most - r.least)
	if r.average >= r.most {
		chance = r.peak + (1-r.peak)*(r.average-r.most)/r.most
	}
	// Spread the signals evenly: the gap between two is uniform, 1 to
	// 1/chance, not geometric (1993, section 7, method 2).
	if spread := 1 - float64(r.count)*chance; spread > 0 && !r.draw.Chance(p.Seq, chance/spread) {
		r.count++
		return keep
	}
	r.count = 0
	return signal
}

// update moves the average: by the present queue, or, after the queue was
// empty, as if small packets had come and found it so all the while.
func (r *red) update(now link.Time, q *Room) {
	if r.idleSince == link.Never || q.fifo.Len() > 0 {
		r.average += r.weight * (float64(q.fifo.Bytes()) - r.average)
		return
	}
	if idle := now.Sub(r.idleSince); idle > 0 && q.rate > 0 {
		missed := idle.Seconds() * float64(q.rate) / (8 * fullFrame)
		r.average *= math.Pow(1-r.weight, missed)
	}
	r.idleSince = link.Never
}

func (r *red) leave(_ link.Packet, now link.Time, q *Room) verdict {
	if q.fifo.Len() == 0 {
		r.idleSince = now
	}
	return keep
}

func (r *red) inherit(old discipline) {
	if o, ok := old.(*red); ok {
		r.average, r.count, r.idleSince = o.average, o.count, o.idleSince
	}
}

func (r *red) probes(yield func(link.Probe)) {
	yield(link.Probe{Name: "red_average_bytes", Value: r.average})
}
