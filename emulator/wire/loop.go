package wire

import (
	"runtime"
	"sync/atomic"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
	"farlink/emulator/wire/xsk"

	"golang.org/x/sys/unix"
)

const (
	batch       = 64          // frames received before the model runs again
	burst       = 32          // frames the kernel transmits in one call
	maxFrame    = 9216 + 22   // bytes; room for two tags and the header beside a jumbo payload
	minFrame    = 14          // an Ethernet header
	beatEvery   = 1_000_000   // ns
	bookEvery   = 100_000_000 // ns between publications at most
	longestStep = 1_000_000_000
)

// loop carries one way: it alone touches the fields below, on its own
// thread. Frames come from rx and leave by tx.
type loop struct {
	way    link.Way
	rx, tx *xsk.Socket
	store  *store
	wait   *waiter
	page   *wayPage
	tap    *tapRing
	book   *ledger.Book // in page
	beat   func(now int64)
	limits ledger.Limits
	mail   atomic.Pointer[order]
	// unplugged is set while the port to leave by has no carrier.
	unplugged *atomic.Bool
	other     *loop

	em     Emulator
	lock   *spinlock // both loops'
	locked bool      // the emulators in use are coupled
	epoch  int64     // CLOCK_MONOTONIC of link.Time 0

	ready   link.FIFO // delivered by the model, not yet in the transmit ring
	sent    [burst]link.Time
	came    [burst]int64 // arrivals of the same, 0 unknown
	of      [burst]uint8 // their links
	last    link.Time    // the last arrival
	now     int64
	inTx    uint32 // descriptors not yet completed
	pushing bool   // the kernel has not taken all of the transmit ring
	down    bool   // the kernel says of the port to leave by
	rescue  int64
	scratch [maxFrame]byte
	copied  [maxFrame]byte
	partial int  // bytes of an unfinished frame of several chunks in scratch
	whole   bool // it fits so far

	kernel    unix.XDPStatistics // as last seen
	transmits unix.XDPStatistics
	beaten    int64
	booked    int64
	sleepTo   atomic.Int64
	spin      int64 // Config.Spin, ns
	nap       int64 // longest sleep and time between publications, well within the patience, ns
	priority  int   // Config.Priority
	mark      mark
	delays    recent // of this interval
	checks    checker
	switched  int64 // since when, CLOCK_MONOTONIC
	yield     func(link.Probe)
	teller    teller
}

// run carries frames until an order to stop.
func (l *loop) run() {
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	if l.priority > 0 {
		_ = setPriority(l.priority) // Report says whether it is allowed
	}
	for {
		l.now = nanotime()
		if o := l.mail.Load(); o != nil && !l.obey(o) {
			return
		}
		busy := l.step()
		if l.now-l.beaten >= beatEvery {
			l.beaten = l.now
			l.beat(l.now)
		}
		if l.now-l.booked >= l.nap {
			l.publish()
		}
		if l.telling() {
			l.tell()
		}
		if !busy {
			l.sleep()
		}
	}
}

// step does one round: take back, give, receive, run the model, send. It
// reports whether there may be more to do at once.
func (l *loop) step() bool {
	var done uint32
	l.store.pool, done = l.tx.Complete.Take(l.store.pool, l.store.umem.Chunk())
	l.inTx -= done
	l.store.pool = l.rx.Fill.Give(l.store.pool, batch)
	n := l.rx.Rx.Ready()
	due := l.ready.Len() > 0 || l.next() <= l.now
	if n == 0 && !due && !l.pushing {
		return false
	}
	l.page.begin()
	if n > 0 || due {
		l.wait.frames += int(min(n, batch))
		l.model(min(n, batch))
	}
	l.send()
	l.page.end()
	return n > 0 || l.pushing && l.rescue <= l.now
}

// next returns when the model next wants to run, on the monotonic clock.
func (l *loop) next() int64 {
	if l.locked {
		l.lock.take()
		defer l.lock.drop()
	}
	if t := l.em.Next(l.way); t != link.Never {
		return int64(t) + l.epoch
	}
	return int64(link.Never)
}

// model gives the next n arrivals to the emulator and runs it.
func (l *loop) model(n uint32) {
	if l.locked {
		l.lock.take()
		defer l.lock.drop()
	}
	if n > 0 {
		l.now = nanotime() // after all n were stamped
		l.receive(n)
		l.now = nanotime()
	}
	l.em.Run(l.way, link.Time(l.now-l.epoch), l)
	if l.locked {
		l.nudge()
	}
}

// nudge wakes the other loop when what happened here gave it something to do
// before it meant to look. The lock is held.
func (l *loop) nudge() {
	t := l.em.Next(l.other.way)
	if t != link.Never && int64(t)+l.epoch < l.other.sleepTo.Load() {
		l.other.wait.wake()
	}
}

// sleep waits for the next thing to do.
func (l *loop) sleep() {
	if l.ready.Len() > 0 && l.rescue <= l.now {
		return
	}
	l.rx.Nudge()
	to, spin := l.horizon()
	if l.mail.Load() == nil {
		l.wait.until(l.now, to, spin)
	}
	l.sleepTo.Store(0)
}

// horizon returns until when the loop may sleep, and how long before that it
// must be awake. With no frame inside nothing can be late: what a model has
// to do meanwhile (ticks, slots) it makes up for with the next arrival, as
// the contract of link.Stage has it. Where the ways share a model, frames of
// the other way may wait for those ticks, though not to the microsecond; the
// first of them to come rings (nudge).
func (l *loop) horizon() (to, spin int64) {
	if l.locked {
		l.lock.take()
		defer l.lock.drop()
	}
	// One wake-up for beat and book: each costs the runtime's monitor some
	// 300 us of looking around.
	to = l.booked + l.nap
	if l.store.frames > 0 || l.locked && l.other.store.frames > 0 {
		if t := l.em.Next(l.way); t != link.Never {
			to = min(to, int64(t)+l.epoch)
		}
	}
	if l.store.frames > 0 {
		spin = l.spin
	}
	if l.teller.feed != nil {
		to = min(to, l.teller.next)
	}
	if l.pushing {
		to = min(to, l.rescue)
	}
	// Before the lock is dropped, or nudge would not know of this sleep.
	l.sleepTo.Store(to)
	return to, spin
}

// Deliver, Lose and Copy make the loop the emulator's Sink.
func (l *loop) Deliver(p link.Packet) { l.ready.Push(p) }

// Lose books the loss and frees the frame.
func (l *loop) Lose(p link.Packet, c link.Cause) {
	if l.tap.on() {
		l.tap.write(l.arrived(p.Ref), p, c, l.store.frame(p.Ref))
	}
	l.book.Lost[c.Reason]++
	l.book.LostBytes += uint64(p.Size)
	l.checks.lost(p, c.Reason)
	l.store.release(p.Ref)
}

// arrived returns when a held frame came in the run's time, -1 if that is not
// known.
func (l *loop) arrived(ref uint32) link.Time {
	if came := l.store.came(ref); came > 0 {
		return max(-1, link.Time(came-l.epoch))
	}
	return -1
}

// Copy keeps the frame for one departure more.
func (l *loop) Copy(p link.Packet) {
	l.book.Copies++
	l.checks.copied(p)
	l.store.retain(p.Ref)
}
