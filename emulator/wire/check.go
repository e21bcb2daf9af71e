package wire

import "farlink/emulator/link"

// checker holds the links of a way against what they promise. What it sees
// stands in shared memory, in v.
type checker struct {
	em    Checked // nil: nothing is promised
	way   link.Way
	v     []checkView // of the links that are checked
	links [maxChecks]check
}

// check is what the loop knows of one link.
type check struct {
	promise int64 // least delay of a frame, ns
	pace    pacer
	known   bool  // base is
	base    int64 // what the sides of the balance differ by: frames of before
}

// begin takes up what the emulator promises; what was seen of the one before
// is forgotten.
func (c *checker) begin(em Emulator, way link.Way, v *wayView) {
	*c = checker{way: way}
	n := 0
	if c.em, _ = em.(Checked); c.em != nil {
		n = min(c.em.Size(), maxChecks)
	}
	v.Checks = int64(n)
	c.v = v.Check[:n]
	for i := range c.v {
		c.v[i] = checkView{}
		c.links[i].promise = int64(c.em.Promise(way, i))
		_, held := c.em.Account(way, i)
		c.v[i].Before = int64(held)
	}
}

// left counts a frame that leaves.
func (c *checker) left(p link.Packet) {
	if i := p.Mark.Link(); i < len(c.v) {
		c.v[i].Out++
		c.links[i].pace.left(p)
	}
}

// discarded counts a frame that found no link to leave by.
func (c *checker) discarded(p link.Packet) {
	if i := p.Mark.Link(); i < len(c.v) {
		c.v[i].Out++
		c.links[i].pace.pause()
	}
}

func (c *checker) lost(p link.Packet, r link.Reason) {
	if i := p.Mark.Link(); i < len(c.v) {
		c.v[i].Lost[r]++
	}
}

func (c *checker) copied(p link.Packet) {
	if i := p.Mark.Link(); i < len(c.v) {
		c.v[i].Copies++
	}
}

// timed counts a frame of link i that was inside for ns.
func (c *checker) timed(i int, ns int64) {
	if i >= len(c.v) {
		return
	}
	v := &c.v[i]
	if v.Timed == 0 || ns < v.LeastNs {
		v.LeastNs = ns
	}
	v.Timed++
	if ns < c.links[i].promise {
		v.Early++
	}
}

// judge looks at all links; settled says that no frame stands between the
// emulator and the port.
func (c *checker) judge(now link.Time, settled bool) {
	for i := range c.v {
		c.links[i].pace.judge(&c.v[i], c.em.Pace(c.way, i), now)
		if settled {
			c.balance(i)
		}
	}
}

// balance counts up the frames of link i: what was offered is what left, was
// lost, or is held. What is left over stems from before the change, and must
// stay as it is.
func (c *checker) balance(i int) {
	offered, held := c.em.Account(c.way, i)
	v, k := &c.v[i], &c.links[i]
	v.Held = int64(held)
	over := int64(offered) - int64(held) - v.Out + v.Copies
	for _, n := range v.Lost {
		over -= n
	}
	if !k.known {
		k.known, k.base = true, over
		return
	}
	v.Balanced++
	if over != k.base {
		v.Uneven++
		k.base = over // once is enough said
	}
}
