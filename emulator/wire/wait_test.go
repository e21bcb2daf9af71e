package wire

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func testWaiter(t *testing.T, coalesce int64) (*waiter, int) {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	w, err := newWaiter(p[0], coalesce)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.close(); unix.Close(p[0]); unix.Close(p[1]) })
	return w, p[1]
}

const ms = 1_000_000

// A sleep ends spin before its time, not sooner, and not at all when that is
// past already.
func TestUntilLeavesTheSpin(t *testing.T) {
	w, _ := testWaiter(t, 0)
	begun := nanotime()
	w.until(begun, begun+10*ms, 2*ms)
	if slept := nanotime() - begun; slept < 8*ms {
		t.Errorf("slept %d ns, want 8 ms or a little more", slept)
	}
	least := int64(ms)
	for range 20 { // others may be given the processor in between, not each time
		begun = nanotime()
		w.purse.ns = purseMost
		w.until(begun, begun+1*ms, 2*ms)
		w.until(begun, begun-1*ms, 0)
		least = min(least, nanotime()-begun)
	}
	if least >= ms {
		t.Errorf("slept %d ns or more within the spin, each of 20 times", least)
	}
}

// Departures 10 ms apart have all of a spin of 150 us: the purse fills by
// 625 us meanwhile. At 200 us apart it fills by 12.5 us, which is what each
// then has in the mean. What is paid for a departure stays paid.
func TestPurse(t *testing.T) {
	for _, c := range []struct{ gap, least, most int64 }{{10 * ms, 149_800, 150_000}, {200_000, 12_000, 15_000}} {
		p, awake := purse{ns: purseMost}, int64(0)
		for k := range int64(1000) {
			due := (k + 1) * c.gap
			spin := p.pay(due-c.gap, due, 150_000)
			for _, left := range []int64{spin, spin / 2, 100} { // the loop looks again and again
				if got := p.pay(due-left, due, 150_000); left > 0 && got < left {
					t.Fatalf("gap %d: %d ns paid for, then %d", c.gap, left, got)
				}
			}
			awake += spin
		}
		if mean := awake / 1000; mean < c.least || mean > c.most {
			t.Errorf("gap %d: awake %d ns before each, want %d to %d", c.gap, mean, c.least, c.most)
		}
	}
}

// Two sleeps to the same time: the timer, armed once, ends both.
func TestUntilTheSameTimeAgain(t *testing.T) {
	w, _ := testWaiter(t, 0)
	begun := nanotime()
	for range 2 {
		w.until(nanotime(), begun+5*ms, 0)
	}
	w.until(nanotime(), begun+8*ms, 0)
	if slept := nanotime() - begun; slept < 8*ms {
		t.Errorf("slept %d ns of 8 ms", slept)
	}
}

func TestWakeAndDataEndTheSleep(t *testing.T) {
	w, write := testWaiter(t, 0)
	far := func() int64 { return nanotime() + 5_000*ms }
	begun := nanotime()
	w.wake() // before the sleep is as good as within
	w.until(nanotime(), far(), 0)
	unix.Write(write, []byte{1})
	w.until(nanotime(), far(), 0)
	if slept := nanotime() - begun; slept > 1_000*ms {
		t.Errorf("slept %d ns", slept)
	}
}

// 100 sleeps within 2 ms are a flood; while it lasts few sleeps are slept, but
// 100 frames in 2 ms keep it one, 99 do not.
func TestFlooded(t *testing.T) {
	w := &waiter{coalesce: 50_000}
	now := int64(0)
	window := func(sleeps, frames int) bool {
		w.frames = frames
		for range sleeps {
			w.flooded(now)
		}
		now += 2 * ms
		return w.flooded(now)
	}
	for i, c := range []struct {
		sleeps, frames int
		want           bool
	}{{5, 500, false}, {98, 100, false}, {101, 100, true}, {10, 100, true}, {10, 99, false}, {50, 500, false}} {
		if got := window(c.sleeps, c.frames); got != c.want {
			t.Errorf("window %d with %d sleeps: %v", i, c.sleeps, got)
		}
	}
}

func TestSpinlock(t *testing.T) {
	var l spinlock
	var wg sync.WaitGroup
	n := 0
	for range 4 {
		wg.Go(func() {
			for range 10000 {
				l.take()
				n++
				l.drop()
			}
		})
	}
	wg.Wait()
	if n != 40000 {
		t.Errorf("%d of 40000 counted", n)
	}
}
