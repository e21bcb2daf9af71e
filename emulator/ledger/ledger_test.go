package ledger

import (
	"strings"
	"testing"

	"farlink/emulator/link"
)

// Buckets by hand: below 16 each ns has its own; 16..31 too (shift 0);
// 32..63 go by 2: 33 falls to 32, bucket 32; 100 lies in 64..127 by 4: floor
// 100, bucket 3*16 + 100>>2 % 16 = 48+9 = 57; 1,000,000 lies in 2^19..2^20 by
// 2^15: 16*15 + ... = floor 983,040.
func TestHistogramBuckets(t *testing.T) {
	for _, c := range []struct {
		ns     int64
		bucket int
		floor  int64
	}{{0, 0, 0}, {15, 15, 15}, {16, 16, 16}, {31, 31, 31}, {33, 32, 32}, {100, 57, 100}, {1_000_000, 270, 983_040}, {1 << 62, steps*octaves - 1, floor(steps*octaves - 1)}} {
		if b := bucket(c.ns); b != c.bucket || floor(b) != c.floor {
			t.Errorf("%d ns: bucket %d, floor %d; want %d, %d", c.ns, b, floor(b), c.bucket, c.floor)
		}
	}
}

// Every duration lies in its bucket, and a bucket is at most 1/16 wide.
func TestHistogramIsFine(t *testing.T) {
	for ns := int64(1); ns < 1<<39; ns += ns/7 + 1 {
		b := bucket(ns)
		if ns < floor(b) || ns >= floor(b+1) {
			t.Fatalf("%d ns in bucket %d: %d to %d", ns, b, floor(b), floor(b+1))
		}
		if width := floor(b+1) - floor(b); width > 1 && width*16 > ns {
			t.Fatalf("bucket of %d ns is %d wide", ns, width)
		}
	}
}

// 1..100 us: the median is 50.x us, the 99th percentile 99.x us, within 1/16.
func TestHistogramQuantiles(t *testing.T) {
	var h, half Histogram
	for i := int64(1); i <= 100; i++ {
		h.Add(i * 1000)
		half.Add(i * 1000)
	}
	for _, c := range []struct {
		q    float64
		want int64
	}{{0.01, 2000}, {0.5, 51_000}, {0.99, 100_000}, {1, 100_000}} {
		if got := h.Quantile(c.q); got < c.want*15/16 || got > c.want*17/16 {
			t.Errorf("quantile %v is %d, want about %d", c.q, got, c.want)
		}
	}
	if h.Mean() != 50_500 || h.Max != 100_000 {
		t.Errorf("mean %d, max %d", h.Mean(), h.Max)
	}
	h.Merge(&half)
	if h.Count != 200 || h.Mean() != 50_500 || h.Quantile(0.5) != half.Quantile(0.5) {
		t.Errorf("merged: %d, mean %d", h.Count, h.Mean())
	}
	var none Histogram
	if none.Quantile(0.5) != 0 || none.Mean() != 0 {
		t.Error("an empty histogram has values")
	}
	none.Add(-5)
	if none.Buckets[0] != 1 || none.Sum != 0 {
		t.Error("a negative duration does not count as 0")
	}
}

// 13 in, 1 copied: 7 out, 3 without a link, 2 lost by the model, 1 for want of
// memory, 1 held.
func TestCloseAddsUp(t *testing.T) {
	b := Book{In: 13, Copies: 1, Out: 7, LinkDown: 3}
	b.Lost[link.Random], b.Lost[link.QueueFull] = 1, 1
	b.Engine.StoreFull = 1
	b.Engine.Dropped = 5 // before they were In
	b.Close(1, 100)
	if b.Broken != 0 || b.Held != 1 || b.Losses() != 2 || b.Engine.Loss() != 6 {
		t.Errorf("%+v", b)
	}
	b.Close(2, 100)
	if b.Broken != 1 {
		t.Error("a frame too many went unnoticed")
	}
}

func TestJudge(t *testing.T) {
	limits := DefaultLimits()
	book := func(f func(*Book)) Book {
		b := Book{In: 1000, Out: 1000}
		for range 1000 {
			b.Lateness.Add(10_000)
		}
		f(&b)
		return b
	}
	for _, c := range []struct {
		book   Book
		want   Verdict
		reason string
	}{
		{book(func(*Book) {}), Valid, ""},
		{Book{}, Valid, ""},
		{book(func(b *Book) { b.Lost[link.Random] = 500 }), Valid, ""},
		{book(func(b *Book) { b.Slips = 1 }), Valid, ""}, // 1 in 1000 is the limit
		{book(func(b *Book) { b.Slips = 2 }), Degraded, "2 of 1000 frames left more than 10ms late"},
		{book(func(b *Book) {
			for range 11 {
				b.Lateness.Add(5_000_000)
			}
		}), Degraded, "p99"},
		{book(func(b *Book) { b.Engine.RingFull, b.Engine.Dropped = 3, 1 }), Invalid, "lost 4 of 1004 frames (receive ring full)"},
		{book(func(b *Book) { b.LinkDown = 7 }), Degraded, "7 of 1000 frames found no link at the port to leave by"},
		{book(func(b *Book) { b.LinkDown, b.Engine.Dropped = 7, 1 }), Invalid, "lost 1 of 1001 frames"},
		{book(func(b *Book) { b.Broken = 1; b.Slips = 500 }), Invalid, "did not add up 1 times"},
	} {
		v, reason := c.book.Judge(limits)
		if v != c.want || !strings.Contains(reason, c.reason) || (reason == "") != (c.reason == "") {
			t.Errorf("%v %q; want %v %q", v, reason, c.want, c.reason)
		}
	}
}

func TestVerdictAsText(t *testing.T) {
	for v := Valid; v <= Invalid; v++ {
		b, err := v.MarshalText()
		var back Verdict
		if err != nil || back.UnmarshalText(b) != nil || back != v {
			t.Errorf("%v became %s, then %v", v, b, back)
		}
	}
	if new(Verdict).UnmarshalText([]byte("GOOD")) == nil {
		t.Error("GOOD is a verdict")
	}
}

func TestBookAllocatesNothing(t *testing.T) {
	var b Book
	if n := testing.AllocsPerRun(1000, func() { b.Lateness.Add(12345); b.Close(0, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
