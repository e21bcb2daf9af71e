package wire

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/wire/xsk"
)

func newTestStore(t testing.TB, frames, own uint32, memory link.Size) *store {
	t.Helper()
	u, err := xsk.NewUmem(frames, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStore(u, 0, own, memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close(); u.Close() })
	return s
}

// come takes a chunk as the kernel would and fills it.
func come(s *store, frame []byte) (addr uint64) {
	addr = s.pool[len(s.pool)-1] + xsk.Headroom
	s.pool = s.pool[:len(s.pool)-1]
	copy(s.umem.Bytes(addr, uint32(len(frame))), frame)
	return addr
}

// With 8 chunks: while 4 are free after an arrival, it stays where it is;
// the fifth is packed, and its chunk is free again.
func TestStoreKeepsInPlaceWhileHalfIsFree(t *testing.T) {
	s := newTestStore(t, 8, 8, 1<<12)
	for i := range 6 {
		frame := bytes.Repeat([]byte{byte(i)}, 100)
		ref, ok := s.keep(come(s, frame), 100, false)
		if !ok || ref&inRing != 0 != (i >= 4) {
			t.Errorf("frame %d: ref %#x, %v", i, ref, ok)
		}
		if !bytes.Equal(s.frame(ref), frame) {
			t.Errorf("frame %d is not what came", i)
		}
	}
	if len(s.pool) != 4 || s.frames != 6 || s.bytes != 600 {
		t.Errorf("%d chunks free, %d frames, %d bytes", len(s.pool), s.frames, s.bytes)
	}
}

// A ring of 64 words takes frames of 100 bytes in 14 words each: 4, with 8
// words left over. When the first is let go there is room for a filler of 8
// and 14 words from the start. Letting go out of order frees nothing before
// the first.
func TestStoreRingWrapsAndReclaims(t *testing.T) {
	s := newTestStore(t, 8, 8, 64*8)
	frame := bytes.Repeat([]byte{1}, 100)
	var refs []uint32
	for range 4 {
		ref, ok := s.pack(frame, 0)
		if !ok {
			t.Fatal("no room for four")
		}
		refs = append(refs, ref)
	}
	if _, ok := s.pack(frame, 0); ok {
		t.Error("a fifth found room")
	}
	s.release(refs[1])
	if _, ok := s.pack(frame, 0); ok {
		t.Error("room behind a frame still held")
	}
	s.release(refs[0]) // frees both
	ref, ok := s.pack(frame, 0)
	if !ok || ref != 0|inRing {
		t.Errorf("ref %#x, %v; want the start of the ring", ref, ok)
	}
	s.release(refs[3])
	s.release(refs[2])
	s.release(ref)
	if s.frames != 0 || s.bytes != 0 || s.head != s.tail {
		t.Errorf("%d frames, %d bytes, head %d, tail %d", s.frames, s.bytes, s.head, s.tail)
	}
}

// Frames of all sizes, held, doubled and let go at random, against a plain
// map: nothing is ever altered and all memory comes back.
func TestStoreAgainstAMap(t *testing.T) {
	s := newTestStore(t, 64, 64, 1<<16)
	draw := rand.New(rand.NewPCG(7, 7))
	type held struct {
		ref   uint32
		frame []byte
		came  int64 // 0: not kept
	}
	var inside []held
	for n := range int64(20000) {
		if draw.IntN(5) < 2 || len(inside) == 0 {
			frame := make([]byte, 14+draw.IntN(1700))
			for i := range frame {
				frame[i] = byte(draw.Uint32())
			}
			addr, stamped := come(s, frame), draw.IntN(2) == 0
			*s.umem.Stamp(addr) = -n - 1
			ref, ok := s.keep(addr, uint32(len(frame)), stamped)
			if !ok {
				continue
			}
			h := held{ref, frame, n + 1}
			if ref&inRing != 0 && !stamped {
				h.came = 0
			}
			inside = append(inside, h)
			if draw.IntN(4) == 0 {
				s.retain(ref)
				inside = append(inside, h)
			}
			continue
		}
		i := draw.IntN(len(inside))
		h := inside[i]
		if !bytes.Equal(s.frame(h.ref), h.frame) {
			t.Fatal("a held frame was altered")
		}
		if got := s.came(h.ref); got != h.came {
			t.Fatalf("came at %d, was told %d", h.came, got)
		}
		if h.ref&inRing == 0 && !s.shared(h.ref) && draw.IntN(2) == 0 {
			addr, size := s.take(h.ref)
			if int(size) != len(h.frame) {
				t.Fatal("taken with another size")
			}
			s.recycle(addr)
		} else {
			s.release(h.ref)
		}
		inside[i] = inside[len(inside)-1]
		inside = inside[:len(inside)-1]
	}
	for _, h := range inside {
		s.release(h.ref)
	}
	if s.frames != 0 || s.bytes != 0 || s.head != s.tail || len(s.pool) != 64 {
		t.Errorf("%d frames, %d bytes, ring %d to %d, %d chunks", s.frames, s.bytes, s.tail, s.head, len(s.pool))
	}
}

func TestStoreClear(t *testing.T) {
	s := newTestStore(t, 8, 8, 1<<12)
	for range 6 {
		if _, ok := s.keep(come(s, make([]byte, 60)), 60, false); !ok {
			t.Fatal("no room")
		}
	}
	s.clear()
	if len(s.pool) != 8 || s.frames != 0 || s.head != 0 {
		t.Errorf("%d chunks free, %d frames", len(s.pool), s.frames)
	}
}

func TestStoreAllocatesNothing(t *testing.T) {
	s := newTestStore(t, 64, 64, 1<<16)
	if n := testing.AllocsPerRun(1000, func() {
		a, _ := s.keep(come(s, nil), 60, false)
		b, _ := s.pack(s.frame(a), 0)
		s.retain(b)
		s.release(a)
		s.release(b)
		s.release(b)
	}); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}

func BenchmarkStorePack(b *testing.B) {
	s := newTestStore(b, 64, 64, 1<<20)
	frame := make([]byte, 1514)
	b.SetBytes(1514)
	for b.Loop() {
		ref, _ := s.pack(frame, 0)
		s.release(ref)
	}
}
