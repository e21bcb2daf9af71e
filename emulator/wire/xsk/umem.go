package xsk

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Headroom is what the kernel leaves free at the start of a chunk before a
// received frame (XDP_PACKET_HEADROOM); Chunk-Headroom bytes fit behind it.
const Headroom = 256

// Umem is memory shared with the kernel, in chunks of equal size. Frames are
// named by their byte offset in it, as in the kernel's rings.
type Umem struct {
	base   unsafe.Pointer
	memory []byte
	chunk  uint32
	frames uint32
	fd     int // of the first socket, which registered the memory; -1 before
}

// NewUmem maps frames chunks of chunk bytes (2048 or 4096: a power of two
// and at most a page), touched at once so that no fault comes later.
func NewUmem(frames, chunk uint32) (*Umem, error) {
	size := int(frames) * int(chunk)
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map %d MiB of frame memory: %w", size>>20, err)
	}
	return &Umem{base: unsafe.Pointer(&m[0]), memory: m, chunk: chunk, frames: frames, fd: -1}, nil
}

// Close gives the memory back; the sockets must be closed before.
func (u *Umem) Close() error { return unix.Munmap(u.memory) }

// Frames returns the number of chunks.
func (u *Umem) Frames() uint32 { return u.frames }

// Chunk returns the size of a chunk in bytes.
func (u *Umem) Chunk() uint32 { return u.chunk }

// Bytes returns the n bytes at offset addr, without a check of the bounds:
// addr and n come from the kernel or from the caller's own book.
func (u *Umem) Bytes(addr uint64, n uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(u.base, uintptr(addr))), n)
}

// Stamp returns the place of the 8 bytes in front of a received frame, where
// the XDP program leaves its arrival.
func (u *Umem) Stamp(addr uint64) *int64 {
	return (*int64)(unsafe.Add(u.base, uintptr(addr)-8))
}
