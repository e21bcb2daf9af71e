package wire

import (
	"farlink/emulator/link"

	"golang.org/x/sys/unix"
)

// send puts what the model delivered into the transmit ring, a burst at a
// time, until there is no more or no room.
func (l *loop) send() {
	if l.pushing && l.rescue <= l.now {
		l.push()
	}
	if l.unplugged.Load() {
		l.discard() // or the driver would, and nobody knew
	}
	for l.ready.Len() > 0 && !l.pushing {
		n := l.load()
		if n == 0 {
			return
		}
		l.tx.Tx.Publish()
		before := nanotime()
		l.push()
		l.settle(n, before, nanotime())
	}
	if l.ready.Len() > 0 && l.down {
		l.discard()
	}
}

// load fills the transmit ring with up to a burst of frames and returns how
// many.
func (l *loop) load() int {
	n := 0
	for n < burst && l.ready.Len() > 0 {
		p := *l.ready.Front()
		l.came[n] = 0
		if !l.place(p, &l.came[n]) {
			l.book.Engine.Stalls++
			break
		}
		l.ready.Pop()
		l.book.Out++
		l.book.OutBytes += uint64(p.Size)
		l.sent[n], l.of[n] = p.When, uint8(p.Mark.Link())
		l.checks.left(p)
		n++
	}
	return n
}

// place puts one frame into the transmit ring; false when there is no room
// or no chunk for it now. Where the frame still lies in the chunk it came in,
// came tells its arrival (CLOCK_MONOTONIC ns).
func (l *loop) place(p link.Packet, came *int64) bool {
	chunk := l.store.umem.Chunk()
	chunks := (uint32(p.Size) + chunk - 1) / chunk
	if l.tx.Tx.Room(chunks) < chunks {
		return false
	}
	shared := l.store.shared(p.Ref)
	frame := l.store.frame(p.Ref)
	marked := p.Mark&link.Written != 0
	if p.Ref&inRing == 0 && !shared {
		if marked {
			l.em.Finish(p, l.way, frame)
		}
		if l.tap.on() {
			l.tap.write(l.arrived(p.Ref), p, link.Cause{}, frame)
		}
		*came = l.store.came(p.Ref)
		addr, size := l.store.take(p.Ref)
		l.tx.Tx.Push(unix.XDPDesc{Addr: addr, Len: size})
		l.inTx++
		return true
	}
	if uint32(len(l.store.pool)) < chunks {
		return false
	}
	if marked {
		if shared { // the other copy keeps its bytes
			frame = l.copied[:copy(l.copied[:], frame)]
		}
		l.em.Finish(p, l.way, frame)
	}
	if l.tap.on() {
		l.tap.write(l.arrived(p.Ref), p, link.Cause{}, frame)
	}
	l.scatter(frame, chunks)
	l.store.release(p.Ref)
	return true
}

// scatter copies a frame into chunks of the pool and queues them as one.
func (l *loop) scatter(frame []byte, chunks uint32) {
	size := l.store.umem.Chunk()
	for range chunks {
		pool := l.store.pool
		addr := pool[len(pool)-1]
		l.store.pool = pool[:len(pool)-1]
		n := copy(l.store.umem.Bytes(addr, size), frame)
		frame = frame[n:]
		d := unix.XDPDesc{Addr: addr, Len: uint32(n)}
		if len(frame) > 0 {
			d.Options = unix.XDP_PKT_CONTD
		}
		l.tx.Tx.Push(d)
		l.inTx++
	}
}

// push makes the kernel transmit. When it cannot take all now (no buffer, or
// the port is down) the rest is tried again: at once, or in a millisecond.
func (l *loop) push() {
	for range 4 {
		e := l.tx.Kick()
		switch e {
		case 0, unix.EAGAIN, unix.EBUSY, unix.ENOBUFS:
			l.down = false
		default: // ENETDOWN, ENXIO: the port is down or gone
			l.down, l.pushing, l.rescue = true, true, l.now+1_000_000
			return
		}
		if l.pushing = !l.tx.Tx.Drained(); !l.pushing {
			return
		}
	}
}

// settle books how late the n frames of a burst left. The kernel transmits
// them one after the other within the call, so each has an equal share of its
// time; it is out when most of that is over: what comes before it reaches the
// port is more than what comes after.
func (l *loop) settle(n int, before, after int64) {
	span := after - before
	for i := range n {
		at := before + span*int64(4*i+3)/int64(4*n)
		if l.came[i] > 0 {
			l.time(l.came[i], at, int(l.of[i]))
		}
		late := at - l.epoch - int64(l.sent[i])
		l.book.Lateness.Add(late)
		if late > int64(l.limits.Slip) {
			l.book.Slips++
		}
	}
	l.now = after
}

// time counts the whole delay of a frame, and holds it against what its
// link promises if the frame came to this one and not to its predecessor.
func (l *loop) time(came, left int64, of int) {
	ns := left - came
	l.delays.delay(ns)
	if came <= l.switched {
		return
	}
	l.checks.timed(of, ns)
}

// discard drops what waits for a port that is down: a cable that is not
// there keeps nothing.
func (l *loop) discard() {
	for l.ready.Len() > 0 {
		p := l.ready.Pop()
		l.store.release(p.Ref)
		l.book.LinkDown++
		l.checks.discarded(p)
	}
}
