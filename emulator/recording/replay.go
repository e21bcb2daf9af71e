package recording

import "farlink/emulator/link"

// Replay is a stage that does with packet n what the recording says became
// of packet n: the same delay, the same loss, copy or corruption. Where the
// packets come as they came then, the fates are the same, bit for bit, in
// order of time and at one instant in the order of then. Behind its last
// packet the recording begins anew.
//
// A packet of which the recording tells nothing, because it was still inside
// when the recording ended, stays inside.
type Replay struct {
	recording *Recording
	heap      []due
	bytes     int
	stuck     int
	stuckSize int
}

// due is a fate that is to come.
type due struct {
	packet link.Packet
	reason link.Reason
	rank   uint64
}

// NewReplay returns the channel of a recording.
func NewReplay(r *Recording) *Replay { return &Replay{recording: r} }

// Put looks up what becomes of p.
func (r *Replay) Put(p link.Packet, out link.Sink) {
	r.Run(p.When, out)
	packets := uint64(r.recording.Packets())
	round, i := p.Seq/packets, p.Seq%packets
	fates := r.recording.fates[r.recording.first[i]:r.recording.first[i+1]]
	if len(fates) == 0 {
		r.stuck++
		r.stuckSize += int(p.Size)
		return
	}
	for k, f := range fates {
		if k > 0 {
			out.Copy(p)
		}
		q := p
		q.When = p.When.Add(f.after)
		q.Mark |= f.mark
		r.push(due{q, f.reason, round*uint64(len(r.recording.fates)) + uint64(f.rank)})
	}
	r.Run(p.When, out)
}

// Next returns when the next fate comes about.
func (r *Replay) Next() link.Time {
	if len(r.heap) == 0 {
		return link.Never
	}
	return r.heap[0].packet.When
}

// Run lets all fates come about that are due.
func (r *Replay) Run(now link.Time, out link.Sink) {
	for r.Next() <= now {
		d := r.pop()
		if d.reason != link.None {
			out.Lose(d.packet, link.Cause{Reason: d.reason})
		} else {
			out.Deliver(d.packet)
		}
	}
}

// Held returns what is inside.
func (r *Replay) Held() (packets, bytes int) { return len(r.heap) + r.stuck, r.bytes + r.stuckSize }

// Drain gives up all that is on its way, in the order in which it would leave.
func (r *Replay) Drain(yield func(link.Packet)) {
	for len(r.heap) > 0 {
		yield(r.pop().packet)
	}
}

// Adopt lets p leave at p.When.
func (r *Replay) Adopt(now link.Time, p link.Packet) {
	p.When = max(p.When, now)
	r.push(due{packet: p})
}

// before orders fates by instant, then as they came about.
func (d *due) before(e *due) bool {
	return d.packet.When < e.packet.When || d.packet.When == e.packet.When && d.rank < e.rank
}

// push and pop keep a binary heap.
func (r *Replay) push(d due) {
	r.bytes += int(d.packet.Size)
	r.heap = append(r.heap, d)
	for i := len(r.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !r.heap[i].before(&r.heap[parent]) {
			return
		}
		r.heap[i], r.heap[parent] = r.heap[parent], r.heap[i]
		i = parent
	}
}

func (r *Replay) pop() due {
	top, last := r.heap[0], len(r.heap)-1
	r.heap[0] = r.heap[last]
	r.heap = r.heap[:last]
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < last && r.heap[child].before(&r.heap[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		r.heap[i], r.heap[least] = r.heap[least], r.heap[i]
		i = least
	}
	r.bytes -= int(top.packet.Size)
	return top
}
