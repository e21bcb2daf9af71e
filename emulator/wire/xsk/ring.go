package xsk

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is one of a socket's rings as the kernel lays it out: two free-running
// indices and a power of two of entries. mine is the index this side writes,
// theirs the last one seen of the kernel's, read again only when needed.
type ring struct {
	own, other   *uint32
	flags        *uint32
	entries      unsafe.Pointer
	size, mask   uint32
	mine, theirs uint32
}

// publish makes what was written or read up to mine known to the kernel.
func (r *ring) publish() { atomic.StoreUint32(r.own, r.mine) }

// room returns how many entries a producer may write, looking at the
// kernel's index only when fewer than want are known.
func (r *ring) room(want uint32) uint32 {
	n := r.size - (r.mine - r.theirs)
	if n < want {
		r.theirs = atomic.LoadUint32(r.other)
		n = r.size - (r.mine - r.theirs)
	}
	return n
}

// ready returns how many entries a consumer may read.
func (r *ring) ready() uint32 {
	n := r.theirs - r.mine
	if n == 0 {
		r.theirs = atomic.LoadUint32(r.other)
		n = r.theirs - r.mine
	}
	return n
}

// asleep reports whether the kernel wants a system call to go on.
func (r *ring) asleep() bool {
	return atomic.LoadUint32(r.flags)&unix.XDP_RING_NEED_WAKEUP != 0
}

// Addresses is a ring of chunk addresses: Fill or Complete.
type Addresses struct{ ring }

func (r *Addresses) at(i uint32) *uint64 {
	return (*uint64)(unsafe.Add(r.entries, uintptr(i&r.mask)*8))
}

// Give moves up to as many addresses as fit from the end of pool to the
// kernel, but no more than limit, and returns what is left of pool.
func (r *Addresses) Give(pool []uint64, limit uint32) []uint64 {
	n := min(r.room(64), limit, uint32(len(pool)))
	if n == 0 {
		return pool
	}
	for range n {
		*r.at(r.mine) = pool[len(pool)-1]
		pool = pool[:len(pool)-1]
		r.mine++
	}
	r.publish()
	return pool
}

// Take appends all addresses that the kernel is done with to pool, each
// rounded down to its chunk.
func (r *Addresses) Take(pool []uint64, chunk uint32) ([]uint64, uint32) {
	n := r.ready()
	if n == 0 {
		return pool, 0
	}
	for range n {
		pool = append(pool, *r.at(r.mine)&^uint64(chunk-1))
		r.mine++
	}
	r.publish()
	return pool, n
}

// Descriptors is a ring of frame descriptors: Rx or Tx.
type Descriptors struct{ ring }

func (r *Descriptors) at(i uint32) *unix.XDPDesc {
	return (*unix.XDPDesc)(unsafe.Add(r.entries, uintptr(i&r.mask)*16))
}

// Ready returns how many received descriptors wait.
func (r *Descriptors) Ready() uint32 { return r.ready() }

// Next returns the next received descriptor and steps over it.
func (r *Descriptors) Next() unix.XDPDesc {
	d := *r.at(r.mine)
	r.mine++
	return d
}

// Room returns how many descriptors may be queued, of want asked for.
func (r *Descriptors) Room(want uint32) uint32 { return r.room(want) }

// Push queues a descriptor; Room must have said that it fits.
func (r *Descriptors) Push(d unix.XDPDesc) {
	*r.at(r.mine) = d
	r.mine++
}

// Publish makes the pushes, or the reads, known to the kernel.
func (r *Descriptors) Publish() { r.publish() }

// Drained reports whether the kernel has taken everything that was pushed.
func (r *Descriptors) Drained() bool { return atomic.LoadUint32(r.other) == r.mine }
