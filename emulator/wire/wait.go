package wire

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// waiter puts a loop to sleep until a frame comes, a time has come, or
// somebody calls wake. Times are CLOCK_MONOTONIC ns.
//
// A timer wakes a thread some 60 us late; so the loop sleeps until some time
// (spin) before a departure and looks again and again from there (it goes on
// receiving meanwhile). A timerfd in an epoll has no slack, unlike epoll's timeout.
//
// Being awake before a departure takes a core, so it is paid for from a purse
// that fills with time: departures far apart have all of spin, those that come
// thick and fast little each, and are woken for by so many arrivals anyway.
type waiter struct {
	coalesce int64
	purse    purse
	epoll    int
	timer    int
	bell     int
	armed    int64
	events   [4]unix.EpollEvent

	// Each wake-up costs the sender on a shared core; when frames come
	// faster than one in 20 us the loop looks every coalesce ns instead.
	windowEnd int64
	wakes     int
	frames    int // counted by the loop
	busy      bool
}

func newWaiter(fd int, coalesce int64) (*waiter, error) {
	w := &waiter{coalesce: coalesce, purse: purse{ns: purseMost}, epoll: -1, timer: -1, bell: -1}
	var err error
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if w.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("timerfd: %w", err)
	}
	if w.bell, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	for _, f := range []struct {
		fd     int
		events uint32
	}{{fd, unix.EPOLLIN}, {w.timer, unix.EPOLLIN | unix.EPOLLET}, {w.bell, unix.EPOLLIN | unix.EPOLLET}} {
		event := unix.EpollEvent{Events: f.events, Fd: int32(f.fd)}
		if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, f.fd, &event); err != nil {
			return nil, fmt.Errorf("epoll add: %w", err)
		}
	}
	return w, nil
}

func (w *waiter) close() {
	for _, fd := range []int{w.epoll, w.timer, w.bell} {
		unix.Close(fd)
	}
}

// wake ends the sleep; any thread may call it.
func (w *waiter) wake() {
	one := uint64(1)
	unix.RawSyscall(unix.SYS_WRITE, uintptr(w.bell), uintptr(unsafe.Pointer(&one)), 8)
}

// until sleeps from now until spin before t at the latest, or as much of it as
// the purse pays for, and not at all when that is past.
func (w *waiter) until(now, t, spin int64) {
	spin = w.purse.pay(now, t, spin)
	if t-now <= spin {
		return
	}
	t -= spin
	if w.flooded(now) && w.coalesce > 0 {
		ts := unix.NsecToTimespec(min(t, now+w.coalesce))
		unix.Syscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
		return
	}
	w.arm(t)
	// Syscall, not RawSyscall: the runtime must be able to go on without us.
	unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(w.epoll), uintptr(unsafe.Pointer(&w.events[0])), uintptr(len(w.events)), ^uintptr(0), 0, 0)
}

const (
	purseShare = 16        // the purse fills by one ns in so many
	purseMost  = 2_000_000 // ns in a full one
	napCost    = 5_000     // ns that going to sleep and waking up take of a core
)

// purse is the time that a loop may be awake before departures.
type purse struct {
	ns  int64
	at  int64 // when it was last filled
	due int64 // the departure that is paid for
}

// pay returns how long before t the loop may be awake, at most spin: all of
// what is left when it is paid for.
func (p *purse) pay(now, t, spin int64) int64 {
	if t == p.due || t-now <= napCost {
		return max(spin, t-now)
	}
	p.ns = min(purseMost, p.ns+(now-p.at)/purseShare)
	p.at = now
	spin = min(spin, p.ns)
	if t-now <= spin && t > now {
		p.ns -= t - now
		p.due = t
	}
	return spin
}

// flooded reports whether frames come so fast that waking for each would
// hurt: it begins when the loop went to sleep 100 times in 2 ms, that is, was
// woken each 20 us, and lasts while as many frames come in as long.
func (w *waiter) flooded(now int64) bool {
	const window, many = 2_000_000, 100
	if now >= w.windowEnd {
		w.busy = w.wakes >= many || w.busy && w.frames >= many
		w.wakes, w.frames, w.windowEnd = 0, 0, now+window
	}
	w.wakes++
	return w.busy
}

// arm sets the timer to t, by a system call only when that changes it.
func (w *waiter) arm(t int64) {
	if t == w.armed {
		return
	}
	w.armed = t
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(t)}
	unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(w.timer), unix.TFD_TIMER_ABSTIME, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}
