package contention

import (
	"math"
	"testing"

	"farlink/emulator/link"
)

// block simulates one block of n bursts and returns how many got through.
func block(c *Block, d link.Draw, n int, frame uint64) int {
	where, ok := make([]uint16, n*c.Copies), make([]bool, n)
	for i := range n {
		c.Place(d.Uint64(uint64(i)<<44^frame), where[i*c.Copies:(i+1)*c.Copies])
	}
	c.Resolve(where, ok)
	through := 0
	for _, o := range ok {
		if o {
			through++
		}
	}
	return through
}

// RCS-12: (1-1/M)^(n-1), and 20000 blocks agree within 4 sigma.
func TestSlottedALOHAFinite(t *testing.T) {
	for _, v := range []struct {
		n, slots int
		want     float64
	}{{50, 100, 0.6111}, {5, 8, 0.5862}, {2, 8, 0.8750}} {
		if p := Alone(v.n, v.slots); math.Abs(p-v.want) > 0.00005 {
			t.Errorf("Alone(%d, %d) = %.4f, want %.4f", v.n, v.slots, p, v.want)
		}
		c := &Block{Slots: v.slots, Copies: 1}
		through, blocks := 0, 20000
		for f := range blocks {
			through += block(c, link.NewDraw(1, "csc"), v.n, uint64(f))
		}
		got := float64(through) / float64(blocks*v.n)
		// Successes in a block are correlated: bound by the block's.
		if sigma := math.Sqrt(v.want * (1 - v.want) / float64(blocks)); math.Abs(got-v.want) > 4*sigma {
			t.Errorf("%d in %d slots: %.4f got through, want %.4f ± %.4f", v.n, v.slots, got, v.want, 4*sigma)
		}
	}
}

// The table of the reference sheet, 2.8: M = 100, G·M bursts in every block (its ALOHA
// column is G·0.99^(100G-1), not G·exp(-G)). Its own statistical error is
// about 1 %, near the cliff more.
func TestCRDSA(t *testing.T) {
	for _, v := range []struct {
		load   float64
		copies int
		want   float64
	}{
		{0.1, 1, 0.0915}, {0.3, 1, 0.224}, {0.5, 1, 0.306}, {0.6, 1, 0.332}, {0.65, 1, 0.343}, {0.7, 1, 0.349}, {0.8, 1, 0.362}, {1.0, 1, 0.367},
		{0.1, 2, 0.0998}, {0.3, 2, 0.296}, {0.5, 2, 0.474}, {0.6, 2, 0.528}, {0.65, 2, 0.531}, {0.7, 2, 0.514}, {0.8, 2, 0.482}, {1.0, 2, 0.366},
		{0.1, 3, 0.100}, {0.3, 3, 0.300}, {0.5, 3, 0.500}, {0.6, 3, 0.599}, {0.65, 3, 0.647}, {0.7, 3, 0.676}, {0.8, 3, 0.560}, {1.0, 3, 0.213},
		{0.1, 4, 0.100}, {0.3, 4, 0.300}, {0.5, 4, 0.500}, {0.6, 4, 0.600}, {0.65, 4, 0.643}, {0.7, 4, 0.629}, {0.8, 4, 0.248}, {1.0, 4, 0.089},
	} {
		c, d := &Block{Slots: 100, Copies: v.copies}, link.NewDraw(7, "ra")
		through, blocks := 0, 2000
		for f := range uint64(2000) {
			through += block(c, d, int(100*v.load+0.5), f)
		}
		got := float64(through) / float64(blocks*100)
		if math.Abs(got-v.want) > 0.02*v.want+0.008 {
			t.Errorf("G %.2f, %d copies: S = %.4f, want %.4f", v.load, v.copies, got, v.want)
		}
	}
}

func TestPlaceDistinct(t *testing.T) {
	c, d := &Block{Slots: 5, Copies: 4}, link.NewDraw(3, "place")
	hits, where := make([]int, 5), make([]uint16, 4)
	for i := range uint64(10000) {
		c.Place(d.Uint64(i), where)
		for j, s := range where {
			if j > 0 && s <= where[j-1] || int(s) >= 5 {
				t.Fatalf("slots %v: want four different ones of five", where)
			}
			hits[s]++
		}
	}
	for s, n := range hits { // each with probability 4/5; sigma is 40
		if n < 7840 || n > 8160 {
			t.Errorf("slot %d taken %d times in 10000, want 8000", s, n)
		}
	}
}
