package wire

import (
	"sync/atomic"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
)

// order is what the control side asks of both loops. Each obeys it between
// two batches.
type order struct {
	em     Emulator // the new one; nil means stop
	epoch  int64    // of a fresh run; 0 goes on with the present one
	locked bool     // the new or the old emulator is coupled
	took   [2]atomic.Int64
	left   atomic.Int32
	done   chan struct{}
}

// give hands the order to the loops and waits until both have obeyed.
func (o *order) give(loops [2]*loop) {
	o.done = make(chan struct{})
	o.left.Store(2)
	for _, l := range loops {
		l.mail.Store(o)
		l.wait.wake()
	}
	<-o.done
}

// obey carries an order out; false means stop.
func (l *loop) obey(o *order) bool {
	l.mail.Store(nil)
	defer func() {
		o.took[l.way].Store(nanotime())
		if o.left.Add(-1) == 0 {
			close(o.done)
		}
	}()
	if o.em == nil {
		return false
	}
	l.page.begin()
	l.locked = o.locked
	if l.locked {
		l.lock.take()
		defer l.lock.drop()
	}
	if o.epoch != 0 {
		l.restart(o)
	} else {
		o.em.Succeed(l.em, l.way, link.Time(l.now-l.epoch))
	}
	l.em = o.em
	l.checks.begin(l.em, l.way, &l.page.wayView)
	l.switched = l.now
	v := &l.page.wayView
	v.Switched = l.now - l.epoch
	l.page.end()
	return true
}

// restart begins a run anew: what is inside is dropped, the book is empty,
// and time is 0.
func (l *loop) restart(o *order) {
	l.ready = link.FIFO{}
	l.store.clear()
	l.kernelCounts()
	*l.book = ledger.Book{}
	l.mark = mark{}
	l.epoch, l.last = o.epoch, 0
}
