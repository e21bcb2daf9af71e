package ncc

import (
	"testing"

	"farlink/emulator/link"
)

// tenKilobit makes one slot of 125 bytes a superframe of 100 ms 10 kbit/s.
func tenKilobit(slots, terminals int) *Centre {
	c := &Centre{Superframe: 100 * link.Millisecond, Slots: slots}
	for range terminals {
		c.Add(Terms{Weight: 1, Limit: slots, Payload: 125, RBDC: 1e9, VBDC: 1e9}, true)
	}
	return c
}

// next allocates the superframe n and returns the slots.
func (c *Centre) next(n uint64) []int32 {
	out := make([]Grant, len(c.accounts))
	c.Allocate(n, out)
	slots := make([]int32, len(out))
	for i := range out {
		slots[i] = out[i].Slots
	}
	return slots
}

func equal(t *testing.T, what string, got []int32, want ...int32) {
	t.Helper()
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

// RCS-2: 512 kbit/s at 100 ms are 51.2 slots; held for two superframes.
func TestRBDCExpires(t *testing.T) {
	c := tenKilobit(100, 1)
	c.Timeout = 2
	c.Accept(0, Request{RBDC, 512_000})
	equal(t, "first superframe", c.next(0), 51)
	equal(t, "second superframe", c.next(1), 51)
	equal(t, "third superframe", c.next(2), 0)
}

// RCS-3: 128 replaces 512.
func TestRBDCReplaces(t *testing.T) {
	c := tenKilobit(100, 1)
	c.Timeout = 5
	c.Accept(0, Request{RBDC, 510_000})
	equal(t, "510 kbit/s", c.next(0), 51)
	c.Accept(0, Request{RBDC, 120_000})
	equal(t, "120 kbit/s", c.next(1), 12)
}

// RCS-4: VBDC 10 then 5 slots' worth, 8 assigned: 7 outstanding; AVBDC 3: 3.
func TestVBDCAddsAVBDCReplaces(t *testing.T) {
	c := tenKilobit(8, 1)
	c.Accept(0, Request{VBDC, 10 * 125})
	c.Accept(0, Request{VBDC, 5 * 125})
	if v := c.accounts[0].volume; v != 15*125 {
		t.Fatalf("outstanding %d, want 1875", v)
	}
	equal(t, "assignment", c.next(0), 8)
	if v := c.accounts[0].volume; v != 7*125 {
		t.Fatalf("outstanding %d, want 875", v)
	}
	c.Accept(0, Request{AVBDC, 3 * 125})
	if v := c.accounts[0].volume; v != 3*125 {
		t.Fatalf("outstanding %d after AVBDC, want 375", v)
	}
}

func (c *Centre) ask(rates ...int64) {
	for i, r := range rates {
		c.Accept(i, Request{RBDC, r * 10_000})
	}
}

// RCS-5: 100 slots for 80/60/40: share 1.8, 44/33/22, one spare, fractions
// 0.444/0.333/0.222 kept as credit. Held on: after three superframes the
// first has 1.333 of credit and takes the spare slot.
func TestRBDCShare(t *testing.T) {
	c := tenKilobit(100, 3)
	c.ask(80, 60, 40)
	equal(t, "first", c.next(0), 44, 33, 22)
	for i, want := range []int64{444_444, 333_333, 222_222} {
		if got := c.accounts[i].credit; got != want {
			t.Errorf("credit %d: %d µslots, want %d", i, got, want)
		}
	}
	equal(t, "second", c.next(1), 44, 33, 22)
	equal(t, "third", c.next(2), 45, 33, 22)
	// 9 superframes: 400/300/200 slots exactly, less what is still credit.
	sum := []int32{133, 99, 66}
	for n := range uint64(87) {
		for i, s := range c.next(3 + n) {
			sum[i] += s
		}
	}
	for i, want := range []int32{4000, 3000, 2000} {
		if sum[i] < want-1 || sum[i] > want {
			t.Errorf("90 superframes gave terminal %d %d slots, want %d", i, sum[i], want)
		}
	}
}

// RCS-6: CRA 10 for one leaves 90: 40/30/20.
func TestCRABeforeRBDC(t *testing.T) {
	c := tenKilobit(100, 4)
	c.accounts[3].cra = 10 * micro
	c.ask(80, 60, 40)
	equal(t, "slots", c.next(0), 40, 30, 20, 10)
}

// RCS-7: 20 slots for 15/12/3: the largest first, the rest stays.
func TestVBDCLargestFirst(t *testing.T) {
	c := tenKilobit(20, 3)
	for i, v := range []int64{15, 12, 3} {
		c.Accept(i, Request{VBDC, v * 125})
	}
	equal(t, "first", c.next(0), 15, 5, 0)
	for i, want := range []int64{0, 7, 3} {
		if got := c.accounts[i].volume; got != want*125 {
			t.Errorf("outstanding %d: %d, want %d", i, got, want*125)
		}
	}
	equal(t, "second", c.next(1), 0, 7, 3)
}

// RCS-8: 10 slots in steps of 4: 4/4/2; the next superframe begins with the
// next terminal.
func TestFCA(t *testing.T) {
	c := tenKilobit(10, 3)
	c.Free = 4
	for i := range c.accounts {
		c.accounts[i].FCA = true
	}
	equal(t, "first", c.next(0), 4, 4, 2)
	equal(t, "second", c.next(1), 2, 4, 4)
}

// Weights 3:1, both asking for all: 75/25 by either rule; who asks for less
// than its share leaves the rest to the other.
func TestWeights(t *testing.T) {
	for _, fair := range []bool{false, true} {
		c := tenKilobit(100, 2)
		c.Fair = fair
		c.accounts[0].Weight = 3
		c.ask(100, 100)
		equal(t, "rates", c.next(0), 75, 25)
		c.accounts[0].credit, c.accounts[1].credit = 0, 0
		c.ask(10, 100)
		if fair {
			equal(t, "rates", c.next(1), 10, 90)
		}
	}
	c := tenKilobit(100, 2)
	c.Fair = true
	c.accounts[0].Weight = 3
	c.Accept(0, Request{VBDC, 1000 * 125})
	c.Accept(1, Request{VBDC, 1000 * 125})
	equal(t, "volumes", c.next(0), 75, 25)
}

// A volume whose persistence is over is forgotten.
func TestVBDCPersistence(t *testing.T) {
	c := tenKilobit(1, 1)
	c.Persistence = 3
	c.Accept(0, Request{VBDC, 10 * 125})
	for n, want := range []int32{1, 1, 1, 0} {
		equal(t, "slots", c.next(uint64(n)), want)
	}
}

// 56.755 kbit/s of CRA in slots of 25 kbit/s: 2.27 a superframe, 227 in 100,
// whatever superframe one begins with.
func TestCRAFraction(t *testing.T) {
	c := tenKilobit(100, 2)
	c.accounts[1].cra = 2_270_000
	for _, begin := range []uint64{0, 77, 999_950} {
		sum := 0
		for n := range uint64(100) {
			sum += int(c.next(begin + n)[1])
		}
		if sum != 227 {
			t.Errorf("from %d on: %d slots in 100 superframes, want 227", begin, sum)
		}
	}
}
