package wire

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// spinlock serialises the two loops when their ways share state. They are
// locked threads with real-time priority which hold it for microseconds; a
// sync.Mutex would park the goroutine and hand the thread to the scheduler.
type spinlock struct{ held atomic.Bool }

func (s *spinlock) take() {
	for tries := 0; !s.held.CompareAndSwap(false, true); tries++ {
		if tries%64 == 63 {
			// The holder may want this very core.
			unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		}
	}
}

func (s *spinlock) drop() { s.held.Store(false) }
