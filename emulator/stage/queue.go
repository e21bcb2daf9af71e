package stage

import (
	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/queue"
)

// QueueConfig is a queue and the server behind it.
type QueueConfig = queue.Config

// Limit is how much may wait in a queue.
type Limit = queue.Limit

// FramingConfig says what a rate counts.
type FramingConfig = queue.FramingConfig

// Queue is a waiting room and a server. It serves exactly: what a division by
// the rate leaves over is carried to the next packet, so that the long-run
// rate has no drift, and time in which the server was idle is worth nothing
// later.
type Queue struct {
	room    queue.Room
	serving link.Packet // its When is still that of its arrival
	busy    bool
	lost    bool      // serving will not get through
	finish  link.Time // when serving leaves; Never when not busy, or stalled
	free    link.Time // when the server last became free
	since   link.Time // it has served without a pause from then on
	begun   link.Time // it serves at a rate of its own from then on
	rate    int64     // bit/s; 0: unlimited
	rest    int64     // left over by the last division, in 10^-9 bit

	radio *radio // what serves instead of a constant rate; nil: nothing

	cursor  course.Cursor // the course that the rate follows
	own     int64         // the rate where the course says nothing
	change  link.Time     // when the rate may change next
	stalled bool          // outage: the server stands still
	left    int64         // 10^-9 bit of serving still to do, while stalled
	version uint64        // grows with each change of the rate
}

// NewQueue returns the queue that c describes.
func NewQueue(c QueueConfig, draw link.Draw) *Queue {
	return &Queue{
		room: queue.NewRoom(c.Complete(queue.UsualRTT), draw), rate: int64(c.Rate), own: int64(c.Rate),
		finish: link.Never, change: link.Never,
	}
}

// Follow lets the rate of the queue follow the course of t. The packet in
// service is served on at the new rate from the instant of the step.
func (q *Queue) Follow(t *course.Course) { q.cursor = course.NewCursor(t); q.change = 0 }

// Put lets p be served, wait, or be lost.
func (q *Queue) Put(p link.Packet, out link.Sink) {
	if q.finish <= p.When || q.change <= p.When {
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
		q.rest, q.since = 0, at
	}
	q.serving, q.busy = p, true
	if q.radio != nil {
		var took link.Duration
		took, q.lost = q.radio.transmit(p)
		q.finish = at.Add(took)
		return
	}
	q.work(q.room.Line(p.Size)*8e9+q.rest, at)
}

// work sets when the packet in service leaves, if todo, in 10^-9 bit, is
// still to do at at.
func (q *Queue) work(todo int64, at link.Time) {
	switch {
	case q.stalled:
		q.finish, q.left = link.Never, todo
	case q.rate == 0:
		q.finish, q.rest = at, 0
	default:
		q.finish = at + link.Time(todo/q.rate)
		q.rest = todo % q.rate
	}
}

// next serves what waits, if anything does.
func (q *Queue) next(at link.Time, out link.Sink) {
	if p, ok := q.room.Take(at, out); ok {
		q.start(p, at)
	}
}

// Next returns when the packet in service leaves, or the rate may change
// under it.
func (q *Queue) Next() link.Time {
	if q.busy {
		return min(q.finish, q.change)
	}
	return link.Never
}

// Run serves until now.
func (q *Queue) Run(now link.Time, out link.Sink) {
	for q.finish <= now || q.change <= now {
		if q.change < q.finish {
			at := q.change
			if !q.busy { // nothing happens under what came between
				at = now
			}
			q.turn(at)
			continue
		}
		p := q.serving
		p.When = q.finish
		q.free, q.busy, q.finish = q.finish, false, link.Never
		if q.lost {
			q.lost = false
			out.Lose(p, link.Cause{Reason: link.RetryLimit})
		} else {
			out.Deliver(p)
		}
		if q.room.Len() > 0 {
			q.next(q.free, out)
		}
	}
}

// turn goes to the step of the course that begins at at.
func (q *Queue) turn(at link.Time) {
	changed := q.cursor.Seek(at)
	q.change = q.cursor.Span.End
	if !changed {
		return
	}
	todo := q.left
	if q.busy && !q.stalled {
		todo = int64(q.finish-at)*q.rate + q.rest
	}
	q.version++
	q.stalled, q.rate = q.cursor.Step.Outage, q.own
	if r := q.cursor.Step.Rate; r != nil {
		q.rate = int64(*r)
	}
	if !q.stalled {
		q.room.ServeAt(q.rate)
	}
	if q.busy {
		q.work(todo, at)
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
		q.busy, q.finish, q.lost = false, link.Never, false
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
func (q *Queue) Inherit(now link.Time, old link.Stage) {
	if q.cursor.Course != nil {
		q.turn(now)
	}
	o, ok := old.(*Queue)
	if !ok {
		return
	}
	q.free, q.begun = o.free, now
	if !o.stalled {
		q.serving, q.busy, q.finish, q.lost = o.serving, o.busy, o.finish, o.lost
		o.busy, o.finish, o.lost = false, link.Never, false
		if q.busy {
			q.begun = max(now, q.finish)
		}
	}
	q.since = q.begun
	q.room.Inherit(&o.room)
}

// Capacity returns the rate, when it may change, and what waits for it.
func (q *Queue) Capacity(now link.Time) link.Capacity {
	_, bytes := q.Held()
	rate := link.Rate(q.rate)
	if q.stalled {
		rate = 1 // next to nothing: zero would say unlimited
	}
	c := link.Capacity{Version: q.version, Rate: rate, NextAt: q.change, NextRate: rate, Queue: link.Size(bytes), Room: q.room.Bears()}
	if q.change != link.Never && q.change > now {
		step, _ := q.cursor.At(q.change)
		c.NextRate = link.Rate(q.own)
		if step.Rate != nil {
			c.NextRate = *step.Rate
		}
		if step.Outage {
			c.NextRate = 1
		}
	}
	return c
}

// Pace returns at which rate frames leave it. A course, or a radio, promises
// nothing.
func (q *Queue) Pace() link.Pace {
	if q.rate == 0 || q.radio != nil || q.cursor.Course != nil {
		return link.Pace{}
	}
	p := link.Pace{Since: q.begun, Busy: link.Never}
	p.Least, p.Most = q.room.Bounds(link.Rate(q.rate))
	if q.busy {
		p.Busy = q.since
	}
	return p
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
	yield(link.Probe{Name: "rate_bps", Value: q.bps()})
	q.room.Probes(yield)
}

// bps returns the present rate as a figure: 0 in an outage, and where there
// is no limit.
func (q *Queue) bps() float64 {
	if q.stalled {
		return 0
	}
	return float64(q.rate)
}
