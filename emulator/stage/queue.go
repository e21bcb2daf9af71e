package stage

import (
	"farlink/emulator/link"
	"farlink/emulator/queue"
)

// QueueConfig is a queue and the server behind it.
type QueueConfig = queue.Config

// Limit is how much may wait in a queue.
type Limit = queue.Limit

// Queue is a waiting room and a server of constant rate. It serves exactly:
// what a division by the rate leaves over is carried to the next packet, so
// that the long-run rate has no drift, and time in which the server was idle
// is worth nothing later.
type Queue struct {
	room    queue.Room
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
	return &Queue{room: queue.NewRoom(c.Complete(usualRTT), draw), finish: link.Never}
}

// Put lets p be served, wait, or be lost.
func (q *Queue) Put(p link.Packet, out link.Sink) {
	if q.finish <= p.When {
		q.Run(p.When, out)
	}
	if q.busy {
		q.room.Join(p, out)
		return
	}
	at := max(p.When, q.free)
	if !q.room.Managed() {
		q.start(p, at)
	} else {
		q.room.Join(p, out)
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
	if rate := q.room.Rate(); rate > 0 {
		work := q.room.Line(p.Size)*8e9 + q.rest
		q.finish = at + link.Time(work/rate)
		q.rest = work % rate
	}
}

// next serves what waits, if anything does.
func (q *Queue) next(at link.Time, out link.Sink) {
	if p, ok := q.room.Take(at, out); ok {
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
	packets, bytes = q.room.Len(), q.room.Bytes()
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
	for q.room.Len() > 0 {
		yield(q.room.Pop())
	}
}

// Adopt lets p wait behind all that is inside.
func (q *Queue) Adopt(now link.Time, p link.Packet) {
	if q.busy {
		q.room.Push(p)
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
	q.room.Inherit(&o.room)
}

// Capacity returns the rate and what waits for it.
func (q *Queue) Capacity(link.Time) link.Capacity {
	_, bytes := q.Held()
	return link.Capacity{
		Version: 1, Rate: link.Rate(q.room.Rate()), NextAt: link.Never,
		NextRate: link.Rate(q.room.Rate()), Queue: link.Size(bytes),
	}
}

// Probes yields what waits and how long a packet that came now would.
func (q *Queue) Probes(now link.Time, yield func(link.Probe)) {
	packets, bytes := q.Held()
	wait := q.room.Delay()
	if q.busy && q.finish > now {
		wait += q.finish.Sub(now)
	}
	yield(link.Probe{Name: "queue_packets", Value: float64(packets)})
	yield(link.Probe{Name: "queue_bytes", Value: float64(bytes)})
	yield(link.Probe{Name: "queue_delay_ms", Value: wait.Milliseconds()})
	yield(link.Probe{Name: "rate_bps", Value: float64(q.room.Rate())})
	q.room.Probes(yield)
}
