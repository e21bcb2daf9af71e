// Package ncc is the network control centre of a DVB-RCS return link as a
// pure machine: requests in, slots of a superframe out. It knows no time but
// the number of the superframe, and draws nothing.
//
//	requests ──▶ Accept ──▶ accounts ──▶ Allocate(n) ──▶ grants
//	                        CRA, RBDC, VBDC, FCA, in that order
//
// Rates are bits per second, volumes bytes, both of burst payload.
package ncc

import (
	"cmp"
	"slices"

	"farlink/emulator/link"
)

// Category is what kind of capacity a request asks for.
type Category uint8

// The categories that are requested. CRA and FCA are not: the first is
// agreed at logon, the second is what is left over.
const (
	RBDC  Category = iota + 1 // a rate, replaces the last one
	VBDC                      // a volume, adds to the outstanding one
	AVBDC                     // a volume, replaces the outstanding one
)

// Request is one capacity request.
type Request struct {
	Category Category
	Value    int64 // RBDC: bit/s; VBDC and AVBDC: bytes of burst payload
}

// micro is the fixed point of fractions of a slot.
const micro = 1_000_000

// Terms are what is agreed with a terminal.
type Terms struct {
	Weight  int   // of its share when capacity is short, at least 1
	Limit   int   // slots a superframe at most
	Payload int   // bytes that a slot carries
	CRA     int64 // constant rate, bit/s
	RBDC    int64 // largest rate, bit/s
	VBDC    int64 // largest volume outstanding, bytes
	FCA     bool  // takes free capacity
}

// account is what the NCC knows of one terminal and owes it.
type account struct {
	Terms
	on     bool  // logged on
	cra    int64 // µslots a superframe
	rate   int64 // RBDC requested, bit/s
	timer  int   // superframes for which it still holds
	credit int64 // µslots of RBDC not yet given: the fractions
	volume int64 // VBDC outstanding, bytes
	life   int   // superframes until the volume is forgotten; 0: never

	due  int64 // µslots or slots wanted in the present step
	gets int64 // what squeeze leaves of it
	open bool
}

// Grant is one terminal's share of one superframe.
type Grant struct {
	First, Slots int32 // consecutive numbers
	Volume       int64 // bytes of it that count against the outstanding VBDC
}

// Centre is the NCC. Its settings are set before the first terminal.
type Centre struct {
	Superframe  link.Duration
	Slots       int  // in a superframe
	Fair        bool // when slots are short, by weight; else by weight × request
	Free        int  // slots of FCA per terminal and superframe; 0: none
	Timeout     int  // of RBDC, superframes; 0: never
	Persistence int  // of VBDC, superframes; 0: for ever

	accounts []account
	order    []int32 // scratch
}

// Add opens an account; terminals are numbered from 0.
func (c *Centre) Add(t Terms, on bool) {
	a := account{Terms: t, on: on}
	c.accounts = append(c.accounts, a)
	c.Tune(len(c.accounts)-1, t.Payload)
}

// Tune sets the bytes that a slot of the terminal carries from now on.
func (c *Centre) Tune(id, payload int) {
	a := &c.accounts[id]
	a.Payload = payload
	a.cra = c.slots(a.CRA, payload)
}

// Agree changes what is agreed with the terminal; what it is owed goes on within
// that.
func (c *Centre) Agree(id int, t Terms) {
	a := &c.accounts[id]
	a.Terms = t
	a.rate, a.volume = min(a.rate, t.RBDC), min(a.volume, t.VBDC)
	c.Tune(id, a.Payload)
}

// Admit logs the terminal on or off; logged off, nothing is owed to it.
func (c *Centre) Admit(id int, on bool) {
	a := &c.accounts[id]
	if a.on = on; !on {
		a.rate, a.volume, a.credit = 0, 0, 0
	}
}

// On reports whether the terminal is logged on.
func (c *Centre) On(id int) bool { return c.accounts[id].on }

// Outstanding returns what is owed to the terminal: the rate that holds and
// the volume not yet assigned.
func (c *Centre) Outstanding(id int) (rate, volume int64) {
	return c.accounts[id].rate, c.accounts[id].volume
}

// Inherit takes over what terminal was of the centre old is owed, within the
// terms of terminal id.
func (c *Centre) Inherit(id int, old *Centre, was int) {
	a, o := &c.accounts[id], &old.accounts[was]
	a.on, a.rate, a.timer, a.credit = o.on, min(o.rate, a.RBDC), o.timer, o.credit
	a.volume, a.life = min(o.volume, a.VBDC), o.life
}

// slots returns a rate (bit/s) in µslots a superframe.
func (c *Centre) slots(rate int64, payload int) int64 {
	return link.Ratio(uint64(rate), uint64(c.Superframe), 8000*uint64(payload))
}

// Accept books a request (EN 301 790 6.6.1, EN 301 545-2): RBDC replaces
// the last rate, VBDC adds to the outstanding volume, AVBDC replaces it.
func (c *Centre) Accept(id int, r Request) {
	a := &c.accounts[id]
	switch r.Category {
	case RBDC:
		a.rate, a.timer = min(r.Value, a.RBDC), c.Timeout
	case VBDC:
		a.volume, a.life = min(a.volume+r.Value, a.VBDC), c.Persistence
	case AVBDC:
		a.volume, a.life = min(r.Value, a.VBDC), c.Persistence
	}
}

// Allocate shares the slots of superframe n out: CRA, RBDC, VBDC, FCA in
// that order, and lays each terminal's slots side by side.
func (c *Centre) Allocate(n uint64, out []Grant) {
	clear(out)
	left := c.constant(n, c.Slots, out)
	left = c.rates(left, out)
	left = c.volumes(n, left, out)
	c.spare(n, left, out)
	first := int32(0)
	for i := range out {
		out[i].First = first
		first += out[i].Slots
	}
}

// constant gives CRA, used or not. The fraction of a slot comes by the
// number of the superframe, staggered by terminal, so that no state is kept.
func (c *Centre) constant(n uint64, left int, out []Grant) int {
	for i := range c.accounts {
		a := &c.accounts[i]
		if !a.on || a.cra == 0 {
			continue
		}
		broken := a.cra % micro
		stagger := uint64(i) * 618034 // micro over the golden ratio
		carried := (int64(n%micro)*broken + int64(stagger%micro)) % micro
		slots := a.cra/micro + (carried+broken)/micro
		k := min(int(slots), a.Limit, left)
		out[i].Slots = int32(k)
		left -= k
	}
	return left
}

// rates gives RBDC. Fractions of a slot become credit, and whole credits
// slots, highest first, while there are any. Unlike OpenSAND's, credit
// survives the next request: a terminal that asks anew each superframe would
// never see its fractions.
func (c *Centre) rates(left int, out []Grant) int {
	var want int64
	for i := range c.accounts {
		a := &c.accounts[i]
		a.due = 0
		if a.on && a.rate > 0 {
			a.due = min(c.slots(a.rate, a.Payload), int64(a.Limit-int(out[i].Slots))*micro)
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
		out[i].Slots += int32(k)
		left -= k
		if a.credit >= micro {
			rich++
		}
	}
	return c.redeem(left, rich, out)
}

// age counts the RBDC timer down: a rate holds for timeout superframes after
// its acceptance.
func (c *Centre) age(a *account) {
	if c.Timeout == 0 {
		return
	}
	if a.timer--; a.timer <= 0 {
		a.rate = 0
	}
}

// redeem turns the whole credits of so many rich accounts into slots.
func (c *Centre) redeem(left, rich int, out []Grant) int {
	c.order = c.order[:0]
	for i := range c.accounts {
		if a := &c.accounts[i]; a.due > 0 && a.credit >= micro && int(out[i].Slots) < a.Limit {
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
		out[i].Slots++
		left--
	}
	return left
}

// squeeze sets what each account gets of room, where all want more than room
// or not. Proportional: in proportion to weight × wanted (OpenSAND's rule,
// with weights). Fair: in proportion to weight. Nobody gets more than it
// wants; what one leaves, the others share.
func (c *Centre) squeeze(room, want int64) {
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
			if a.open && a.due <= link.Ratio(uint64(room), uint64(c.key(a)), uint64(keys)) {
				a.open, again = false, true
				filled += a.due
				freed += c.key(a)
			}
		}
		room, keys = room-filled, keys-freed
	}
	for i := range c.accounts {
		if a := &c.accounts[i]; a.open {
			a.gets = link.Ratio(uint64(room), uint64(c.key(a)), uint64(keys))
		}
	}
}

func (c *Centre) key(a *account) int64 {
	if c.Fair {
		return int64(a.Weight)
	}
	return int64(a.Weight) * a.due
}

// volumes gives VBDC: all that is outstanding if there is room, else by
// weight (fair) or to the largest backlogs first (OpenSAND's rule).
func (c *Centre) volumes(n uint64, left int, out []Grant) int {
	var want int64
	c.order = c.order[:0]
	for i := range c.accounts {
		a := &c.accounts[i]
		a.due = 0
		if !a.on || a.volume == 0 {
			continue
		}
		slots := (a.volume + int64(a.Payload) - 1) / int64(a.Payload)
		if a.due = min(slots, int64(a.Limit-int(out[i].Slots))); a.due > 0 {
			want += a.due
			c.order = append(c.order, int32(i))
		}
	}
	switch {
	case want == 0:
		return left
	case want > int64(left) && c.Fair:
		c.turn(n)
		left = c.shareVolumes(left, want, out)
	case want > int64(left):
		slices.SortStableFunc(c.order, func(i, j int32) int {
			a, b := &c.accounts[i], &c.accounts[j]
			return cmp.Compare(b.volume*int64(b.Weight), a.volume*int64(a.Weight))
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
func (c *Centre) shareVolumes(left int, want int64, out []Grant) int {
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
func (c *Centre) turn(n uint64) {
	k := int(n % uint64(len(c.order)))
	slices.Reverse(c.order[:k])
	slices.Reverse(c.order[k:])
	slices.Reverse(c.order)
}

// credit assigns k slots of VBDC: the outstanding volume falls by what they
// carry, never below zero.
func (c *Centre) credit(i, k int, out []Grant) int {
	a := &c.accounts[i]
	v := min(int64(k)*int64(a.Payload), a.volume)
	a.volume -= v
	out[i].Slots += int32(k)
	out[i].Volume += v
	return k
}

// forget lets volumes expire whose persistence is over.
func (c *Centre) forget() {
	if c.Persistence == 0 {
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

// spare hands what is left out in steps, beginning with another terminal each
// superframe.
func (c *Centre) spare(n uint64, left int, out []Grant) {
	if c.Free == 0 || len(out) == 0 {
		return
	}
	for j := 0; j < len(out) && left > 0; j++ {
		i := int((n + uint64(j)) % uint64(len(out)))
		a := &c.accounts[i]
		if a.on && a.FCA {
			k := min(c.Free, a.Limit-int(out[i].Slots), left)
			out[i].Slots += int32(k)
			left -= k
		}
	}
}
