package wire

import (
	"bytes"
	"testing"
	"unsafe"

	"farlink/emulator/link"
	"farlink/emulator/netlab"
)

func TestTapSlotIs256Bytes(t *testing.T) {
	if n := unsafe.Sizeof(tapSlot{}); n != 256 {
		t.Errorf("%d bytes", n)
	}
}

// A reader finds what was written, in order; one that comes late is told how
// many it missed.
func TestTapRing(t *testing.T) {
	e := &Engine{page: new(page)}
	r := &e.page.Taps[link.Up]
	frame := bytes.Repeat([]byte{7}, 500)
	for i := range 10 {
		r.write(link.Time(i)-1, link.Packet{When: link.Time(i), Seq: uint64(i), Body: link.Body{Size: 500}}, link.Cause{Reason: link.Random, Stage: 2}, frame)
	}
	var got []Record
	next, missed := e.Records(link.Up, 3, func(r Record) bool {
		r.Bytes = bytes.Clone(r.Bytes)
		got = append(got, r)
		return len(got) < 5
	})
	if next != 8 || missed != 0 || len(got) != 5 {
		t.Fatalf("%d read, next %d, missed %d", len(got), next, missed)
	}
	for i, g := range got {
		if g.Packet.Seq != uint64(i+3) || g.Came != link.Time(i+2) || g.Packet.Size != 500 || g.Cause != (link.Cause{Reason: link.Random, Stage: 2}) || !bytes.Equal(g.Bytes, frame[:tapBytes]) {
			t.Errorf("record %d: %+v", i, g.Fate)
		}
	}
	for i := range tapSlots + 1 {
		r.write(-1, link.Packet{Seq: uint64(10 + i)}, link.Cause{}, frame[:20])
	}
	// 10 + slots + 1 were written, the first 11 are gone; 8 to 10 were not
	// read yet.
	n := 0
	next, missed = e.Records(link.Up, next, func(Record) bool { n++; return true })
	if missed != 3 || n != tapSlots || next != e.Tapped(link.Up) {
		t.Errorf("%d read, %d missed, next %d of %d", n, missed, next, e.Tapped(link.Up))
	}
}

func TestTapAllocatesNothing(t *testing.T) {
	r, frame := new(tapRing), make([]byte, 1500)
	if n := testing.AllocsPerRun(1000, func() { r.write(0, link.Packet{}, link.Cause{}, frame) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// On the wire: off, nothing is recorded; on, every fate with its frame.
func TestTapOnTheWire(t *testing.T) {
	r := newRig(t, netlab.Options{MTU: 9216}, Config{Doc: (&plain{LoseNth: 2}).doc()})
	kinds := []netlab.Kind{netlab.Sized(100)}
	tap, err := r.A.Tap()
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	send := func() {
		for range 20 {
			if err := tap.Send(kinds[0].Frame); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := netlab.Probe(r.A, r.B, netlab.ProbeOptions{Count: 1, Wait: 20e6}); err != nil {
			t.Fatal(err)
		}
	}
	send()
	if n := r.Tapped(link.Up); n != 0 {
		t.Errorf("%d records while off", n)
	}
	r.Tap(link.Up, true)
	send()
	ours, lost := 0, 0
	r.Records(link.Up, 0, func(f Record) bool {
		if bytes.Equal(f.Bytes, kinds[0].Frame) {
			ours++
			if f.Lost() {
				lost++
			}
		}
		return true
	})
	if ours != 20 || lost != 10 {
		t.Errorf("%d of 20 recorded, %d of 10 lost", ours, lost)
	}
}
