// Package contention is random access: slots that anybody may use, bursts that
// meet in them, and which of them get through.
//
//	slot      0      1      2      3
//	burst a   █─────────────█
//	burst b                 █──────█
//	burst c          █─────────────█
//
// In slotted ALOHA what meets another burst is lost. In CRDSA (DVB-RCS2, EN 301
// 545-2) a and c, each alone in one slot, are received and cancelled in their
// others, where b is then alone and is received too.
//
// Units: slots of a block.
package contention

import "math"

// Block is a block of slots that anybody may use. Each burst is sent
// in one slot (slotted ALOHA) or in several (CRDSA: what is received in one
// slot is cancelled in the others). Equal powers, no capture.
type Block struct {
	Slots  int // in a block, at most 65535
	Copies int // of each burst, 1..4
	count  []uint16
	sum    []uint32 // XOR of the users of a slot
	ready  []uint16
}

// Place writes the slots of the burst whose draw is bits to where, which has
// Copies places: different slots, uniform.
func (c *Block) Place(bits uint64, where []uint16) {
	for j := range where {
		// Uniform among the slots not taken, then past the taken ones.
		s := uint16((bits & 0xffff) * uint64(c.Slots-j) >> 16)
		bits >>= 16
		k := 0
		for ; k < j && s >= where[k]; k++ {
			s++
		}
		copy(where[k+1:j+1], where[k:j]) // kept sorted
		where[k] = s
	}
}

// Resolve tells which bursts get through. where holds the Copies slots of
// each burst, ok has a place for each.
func (c *Block) Resolve(where []uint16, ok []bool) {
	c.reset()
	for i := range ok {
		ok[i] = false
		for _, s := range where[i*c.Copies : (i+1)*c.Copies] {
			c.count[s]++
			c.sum[s] ^= uint32(i)
		}
	}
	for s, n := range c.count {
		if n == 1 {
			c.ready = append(c.ready, uint16(s))
		}
	}
	for len(c.ready) > 0 {
		s := c.ready[len(c.ready)-1]
		c.ready = c.ready[:len(c.ready)-1]
		if c.count[s] == 1 {
			ok[c.sum[s]] = true
			c.cancel(int(c.sum[s]), where)
		}
	}
}

func (c *Block) reset() {
	if len(c.count) != c.Slots {
		c.count, c.sum = make([]uint16, c.Slots), make([]uint32, c.Slots)
		c.ready = make([]uint16, 0, c.Slots)
	}
	clear(c.count)
	clear(c.sum)
}

// cancel takes burst i, received, out of all its slots.
func (c *Block) cancel(i int, where []uint16) {
	for _, s := range where[i*c.Copies : (i+1)*c.Copies] {
		c.sum[s] ^= uint32(i)
		if c.count[s]--; c.count[s] == 1 {
			c.ready = append(c.ready, s)
		}
	}
}

// Alone returns the probability that one of n terminals, each choosing one
// of the slots, has its slot for itself: (1-1/slots)^(n-1).
func Alone(n, slots int) float64 { return math.Pow(1-1/float64(slots), float64(n-1)) }
