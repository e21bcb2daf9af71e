package dama

import (
	"cmp"
	"slices"

	"farlink/emulator/link"
)

// micro is the fixed point of fractions of a slot.
const micro = 1_000_000

// account is what the NCC knows of one terminal and owes it.
type account struct {
	on      bool  // logged on
	weight  int64 // of its share when capacity is short, at least 1
	limit   int   // slots a superframe at most
	payload int64 // bytes that a slot carries
	cra     int64 // µslots a superframe
	fca     bool
	maxRate int64 // bit/s of RBDC
	maxVol  int64 // bytes of VBDC outstanding

	rate   int64 // RBDC requested, bit/s
	timer  int   // superframes for which it still holds
	credit int64 // µslots of RBDC not yet given: the fractions
	volume int64 // VBDC outstanding, bytes
	life   int   // superframes until the volume is forgotten; 0: never

	due  int64 // µslots or slots wanted in the present step
	gets int64 // what squeeze leaves of it
	open bool
}

// grant is one terminal's share of one superframe.
type grant struct {
	first, slots int32
	volume       int64 // bytes of it that count against the outstanding VBDC
}

// ncc allocates. It is a function of the requests that reached it: no time,
// no draws.
type ncc struct {
	superframe  link.Duration
	slots       int
	fair        bool // else proportional
	fcaStep     int  // slots per terminal and superframe
	timeout     int  // of RBDC, superframes; 0: none
	persistence int  // of VBDC, superframes; 0: none
	accounts    []account
	order       []int32 // scratch
}

// slotRate returns rate (bit/s) in µslots a superframe.
func slotRate(rate int64, superframe link.Duration, payload int64) int64 {
	return muldiv(rate, int64(superframe), 8000*payload)
}

// accept books a request (EN 301 790 6.6.1, EN 301 545-2): RBDC replaces
// the last rate, VBDC adds to the outstanding volume, AVBDC replaces it.
func (c *ncc) accept(id int, r Request) {
	a := &c.accounts[id]
	switch r.Category {
	case RBDC:
		a.rate, a.timer = min(r.Value, a.maxRate), c.timeout
	case VBDC:
		a.volume, a.life = min(a.volume+r.Value, a.maxVol), c.persistence
	case AVBDC:
		a.volume, a.life = min(r.Value, a.maxVol), c.persistence
	}
}

// allocate shares the slots of superframe n out: CRA, RBDC, VBDC, FCA in
// that order, and lays each terminal's slots side by side.
func (c *ncc) allocate(n uint64, out []grant) {
	clear(out)
	left := c.constant(n, c.slots, out)
	left = c.rates(left, out)
	left = c.volumes(n, left, out)
	c.free(n, left, out)
	first := int32(0)
	for i := range out {
		out[i].first = first
		first += out[i].slots
	}
}

// constant gives CRA, used or not. The fraction of a slot comes by the
// number of the superframe, staggered by terminal, so that no state is kept.
func (c *ncc) constant(n uint64, left int, out []grant) int {
	for i := range c.accounts {
		a := &c.accounts[i]
		if !a.on || a.cra == 0 {
			continue
		}
		broken := a.cra % micro
		stagger := uint64(i) * 618034 // micro over the golden ratio
		carried := (int64(n%micro)*broken + int64(stagger%micro)) % micro
		slots := a.cra/micro + (carried+broken)/micro
		k := min(int(slots), a.limit, left)
		out[i].slots = int32(k)
		left -= k
	}
	return left
}

// rates gives RBDC. Fractions of a slot become credit, and whole credits
// slots, highest first, while there are any. Unlike OpenSAND's, credit
// survives the next request: a terminal that asks anew each superframe would
// never see its fractions.
func (c *ncc) rates(left int, out []grant) int {
	var want int64
	for i := range c.accounts {
		a := &c.accounts[i]
		a.due = 0
		if a.on && a.rate > 0 {
			a.due = min(slotRate(a.rate, c.superframe, a.payload), int64(a.limit-int(out[i].slots))*micro)
			want += a.due
			c.age(a)
		}
	}
	if want == 0 {
		return left
	}
	c.squeeze(int64(left)*micro, want)
	rich := 0
	for i := range c.accounts {
		a := &c.accounts[i]
		if a.due == 0 {
			continue
		}
		k := int(a.gets / micro)
		a.credit = min(a.credit+a.gets%micro, 2*micro)
		out[i].slots += int32(k)
		left -= k
		if a.credit >= micro {
			rich++
		}
	}
	return c.redeem(left, rich, out)
}

// age counts the RBDC timer down: a rate holds for timeout superframes after
// its acceptance.
func (c *ncc) age(a *account) {
	if c.timeout == 0 {
		return
	}
	if a.timer--; a.timer <= 0 {
		a.rate = 0
	}
}

// redeem turns the whole credits of so many rich accounts into slots.
func (c *ncc) redeem(left, rich int, out []grant) int {
	c.order = c.order[:0]
	for i := range c.accounts {
		if a := &c.accounts[i]; a.due > 0 && a.credit >= micro && int(out[i].slots) < a.limit {
			c.order = append(c.order, int32(i))
		}
	}
	if rich > left {
		slices.SortStableFunc(c.order, func(i, j int32) int {
			return cmp.Compare(c.accounts[j].credit, c.accounts[i].credit)
		})
	}
	for _, i := range c.order[:min(left, len(c.order))] {
		c.accounts[i].credit -= micro
		out[i].slots++
		left--
	}
	return left
}

// squeeze sets what each account gets of room, where all want more than room
// or not. Proportional: in proportion to weight × wanted (OpenSAND's rule,
// with weights). Fair: in proportion to weight. Nobody gets more than it
// wants; what one leaves, the others share.
func (c *ncc) squeeze(room, want int64) {
	var keys int64
	for i := range c.accounts {
		a := &c.accounts[i]
		a.gets, a.open = a.due, a.due > 0 && want > room
		if a.open {
			keys += c.key(a)
		}
	}
	if want <= room {
		return
	}
	for again := true; again && keys > 0; {
		again = false
		filled, freed := int64(0), int64(0)
		for i := range c.accounts {
			a := &c.accounts[i]
			if a.open && a.due <= muldiv(room, c.key(a), keys) {
				a.open, again = false, true
				filled += a.due
				freed += c.key(a)
			}
		}
		room, keys = room-filled, keys-freed
	}
	for i := range c.accounts {
		if a := &c.accounts[i]; a.open {
			a.gets = muldiv(room, c.key(a), keys)
		}
	}
}

func (c *ncc) key(a *account) int64 {
	if c.fair {
		return a.weight
	}
	return a.weight * a.due
}

// volumes gives VBDC: all that is outstanding if there is room, else by
// weight (fair) or to the largest backlogs first (OpenSAND's rule).
func (c *ncc) volumes(n uint64, left int, out []grant) int {
	var want int64
	c.order = c.order[:0]
	for i := range c.accounts {
		a := &c.accounts[i]
		a.due = 0
		if !a.on || a.volume == 0 {
			continue
		}
		slots := (a.volume + a.payload - 1) / a.payload
		if a.due = min(slots, int64(a.limit-int(out[i].slots))); a.due > 0 {
			want += a.due
			c.order = append(c.order, int32(i))
		}
	}
	switch {
	case want == 0:
		return left
	case want > int64(left) && c.fair:
		c.turn(n)
		left = c.shareVolumes(left, want, out)
	case want > int64(left):
		slices.SortStableFunc(c.order, func(i, j int32) int {
			a, b := &c.accounts[i], &c.accounts[j]
			return cmp.Compare(b.volume*b.weight, a.volume*a.weight)
		})
	}
	for _, i := range c.order {
		left -= c.credit(int(i), min(int(c.accounts[i].due), left), out)
	}
	c.forget()
	return left
}

// shareVolumes gives each its fair number of whole slots and leaves in due
// what it still wants.
func (c *ncc) shareVolumes(left int, want int64, out []grant) int {
	for _, i := range c.order {
		c.accounts[i].due *= micro
	}
	c.squeeze(int64(left)*micro, want*micro)
	for _, i := range c.order {
		a := &c.accounts[i]
		k := int(a.gets / micro)
		a.due = min(a.due/micro-int64(k), 1)
		left -= c.credit(int(i), k, out)
	}
	return left
}

// turn rotates the order by the number of the superframe, so that the odd
// slots go round.
func (c *ncc) turn(n uint64) {
	k := int(n % uint64(len(c.order)))
	slices.Reverse(c.order[:k])
	slices.Reverse(c.order[k:])
	slices.Reverse(c.order)
}

// credit assigns k slots of VBDC: the outstanding volume falls by what they
// carry, never below zero.
func (c *ncc) credit(i, k int, out []grant) int {
	a := &c.accounts[i]
	v := min(int64(k)*a.payload, a.volume)
	a.volume -= v
	out[i].slots += int32(k)
	out[i].volume += v
	return k
}

// forget lets volumes expire whose persistence is over.
func (c *ncc) forget() {
	if c.persistence == 0 {
		return
	}
	for i := range c.accounts {
		a := &c.accounts[i]
		if a.volume == 0 {
			continue
		}
		if a.life--; a.life <= 0 {
			a.volume = 0
		}
	}
}

// free hands what is left out in steps, beginning with another terminal each
// superframe.
func (c *ncc) free(n uint64, left int, out []grant) {
	if c.fcaStep == 0 || len(out) == 0 {
		return
	}
	for j := 0; j < len(out) && left > 0; j++ {
		i := int((n + uint64(j)) % uint64(len(out)))
		a := &c.accounts[i]
		if a.on && a.fca {
			k := min(c.fcaStep, a.limit-int(out[i].slots), left)
			out[i].slots += int32(k)
			left -= k
		}
	}
}
