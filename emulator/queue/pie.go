package queue

import "farlink/emulator/link"

// PIEConfig is the Proportional Integral controller Enhanced (RFC 8033).
type PIEConfig struct {
	// Target is the wait aimed at; default 15ms.
	Target link.Duration `toml:"target,omitempty"`
	// Update is how often the probability is reckoned; default 15ms.
	Update link.Duration `toml:"update,omitempty"`
	// Burst is how long a burst may last unpunished; default 150ms.
	Burst link.Duration `toml:"burst,omitempty"`
}

func (c PIEConfig) check(report link.Report) {
	if c.Update < 0 || c.Update > link.Second {
		report("update", c.Update.String(), "at most 1s (usual: 15ms)")
	}
}

type pie struct {
	target, period, burst link.Duration
	draw                  link.Draw
	probability           float64
	oldDelay              float64 // seconds, at the last update
	allowance             link.Duration
	update                link.Time // the next; 0 before the first packet
}

// The gains of RFC 8033 section 4.2, per second of delay.
const (
	pieAlpha = 0.125
	pieBeta  = 1.25
	// pieMarks is the probability above which marking gives way to
	// dropping (section 5.1).
	pieMarks = 0.1
)

func newPIE(c *PIEConfig, draw link.Draw) *pie {
	d := &pie{target: 15 * link.Millisecond, period: 15 * link.Millisecond, burst: 150 * link.Millisecond, draw: draw}
	if c != nil && c.Target > 0 {
		d.target = c.Target
	}
	if c != nil && c.Update > 0 {
		d.period = c.Update
	}
	if c != nil && c.Burst > 0 {
		d.burst = c.Burst
	}
	d.allowance = d.burst
	return d
}

func (d *pie) bears(rate link.Rate) int64 { return int64(rate.Bytes(d.target)) }

// catchUp does the updates that fell due before now. Between two calls
// nothing came and nothing went, so the queue stood as it stands.
func (d *pie) catchUp(now link.Time, waits float64) {
	if d.update == 0 {
		d.update = now.Add(d.period)
	}
	for d.update <= now {
		d.reckon(waits)
		if waits == 0 && d.atRest() {
			// No update would change anything: keep the rhythm, skip them.
			d.update += (now - d.update) / link.Time(d.period) * link.Time(d.period)
		}
		d.update = d.update.Add(d.period)
	}
}

func (d *pie) atRest() bool {
	return d.probability == 0 && d.oldDelay == 0 && d.allowance == d.burst
}

// reckon is one update, RFC 8033 section 4.2; waits is the delay in seconds.
func (d *pie) reckon(waits float64) {
	target := d.target.Seconds()
	change := (pieAlpha*(waits-target) + pieBeta*(waits-d.oldDelay)) * pieScale(d.probability)
	if d.probability >= 0.1 && change > 0.02 {
		change = 0.02 // section 5.5
	}
	d.probability += change
	if waits == 0 && d.oldDelay == 0 {
		d.probability *= 0.98
	}
	d.probability = max(0, min(1, d.probability))
	d.allowance = max(0, d.allowance-d.period)
	if d.probability == 0 && waits < target/2 && d.oldDelay < target/2 {
		d.allowance = d.burst
	}
	d.oldDelay = waits
}

// pieScale tunes the gains to the probability.
func pieScale(p float64) float64 {
	switch {
	case p < 0.000001:
		return 1.0 / 2048
	case p < 0.00001:
		return 1.0 / 512
	case p < 0.0001:
		return 1.0 / 128
	case p < 0.001:
		return 1.0 / 32
	case p < 0.01:
		return 1.0 / 8
	case p < 0.1:
		return 1.0 / 2
	}
	return 1
}

func (d *pie) arrive(p link.Packet, q *Room) verdict {
	d.catchUp(p.When, q.Delay().Seconds())
	switch {
	case d.allowance > 0,
		d.oldDelay < d.target.Seconds()/2 && d.probability < 0.2,
		q.fifo.Bytes() <= 2*fullFrame,
		!d.draw.Chance(p.Seq, d.probability):
		return keep
	case d.probability <= pieMarks:
		return signal
	}
	return drop
}

func (d *pie) leave(p link.Packet, now link.Time, q *Room) verdict {
	// Until now p waited with the others.
	waits := link.Rate(q.rate).Time(int(q.line + q.framing.Line(p.Size)))
	d.catchUp(now, waits.Seconds())
	return keep
}

func (d *pie) inherit(old discipline) {
	if o, ok := old.(*pie); ok {
		d.probability, d.oldDelay, d.allowance = o.probability, o.oldDelay, o.allowance
	}
}

func (d *pie) probes(yield func(link.Probe)) {
	yield(link.Probe{Name: "pie_probability", Value: d.probability})
}
