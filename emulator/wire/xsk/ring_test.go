package xsk

import (
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fake is a ring of 8 entries in plain memory; the test plays the kernel.
func fake(entry int) (*ring, *[3]uint32) {
	index := new([3]uint32) // own, other, flags
	memory := make([]uint64, 8*entry/8)
	return &ring{own: &index[0], other: &index[1], flags: &index[2], entries: unsafe.Pointer(&memory[0]), size: 8, mask: 7}, index
}

// A fill ring of 8: the kernel takes 3 of the first 8, so 3 more fit, taken
// from the pool's end; indices run past the size and past 2^32.
func TestAddressesGive(t *testing.T) {
	for _, start := range []uint32{0, 6, 0xfffffffe} {
		r, index := fake(8)
		r.mine, r.theirs, index[0], index[1] = start, start, start, start
		a := &Addresses{*r}
		pool := []uint64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
		if pool = a.Give(pool, 64); len(pool) != 2 || index[0] != start+8 {
			t.Fatalf("from %d: %d left, producer %d", start, len(pool), index[0])
		}
		if got := *a.at(start); got != 19 {
			t.Errorf("first given %d", got)
		}
		if pool = a.Give(pool, 64); len(pool) != 2 {
			t.Error("gave to a full ring")
		}
		index[1] += 3
		if pool = a.Give(pool, 1); len(pool) != 1 || index[0] != start+9 {
			t.Errorf("limit of 1: %d left", len(pool))
		}
	}
}

// Completed addresses come back as chunks, whatever offset they had.
func TestAddressesTake(t *testing.T) {
	r, index := fake(8)
	a := &Addresses{*r}
	*a.at(0), *a.at(1) = 2048*3+256, 2048*5
	index[1] = 2
	pool, n := a.Take([]uint64{1}, 2048)
	if n != 2 || !slices.Equal(pool, []uint64{1, 2048 * 3, 2048 * 5}) || index[0] != 2 {
		t.Errorf("%d: %v, consumer %d", n, pool, index[0])
	}
	if _, n := a.Take(pool, 2048); n != 0 {
		t.Error("took from an empty ring")
	}
}

func TestDescriptors(t *testing.T) {
	r, index := fake(16)
	d := &Descriptors{*r}
	for i := range uint64(8) {
		if d.Room(1) == 0 {
			t.Fatal("full too early")
		}
		d.Push(unix.XDPDesc{Addr: i, Len: 60})
	}
	d.Publish()
	if d.Room(1) != 0 || index[0] != 8 || d.Drained() {
		t.Errorf("room %d, producer %d", d.Room(1), index[0])
	}
	index[1] = 8
	if !d.Drained() || d.Room(1) != 8 {
		t.Error("not drained")
	}
}

func TestRingsAllocateNothing(t *testing.T) {
	r, index := fake(8)
	a := &Addresses{*r}
	pool := make([]uint64, 4, 8)
	if n := testing.AllocsPerRun(100, func() {
		pool = a.Give(pool, 2)
		index[1] = index[0]
		pool = append(pool, 1, 2)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
