package wire

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const schedFIFO = 1

// setPriority gives the calling thread SCHED_FIFO priority p. What it starts
// inherits it; so the whole engine has it, the runtime's own threads too
// (one of them preempted with a lock of the runtime holds up the loops).
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
