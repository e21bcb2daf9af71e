package wire

import (
	"farlink/emulator/link"

	"golang.org/x/sys/unix"
)

// receive takes n descriptors and hands their frames to the emulator.
func (l *loop) receive(n uint32) {
	for range n {
		d := l.rx.Rx.Next()
		more := d.Options&unix.XDP_PKT_CONTD != 0
		switch {
		case more || l.partial > 0:
			l.gather(d, more)
		case d.Len < minFrame:
			l.book.Invalid++
			l.store.recycle(d.Addr)
		default:
			when := l.arrival(d.Addr)
			ref, ok := l.store.keep(d.Addr, d.Len, l.tap.on())
			l.arrive(when, ref, d.Len, ok)
		}
	}
	l.rx.Rx.Publish()
}

// arrive books a frame and gives it to the emulator.
func (l *loop) arrive(when link.Time, ref, size uint32, kept bool) {
	l.book.In++
	l.book.InBytes += uint64(size)
	if !kept {
		l.book.Engine.StoreFull++
		return
	}
	l.em.Arrive(l.way, when, ref, l.store.frame(ref), l)
}

// arrival reads the stamp in front of a received frame, and leaves it there
// negated: so a frame that got none (a driver without metadata) is not given
// an older one's, and send can tell how long the frame was inside. Time never
// runs backwards, though two CPUs may stamp.
func (l *loop) arrival(addr uint64) link.Time {
	stamp := l.store.umem.Stamp(addr)
	t := *stamp
	if t > l.now || l.now-t > longestStep {
		t = l.now
	}
	l.last = max(l.last, link.Time(t-l.epoch))
	*stamp = -(int64(l.last) + l.epoch)
	return l.last
}

// gather puts a frame of several chunks together and packs it.
func (l *loop) gather(d unix.XDPDesc, more bool) {
	if l.partial == 0 {
		l.arrival(d.Addr)
		l.whole = true
	}
	if l.partial+int(d.Len) > len(l.scratch) {
		l.whole = false
	} else {
		copy(l.scratch[l.partial:], l.store.umem.Bytes(d.Addr, d.Len))
	}
	l.partial += int(d.Len)
	l.store.recycle(d.Addr)
	if more {
		return
	}
	size := uint32(l.partial)
	l.partial = 0
	if !l.whole {
		l.arrive(l.last, 0, size, false)
		return
	}
	came := int64(0)
	if l.tap.on() {
		came = int64(l.last) + l.epoch
	}
	ref, ok := l.store.pack(l.scratch[:size], came)
	l.arrive(l.last, ref, size, ok)
}
