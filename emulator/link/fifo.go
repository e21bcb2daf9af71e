package link

// fifoBlock is how many packets a block of a FIFO holds: with the pointer to
// the next block just under 24 KiB, which the allocator does not round up.
const fifoBlock = 1023

// FIFO is a queue of packets that grows by blocks, so that a
// packet held costs its 24 bytes whether one is inside or millions, and
// a full queue is never copied. The zero value is empty and ready.
type FIFO struct {
	head, tail *block // tail is where Push writes
	first      int    // index of the front packet in head
	last       int    // index behind the back packet in tail
	length     int
	bytes      int
	spare      *block // emptied blocks, kept: a queue allocates only past its high-water mark
}

type block struct {
	next *block
	p    [fifoBlock]Packet
}

// Len returns the number of packets inside.
func (q *FIFO) Len() int { return q.length }

// Bytes returns the sum of their sizes.
func (q *FIFO) Bytes() int { return q.bytes }

// Push adds a packet at the back.
func (q *FIFO) Push(p Packet) {
	if q.tail == nil || q.last == fifoBlock {
		q.grow()
	}
	q.tail.p[q.last] = p
	q.last++
	q.length++
	q.bytes += int(p.Size)
}

func (q *FIFO) grow() {
	b := q.spare
	if b == nil {
		b = new(block)
	} else {
		q.spare, b.next = b.next, nil
	}
	if q.tail == nil {
		q.head, q.first = b, 0
	} else {
		q.tail.next = b
	}
	q.tail, q.last = b, 0
}

// Front returns the packet at the front; the queue must not be empty. It
// may be changed in place, but not its Size.
func (q *FIFO) Front() *Packet { return &q.head.p[q.first] }

// Back returns the packet at the back; the queue must not be empty. It may
// be changed in place, but not its Size.
func (q *FIFO) Back() *Packet { return &q.tail.p[q.last-1] }

// Pop removes and returns the packet at the front; the queue must not be
// empty.
func (q *FIFO) Pop() Packet {
	p := q.head.p[q.first]
	q.first++
	q.length--
	q.bytes -= int(p.Size)
	switch {
	case q.length == 0:
		// Start over in the same block.
		q.first, q.last = 0, 0
	case q.first == fifoBlock:
		b := q.head
		q.head, q.first = b.next, 0
		b.next = q.spare
		q.spare = b
	}
	return p
}
