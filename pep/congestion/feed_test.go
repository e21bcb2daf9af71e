package congestion

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"unsafe"

	"farlink/emulator/link"
	"farlink/emulator/need"
)

// TestFeed: what one process tells, another that opened the feed by its path
// reads, and so does the program; telling allocates nothing.
func TestFeed(t *testing.T) {
	need.Root(t)
	path := filepath.Join("/sys/fs/bpf", fmt.Sprintf("farlink-test-%x", rand.Uint64()))
	writer, err := CreateFeed(path)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	defer writer.m.Unpin()
	reader, err := OpenFeed(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	c := link.Capacity{Rate: 8 * link.MegabitPerSecond, NextRate: 8 * link.MegabitPerSecond, RTT: 500 * link.Millisecond, Queue: 3000}
	if n := testing.AllocsPerRun(10, func() { writer.Tell(3, link.Up, 77, math.MaxInt64, c) }); n != 0 {
		t.Errorf("telling allocates %v times", n)
	}
	want := Told{Wait: 20 * link.Millisecond, Rate: c.Rate, Frame: c.Rate, Most: c.Rate, At: 77, NextAt: math.MaxInt64, NextRate: c.NextRate, Queue: 3000, RTT: c.RTT}
	if got := reader.Now(Column(3, link.Up)); got != want {
		t.Errorf("read %+v, want %+v", got, want)
	}
	writer.Tell(3, link.Up, 78, math.MaxInt64, link.Capacity{Rate: c.Rate, RTT: -1})
	if got := reader.Now(Column(3, link.Up)).RTT; got != -1 {
		t.Errorf("a round trip that is not known is %v", got)
	}
	if got := reader.Now(Column(3, link.Down)); got != (Told{}) {
		t.Errorf("the other way has %+v, want nothing", got)
	}
	// 8 Mbit/s are 10^6 bytes per second, the first word of column 7.
	var raw [unsafe.Sizeof(capacity{})]byte
	if err := reader.m.Lookup(Column(3, link.Up), &raw); err != nil || raw[0] != 0x40 || raw[1] != 0x42 || raw[2] != 0x0f {
		t.Errorf("the map has % x, %v", raw[:8], err)
	}
	writer.Tell(MostLinks, link.Up, 1, 1, c) // left out
	writer.Forget(3, link.Up)
	if got := reader.Now(Column(3, link.Up)); got.At != 0 {
		t.Errorf("forgotten, %+v", got)
	}
}

var _ = [1]struct{}{}[unsafe.Sizeof(capacity{})-128] // struct capacity of xlayer.bpf.c is 128 bytes
