package wire

import _ "unsafe" // for go:linkname

// nanotime is CLOCK_MONOTONIC in ns through the vDSO: the clock of
// bpf_ktime_get_ns and of timerfd. (An offset computed from two clocks goes
// wrong when the thread is preempted between the readings.)
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64
