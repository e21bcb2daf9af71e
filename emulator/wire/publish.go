package wire

import (
	"farlink/emulator/link"

	"golang.org/x/sys/unix"
)

// mark is the totals at the last publication.
type mark struct{ in, inBytes, out, outBytes, lost uint64 }

// publish closes the book and writes what changed in the interval. It runs
// some times a second, between two steps.
func (l *loop) publish() {
	now := link.Time(l.now - l.epoch)
	if l.locked {
		l.lock.take()
		defer l.lock.drop()
	}
	l.page.begin()
	l.kernelCounts()
	l.em.Run(l.way, now, l) // a loop with nothing inside lets ticks wait
	r := &l.page.Recent
	b := l.book
	lost := b.Losses()
	*r = recent{
		Since: int64(l.booked - l.epoch),
		In:    b.In - l.mark.in, InBytes: b.InBytes - l.mark.inBytes,
		Out: b.Out - l.mark.out, OutBytes: b.OutBytes - l.mark.outBytes,
		Lost:   lost - l.mark.lost,
		Delays: l.delays.Delays, DelayMin: l.delays.DelayMin,
		DelayMax: l.delays.DelayMax, DelaySum: l.delays.DelaySum,
	}
	l.mark = mark{b.In, b.InBytes, b.Out, b.OutBytes, lost}
	l.delays = recent{}
	l.checks.judge(now, l.ready.Len() == 0)
	l.balance()
	l.page.Probes = 0
	l.em.Probes(l.way, now, l.yield)
	l.page.At = int64(now)
	l.booked = l.now
	l.page.Down = 0
	if l.down || l.unplugged.Load() {
		l.page.Down = 1
	}
	l.page.end()
}

// balance closes the book: what the store holds must be what the model and
// the queue before the port say they hold.
func (l *loop) balance() {
	packets, _ := l.em.Held(l.way)
	l.book.Close(l.store.frames, l.store.bytes)
	if uint64(packets+l.ready.Len()) != l.store.frames {
		l.book.Broken++
	}
	l.book.QueueMax = max(l.book.QueueMax, l.store.bytes)
	l.page.Recent.HeldMax = l.store.bytes
}

// kernelCounts adds what the kernel lost at this way's sockets since the
// last look.
func (l *loop) kernelCounts() {
	var now unix.XDPStatistics
	l.rx.Statistics(&now)
	e := &l.book.Engine
	e.Dropped += now.Rx_dropped - l.kernel.Rx_dropped
	e.RingFull += now.Rx_ring_full - l.kernel.Rx_ring_full
	e.FillEmpty += now.Rx_fill_ring_empty_descs - l.kernel.Rx_fill_ring_empty_descs
	l.kernel = now
	l.tx.Statistics(&now)
	e.BadFrame += now.Tx_invalid_descs - l.transmits.Tx_invalid_descs
	l.transmits = now
}
