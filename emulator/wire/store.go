package wire

import (
	"fmt"
	"unsafe"

	"farlink/emulator/link"
	"farlink/emulator/wire/xsk"

	"golang.org/x/sys/unix"
)

// inRing is set in the Ref of a frame that lies in the packed ring; the rest
// is its place there in words of 8 bytes. Without it a Ref is the number of
// a chunk of the UMEM.
const inRing = 1 << 31

// store holds the frames of one way while the model has them. A frame stays
// in the chunk it came in while at least half the way's chunks are free;
// else it is copied into a ring of packed frames, so that a long delay costs
// the frames' own bytes and not a chunk each. Frames may be let go in any
// order; the ring's room comes back in the order it was used.
//
//	ring: ┌──────┬────────┬──────┬────────┬─ ─ ─┬──────┐
//	      │header│ frame  │header│ frame  │     │filler│
//	      └──────┴────────┴──────┴────────┴─ ─ ─┴──────┘
type store struct {
	umem   *xsk.Umem
	pool   []uint64 // free chunks of this way, by address
	chunks uint32   // how many chunks this way has
	places []place  // by number of chunk, of the whole UMEM

	ring       []byte
	words      uint64 // size of the ring in words
	head, tail uint64 // words ever written and let go
	frames     uint64 // held, copies counted
	bytes      uint64
}

// place is where in its chunk a held frame lies, and how often it is held;
// 0 means that the model does not have it.
type place struct {
	offset, size uint16
	refs         uint16
}

// header stands before a frame in the ring. A filler up to the end of the
// ring has refs 0 from the start. A word more than the frame needs, at the end
// of the span, is its arrival.
type header struct {
	span uint32 // words, this one included
	size uint16
	refs uint16
}

// newStore makes the store of a way from the chunks first..first+n of u and
// a ring of memory bytes.
func newStore(u *xsk.Umem, first, n uint32, memory link.Size) (*store, error) {
	s := &store{umem: u, chunks: n, pool: make([]uint64, 0, n), places: make([]place, u.Frames())}
	for i := first; i < first+n; i++ {
		s.pool = append(s.pool, uint64(i)*uint64(u.Chunk()))
	}
	// Pages come as they are first used. Reserving none lets a generous
	// bound stand on a small machine.
	m, err := unix.Mmap(-1, 0, int(memory)&^7, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map %v to hold frames: %w", memory, err)
	}
	unix.Madvise(m, unix.MADV_HUGEPAGE) // fewer faults; no harm where refused
	s.ring, s.words = m, uint64(len(m)/8)
	return s, nil
}

func (s *store) close() error { return unix.Munmap(s.ring) }

func (s *store) header(word uint64) *header {
	return (*header)(unsafe.Pointer(&s.ring[word%s.words*8]))
}

// keep takes the received frame at addr, in its chunk if there is plenty,
// else in the ring, there with its arrival if that is asked for; false when the
// ring is full.
func (s *store) keep(addr uint64, size uint32, stamped bool) (uint32, bool) {
	if uint32(len(s.pool)) < s.chunks/2 {
		came := int64(0)
		if stamped {
			came = -*s.umem.Stamp(addr)
		}
		ref, ok := s.pack(s.umem.Bytes(addr, size), came)
		s.recycle(addr)
		return ref, ok
	}
	chunk := uint32(addr / uint64(s.umem.Chunk()))
	s.places[chunk] = place{offset: uint16(addr % uint64(s.umem.Chunk())), size: uint16(size), refs: 1}
	s.frames++
	s.bytes += uint64(size)
	return chunk, true
}

// recycle gives a received chunk straight back.
func (s *store) recycle(addr uint64) {
	s.pool = append(s.pool, addr&^uint64(s.umem.Chunk()-1))
}

// pack copies a frame into the ring, with its arrival if came is not 0; false
// when there is no room.
func (s *store) pack(frame []byte, came int64) (uint32, bool) {
	need := words(uint16(len(frame)))
	if came != 0 {
		need++
	}
	if s.head == s.tail {
		s.head, s.tail = 0, 0 // empty: use the same, warm memory again
	}
	if left := s.words - s.head%s.words; left < need {
		if s.head+left+need-s.tail > s.words {
			return 0, false
		}
		*s.header(s.head) = header{span: uint32(left)}
		s.head += left
	}
	if s.head+need-s.tail > s.words {
		return 0, false
	}
	at := s.head % s.words
	*s.header(at) = header{span: uint32(need), size: uint16(len(frame)), refs: 1}
	copy(s.ring[(at+1)*8:], frame)
	if came != 0 {
		*s.last(at) = came
	}
	s.head += need
	s.frames++
	s.bytes += uint64(len(frame))
	return uint32(at) | inRing, true
}

// words is how many a frame of so many bytes needs, its header included.
func words(size uint16) uint64 { return 1 + (uint64(size)+7)/8 }

// last returns the last word of the span at a place in the ring.
func (s *store) last(at uint64) *int64 {
	return (*int64)(unsafe.Pointer(&s.ring[(at+uint64(s.header(at).span)-1)*8]))
}

// came returns when a held frame came (CLOCK_MONOTONIC ns), 0 if that was not
// kept.
func (s *store) came(ref uint32) int64 {
	if ref&inRing == 0 {
		return -*s.umem.Stamp(uint64(ref)*uint64(s.umem.Chunk()) + uint64(s.places[ref].offset))
	}
	at := uint64(ref &^ inRing)
	if h := s.header(at); uint64(h.span) > words(h.size) {
		return *s.last(at)
	}
	return 0
}

// frame returns the bytes of a held frame.
func (s *store) frame(ref uint32) []byte {
	if ref&inRing != 0 {
		at := uint64(ref &^ inRing)
		return s.ring[(at+1)*8:][:s.header(at).size]
	}
	p := &s.places[ref]
	return s.umem.Bytes(uint64(ref)*uint64(s.umem.Chunk())+uint64(p.offset), uint32(p.size))
}

// shared reports whether the frame is held more than once.
func (s *store) shared(ref uint32) bool {
	if ref&inRing != 0 {
		return s.header(uint64(ref&^inRing)).refs > 1
	}
	return s.places[ref].refs > 1
}

// retain holds the frame once more.
func (s *store) retain(ref uint32) {
	s.frames++
	if ref&inRing != 0 {
		h := s.header(uint64(ref &^ inRing))
		h.refs++
		s.bytes += uint64(h.size)
		return
	}
	s.places[ref].refs++
	s.bytes += uint64(s.places[ref].size)
}

// release lets go of the frame once; with the last hold its memory is free.
func (s *store) release(ref uint32) {
	s.frames--
	if ref&inRing == 0 {
		s.bytes -= uint64(s.places[ref].size)
		if s.places[ref].refs--; s.places[ref].refs == 0 {
			s.pool = append(s.pool, uint64(ref)*uint64(s.umem.Chunk()))
		}
		return
	}
	h := s.header(uint64(ref &^ inRing))
	s.bytes -= uint64(h.size)
	h.refs--
	for s.tail != s.head && s.header(s.tail).refs == 0 {
		s.tail += uint64(s.header(s.tail).span)
	}
}

// take hands over the chunk of a frame that is held once and lies in the
// UMEM: it leaves the store for the transmit ring.
func (s *store) take(ref uint32) (addr uint64, size uint32) {
	p := &s.places[ref]
	s.frames--
	s.bytes -= uint64(p.size)
	p.refs = 0
	return uint64(ref)*uint64(s.umem.Chunk()) + uint64(p.offset), uint32(p.size)
}

// clear lets go of every frame, whoever holds it.
func (s *store) clear() {
	for i := range s.places {
		if s.places[i].refs > 0 {
			s.places[i].refs = 0
			s.pool = append(s.pool, uint64(i)*uint64(s.umem.Chunk()))
		}
	}
	s.head, s.tail, s.frames, s.bytes = 0, 0, 0, 0
}
