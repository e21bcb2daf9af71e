package link

import (
	"testing"
	"unsafe"
)

// TestFIFOAgainstSlice pushes and pops at random, in phases that fill over
// several blocks and empty again, beside a plain slice.
func TestFIFOAgainstSlice(t *testing.T) {
	d := NewDraw(1, "fifo")
	var q FIFO
	var model []Packet
	bytes := 0
	for n := range uint64(200_000) {
		fill := 0.7
		if n/10_000%2 == 1 {
			fill = 0.3
		}
		if d.Chance(n, fill) {
			p := Packet{Seq: n, Body: Body{Size: uint16(d.Uint64(n) % 9000)}}
			q.Push(p)
			model = append(model, p)
			bytes += int(p.Size)
		} else if len(model) > 0 {
			if got := q.Pop(); got != model[0] {
				t.Fatalf("step %d: popped %d, want %d", n, got.Seq, model[0].Seq)
			}
			bytes -= int(model[0].Size)
			model = model[1:]
		}
		if q.Len() != len(model) || q.Bytes() != bytes {
			t.Fatalf("step %d: %d packets, %d B, want %d, %d", n, q.Len(), q.Bytes(), len(model), bytes)
		}
		if len(model) > 0 && (*q.Front() != model[0] || *q.Back() != model[len(model)-1]) {
			t.Fatalf("step %d: front %d, back %d", n, q.Front().Seq, q.Back().Seq)
		}
	}
}

// TestFIFOCost: 24 bytes a packet held, the block's link aside; and no
// allocation up to a height that was reached before.
func TestFIFOCost(t *testing.T) {
	if size := unsafe.Sizeof(Packet{}); size != 24 {
		t.Errorf("a packet takes %d B, want 24", size)
	}
	if size := unsafe.Sizeof(block{}); size > 24*fifoBlock+16 {
		t.Errorf("a block of %d takes %d B", fifoBlock, size)
	}
	var q FIFO
	wave := func() {
		for range 5 * fifoBlock {
			q.Push(Packet{Body: Body{Size: 1}})
		}
		for q.Len() > 0 {
			q.Pop()
		}
	}
	wave()
	if n := testing.AllocsPerRun(10, wave); n != 0 {
		t.Errorf("%v allocations for a wave as high as the one before", n)
	}
	// Moving on at a constant height, through many blocks.
	for range 3000 {
		q.Push(Packet{})
	}
	if n := testing.AllocsPerRun(20*fifoBlock, func() { q.Push(Packet{}); q.Pop() }); n != 0 {
		t.Errorf("%v allocations at a constant height", n)
	}
}

func BenchmarkFIFO(b *testing.B) {
	var q FIFO
	for range 4000 {
		q.Push(Packet{Body: Body{Size: 100}})
	}
	for b.Loop() {
		q.Push(Packet{Body: Body{Size: 100}})
		q.Pop()
	}
}
