package wire

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"farlink/emulator/link"
)

// A reader in the midst of writes never sees half of one: two counters that
// always change together are always equal.
func TestReadIsWhole(t *testing.T) {
	var w wayPage
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := uint64(1); !stop.Load(); i++ {
			w.begin()
			w.Book.In, w.Probe[maxProbes-1].Value = i, float64(i)
			w.end()
			time.Sleep(time.Microsecond)
		}
	})
	view, whole := new(wayView), 0
	for range 300 {
		if w.read(view) {
			whole++
			if float64(view.Book.In) != view.Probe[maxProbes-1].Value {
				t.Fatalf("in %d beside %v", view.Book.In, view.Probe[maxProbes-1].Value)
			}
		}
	}
	stop.Store(true)
	wg.Wait()
	if whole < 200 {
		t.Errorf("only %d of 300 readings were whole", whole)
	}
}

// A loop that died while it wrote does not hold a reader up.
func TestReadOfADeadWriter(t *testing.T) {
	var w wayPage
	w.Book.In = 5
	w.begin()
	view := new(wayView)
	if w.read(view) || view.Book.In != 5 {
		t.Errorf("whole, or in %d; want what is there, and that it may be torn", view.Book.In)
	}
}

func TestWayViewIsWholeWords(t *testing.T) {
	if n := unsafe.Sizeof(wayView{}); n%8 != 0 {
		t.Errorf("%d bytes are no whole words", n)
	}
}

// More figures than there is room for, and names longer than theirs, are cut.
func TestProbesAreBounded(t *testing.T) {
	var v wayView
	long := link.Probe{Name: "a_name_that_is_much_longer_than_fifty_six_characters_are_in_a_line", Value: 1}
	for range maxProbes + 10 {
		v.yield(long)
	}
	w := v.way(Config{}.Limits)
	if len(w.Probes) != maxProbes || w.Probes[0].Name != long.Name[:56] {
		t.Errorf("%d probes, the first %q", len(w.Probes), w.Probes[0].Name)
	}
}

func TestSharedMemory(t *testing.T) {
	f, err := newShared()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := mapShared(f)
	if err != nil {
		t.Fatal(err)
	}
	defer a.unmap()
	b, err := mapShared(f)
	if err != nil {
		t.Fatal(err)
	}
	defer b.unmap()
	a.Ways[1].Book.Out = 42
	if b.Ways[1].Book.Out != 42 {
		t.Error("what one writes the other does not see")
	}
}
