package wire

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const schedFIFO = 1

// below is the priority of all threads of an engine but the loops. They are
// real-time too, for one of the runtime's that holds a lock must not wait for
// ordinary work; yet the building of a large document must not hold up a
// departure.
func below(loops int) int { return max(1, loops-5) }

// setPriority gives the calling thread SCHED_FIFO priority p. What it starts
// inherits it.
func setPriority(p int) error {
	param := struct{ priority int32 }{int32(p)}
	_, _, e := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, schedFIFO, uintptr(unsafe.Pointer(&param)))
	if e != 0 {
		return e
	}
	return nil
}

// priority returns the calling thread's SCHED_FIFO priority, 0 if it has
// none.
func priority() int {
	policy, _, e := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	if e != 0 || policy != schedFIFO {
		return 0
	}
	var param struct{ priority int32 }
	unix.RawSyscall(unix.SYS_SCHED_GETPARAM, 0, uintptr(unsafe.Pointer(&param)), 0)
	return int(param.priority)
}
