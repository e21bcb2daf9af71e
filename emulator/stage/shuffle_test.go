package stage

import (
	"math"
	"slices"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// TestReorder: every 4th packet (3, 7, …) of a row 1 ms apart steps aside. With
// extent 2 it comes back right behind the second that went by, at its time;
// with none, or too slow a row, when its delay is over.
func TestReorder(t *testing.T) {
	for _, c := range []struct {
		name   string
		config ReorderConfig
		order  []uint64
		at3    link.Time // when packet 3 is delivered
	}{
		{"extent 2", ReorderConfig{Every: 4, Extent: 2, Delay: link.Second}, []uint64{0, 1, 2, 4, 5, 3, 6, 8, 9, 7}, 5 * ms},
		{"extent 1", ReorderConfig{Every: 4, Extent: 1, Delay: link.Second}, []uint64{0, 1, 2, 4, 3, 5, 6, 8, 7, 9}, 4 * ms},
		{"2.5 ms", ReorderConfig{Every: 4, Delay: 2500 * link.Microsecond}, []uint64{0, 1, 2, 4, 5, 3, 6, 8, 9, 7}, 5500000},
		{"0.5 ms: nobody goes by", ReorderConfig{Every: 4, Extent: 2, Delay: 500 * link.Microsecond}, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 3500000},
	} {
		log := linktest.Through(NewReorder(c.config, draw("r")), linktest.Paced(10, 100, 0, link.Millisecond))
		if got := log.Seqs(); !slices.Equal(got, c.order) {
			t.Errorf("%s: order %v, want %v", c.name, got, c.order)
		}
		for _, p := range log.Delivered() {
			if p.Seq == 3 && p.When != c.at3 {
				t.Errorf("%s: packet 3 at %d, want %d", c.name, p.When, c.at3)
			}
			if marked := p.Mark&link.Reordered != 0; marked != (p.Seq%4 == 3) {
				t.Errorf("%s: packet %d marked %v", c.name, p.Seq, marked)
			}
		}
	}
}

// TestReorderShare: 5 % step aside, each is passed by 3, so its displacement
// is 3 packets unless others stand aside with it.
func TestReorderShare(t *testing.T) {
	const n = 100_000
	log := linktest.Through(NewReorder(ReorderConfig{Probability: 0.05, Extent: 3, Delay: link.Second}, draw("r")), linktest.Paced(n, 100, 0, link.Millisecond))
	aside := 0
	for i, p := range log.Delivered() {
		if p.Mark&link.Reordered != 0 {
			aside++
		}
		if d := i - int(p.Seq); d > 3 || d < -7 {
			t.Fatalf("packet %d in place %d: farther than its extent", p.Seq, i)
		}
	}
	if got := float64(aside) / n; math.Abs(got-0.05) > 4*math.Sqrt(0.05*0.95/n) {
		t.Errorf("%.4f stepped aside, want 0.05", got)
	}
}

// TestDuplicate: each copy is announced, marked, and comes when it should.
func TestDuplicate(t *testing.T) {
	const n = 50_000
	for _, delay := range []link.Duration{0, 1500 * link.Microsecond} {
		log := linktest.Through(NewDuplicate(DuplicateConfig{Probability: 0.1, Delay: delay}, draw("d")), linktest.Paced(n, 100, 0, link.Millisecond))
		copies := 0
		for _, p := range log.Delivered() {
			want := link.Time(p.Seq) * ms
			if p.Mark&link.Duplicate != 0 {
				copies++
				want += link.Time(delay)
			}
			if p.When != want {
				t.Fatalf("packet %d (mark %d) at %d, want %d", p.Seq, p.Mark, p.When, want)
			}
		}
		if copies != log.Copies || len(log.Fates) != n+copies {
			t.Errorf("%d copies, %d announced, %d fates", copies, log.Copies, len(log.Fates))
		}
		if got := float64(copies) / n; math.Abs(got-0.1) > 4*math.Sqrt(0.1*0.9/n) {
			t.Errorf("%.4f doubled, want 0.1", got)
		}
	}
}

// TestReorderHoldsMany: what stands aside is many when all do; nothing is
// lost when the ring grows.
func TestReorderHoldsMany(t *testing.T) {
	r := NewReorder(ReorderConfig{Probability: 1, Extent: 1, Delay: link.Second}, draw("r"))
	var log linktest.Log
	for _, p := range linktest.Paced(500, 100, 0, link.Millisecond) {
		r.Put(p, &log)
	}
	if n, bytes := r.Held(); n != 500 || bytes != 50_000 {
		t.Errorf("%d packets, %d B stand aside, want 500 and 50000", n, bytes)
	}
	r.Run(10_000*ms, &log)
	linktest.Ordered(t, &log)
	if len(log.Fates) != 500 {
		t.Errorf("%d of 500 came back", len(log.Fates))
	}
}

// TestReorderRing: the ring of turns grows while it stands askew, and keeps
// them in order: what stepped aside at count k goes at k+5.
func TestReorderRing(t *testing.T) {
	r := NewReorder(ReorderConfig{Extent: 5, Delay: link.Second}, draw("r"))
	for range 10 {
		r.hold(link.Packet{})
		r.release()
	}
	for k := range uint64(40) {
		r.passed = k
		r.hold(link.Packet{Seq: k})
	}
	for k := range uint64(40) {
		if got := r.turns[r.first]; got != k+5 {
			t.Fatalf("packet %d goes at %d, want %d", k, got, k+5)
		}
		r.release()
	}
}
