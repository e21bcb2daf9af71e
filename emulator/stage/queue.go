package stage

import (
	"fmt"

	"farlink/emulator/link"
)

// QueueConfig is a queue and the server behind it.
type QueueConfig struct {
	// Rate of the server; zero, "unlimited", passes everything at once.
	Rate link.Rate `toml:"rate,omitempty"`
	FramingConfig
	// Limit of what may wait; not set: one bandwidth-delay product.
	Limit Limit `toml:"limit,omitempty"`
	// Discipline is "droptail" (default), "drophead", "red", "codel" or
	// "pie".
	Discipline string `toml:"discipline,omitempty"`
	// ECN lets red, codel and pie mark ECN-capable packets instead of
	// dropping them.
	ECN bool `toml:"ecn,omitempty"`

	RED   *REDConfig   `toml:"red,omitempty"`
	CoDel *CoDelConfig `toml:"codel,omitempty"`
	PIE   *PIEConfig   `toml:"pie,omitempty"`
}

// leastLimit keeps a default limit from being too small for a burst: ten
// full frames, the initial window of TCP (RFC 6928).
const leastLimit link.Size = 10 * fullFrame

// Complete returns c with the limit set, if it was not, to the
// bandwidth-delay product of its rate and the round-trip time rtt, or to ten
// full frames where that is more.
func (c QueueConfig) Complete(rtt link.Duration) QueueConfig {
	if c.Limit == (Limit{}) {
		c.Limit.Bytes = max(c.Rate.Bytes(rtt), leastLimit)
	}
	return c
}

// Check reports what is wrong with c.
func (c QueueConfig) Check(report link.Report) {
	if c.Rate != 0 && (c.Rate < 100 || c.Rate > 400*link.GigabitPerSecond) {
		report("rate", c.Rate.String(), `100bit/s..400Gbit/s, or "unlimited"`)
	}
	c.FramingConfig.Check(report)
	c.checkDiscipline(report)
}

// CheckBuffer reports a limit that cannot hold one bandwidth-delay product,
// so that one TCP flow cannot fill the rate over the round-trip time rtt.
func (c QueueConfig) CheckBuffer(rtt link.Duration, report link.Report) {
	if c.Limit == (Limit{}) || c.Rate == 0 || rtt <= 0 {
		return
	}
	need, has := c.Rate.Bytes(rtt), c.Limit.Holds(c.Rate)
	if has >= need {
		return
	}
	most := link.Rate(float64(has) * 8 / rtt.Seconds())
	report("limit", c.Limit.String(), fmt.Sprintf(
		"%v or more: %v at %v needs it; %v would cap a window at %v", need, rtt, c.Rate, has, most))
}

// Queue is a waiting room and a server of constant rate. It serves exactly:
// what a division by the rate leaves over is carried to the next packet, so
// that the long-run rate has no drift, and time in which the server was idle
// is worth nothing later.
type Queue struct {
	room
	serving link.Packet // its When is still that of its arrival
	busy    bool
	finish  link.Time // when serving leaves; Never when not busy
	free    link.Time // when the server last became free
	rest    int64     // left over by the last division, in bits·1e9/rate
}

// usualRTT is what a limit that nobody set is reckoned with.
const usualRTT = 100 * link.Millisecond

// NewQueue returns the queue that c describes.
func NewQueue(c QueueConfig, draw link.Draw) *Queue {
	return &Queue{room: newRoom(c.Complete(usualRTT), draw), finish: link.Never}
}

// Put lets p be served, wait, or be lost.
func (q *Queue) Put(p link.Packet, out link.Sink) {
	if q.finish <= p.When {
		q.Run(p.When, out)
	}
	if q.busy {
		q.join(p, out)
		return
	}
	at := max(p.When, q.free)
	if q.aqm == nil {
		q.start(p, at)
	} else {
		q.join(p, out)
		q.next(at, out)
	}
	if q.finish <= p.When { // unlimited
		q.Run(p.When, out)
	}
}

// start serves p from at on.
func (q *Queue) start(p link.Packet, at link.Time) {
	if at > q.free {
		q.rest = 0
	}
	q.serving, q.busy, q.finish = p, true, at
	if q.rate > 0 {
		work := q.framing.line(p.Size)*8e9 + q.rest
		q.finish = at + link.Time(work/q.rate)
		q.rest = work % q.rate
	}
}

// next serves what waits, if anything does.
func (q *Queue) next(at link.Time, out link.Sink) {
	if p, ok := q.take(at, out); ok {
		q.start(p, at)
	}
}

// Next returns when the packet in service leaves.
func (q *Queue) Next() link.Time { return q.finish }

// Run serves until now.
func (q *Queue) Run(now link.Time, out link.Sink) {
	for q.finish <= now {
		p := q.serving
		p.When = q.finish
		q.free, q.busy, q.finish = q.finish, false, link.Never
		out.Deliver(p)
		q.next(q.free, out)
	}
}

// Held returns what waits and what is in service.
func (q *Queue) Held() (packets, bytes int) {
	packets, bytes = q.fifo.Len(), q.fifo.Bytes()
	if q.busy {
		packets, bytes = packets+1, bytes+int(q.serving.Size)
	}
	return packets, bytes
}

// Drain gives up the packet in service and all that wait, each with the
// When of its arrival.
func (q *Queue) Drain(yield func(link.Packet)) {
	if q.busy {
		q.busy, q.finish = false, link.Never
		yield(q.serving)
	}
	for q.fifo.Len() > 0 {
		yield(q.pop())
	}
}

// Adopt lets p wait behind all that is inside.
func (q *Queue) Adopt(now link.Time, p link.Packet) {
	if q.busy {
		q.push(p)
		return
	}
	q.start(p, max(now, q.free))
}

// Inherit takes the packet that the old queue was serving, which keeps its
// finish, and the state of a discipline of the same kind.
func (q *Queue) Inherit(_ link.Time, old link.Stage) {
	o, ok := old.(*Queue)
	if !ok {
		return
	}
	q.serving, q.busy, q.finish, q.free = o.serving, o.busy, o.finish, o.free
	o.busy, o.finish = false, link.Never
	if q.aqm != nil && o.aqm != nil {
		q.aqm.inherit(o.aqm)
	}
}

// Capacity returns the rate and what waits for it.
func (q *Queue) Capacity(link.Time) link.Capacity {
	_, bytes := q.Held()
	return link.Capacity{
		Version: 1, Rate: link.Rate(q.rate), NextAt: link.Never,
		NextRate: link.Rate(q.rate), Queue: link.Size(bytes),
	}
}

// Probes yields what waits and how long a packet that came now would.
func (q *Queue) Probes(now link.Time, yield func(link.Probe)) {
	packets, bytes := q.Held()
	wait := q.delay()
	if q.busy && q.finish > now {
		wait += q.finish.Sub(now)
	}
	yield(link.Probe{Name: "queue_packets", Value: float64(packets)})
	yield(link.Probe{Name: "queue_bytes", Value: float64(bytes)})
	yield(link.Probe{Name: "queue_delay_ms", Value: wait.Milliseconds()})
	yield(link.Probe{Name: "rate_bps", Value: float64(q.rate)})
	q.room.probes(yield)
}
