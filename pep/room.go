package pep

import (
	"math"

	"golang.org/x/sys/unix"

	"farlink/pep/relay"
)

// room is what a proxy may use of its machine.
type room struct {
	descriptors int
	memory      uint64 // bytes
}

const (
	// descriptorsAsked are enough for all the flows that the table of flows
	// has room for.
	descriptorsAsked = 1 << 18
	// flowMemory is what a split connection is counted with: sockets,
	// goroutines and the buffers of a few that are busy. Idle ones take
	// 26 kB, 18 of them in this process (measured at 9,500).
	flowMemory = 48 << 10
	// flowsMost is a quarter of the interception's table: those that have
	// ended stay in it for a while.
	flowsMost = 1 << 16
	// spare descriptors are for programs, maps and connections that are not
	// yet split.
	spare = 300
)

// makeRoom raises the descriptor limit of the process as far as it may, and
// returns what there is.
func makeRoom() room {
	var limit unix.Rlimit
	r := room{descriptors: 1024, memory: 1 << 30}
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		if more := (unix.Rlimit{Cur: descriptorsAsked, Max: max(limit.Max, descriptorsAsked)}); limit.Cur < descriptorsAsked && unix.Setrlimit(unix.RLIMIT_NOFILE, &more) == nil {
			limit = more
		}
		r.descriptors = int(min(limit.Cur, math.MaxInt32))
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		r.memory = info.Totalram * uint64(info.Unit)
	}
	return r
}

// pipes is how many pipes there may be, of two descriptors each.
func (r room) pipes() int { return min(max(r.descriptors/100, 16), relay.MostPipes) }

// sockets is how many connections the descriptors allow to be split.
func (r room) sockets() int { return max((r.descriptors-spare)/2-r.pipes(), 1) }

// flows is how many connections are split at a time by default: they may take
// a quarter of the memory.
func (r room) flows() int {
	return min(r.sockets(), int(min(r.memory/4/flowMemory, flowsMost)))
}
