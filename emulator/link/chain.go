package link

// Chain is stages in order, and itself a Stage. What one stage delivers the
// next is Put; what any of them loses leaves the chain at once. Places in it
// may be left empty: they cost nothing, and the stages behind keep their
// number.
type Chain struct {
	stages []Stage // those that are there
	hops   []hop   // one each
	out    Sink    // the driver's, of the present call
}

// hop is the Sink between a stage and what follows it.
type hop struct {
	next   Stage // nil at the end
	behind *hop  // the one behind next
	chain  *Chain
	index  uint8
}

// NewChain returns the places as one. What is nil is an empty place. A chain
// of no stages delivers at once.
func NewChain(places ...Stage) *Chain {
	c := &Chain{hops: make([]hop, 0, len(places))}
	for i, s := range places {
		if s != nil {
			c.stages = append(c.stages, s)
			c.hops = append(c.hops, hop{chain: c, index: uint8(i)})
		}
	}
	for i := 1; i < len(c.stages); i++ {
		c.hops[i-1].next, c.hops[i-1].behind = c.stages[i], &c.hops[i]
	}
	return c
}

func (h *hop) Deliver(p Packet) {
	if h.next == nil {
		h.chain.out.Deliver(p)
		return
	}
	h.next.Put(p, h.behind)
}

func (h *hop) Lose(p Packet, c Cause) {
	c.Stage = h.index
	h.chain.out.Lose(p, c)
}

func (h *hop) Copy(p Packet) { h.chain.out.Copy(p) }

// Put hands the packet to the first stage.
func (c *Chain) Put(p Packet, out Sink) {
	if len(c.stages) == 0 {
		out.Deliver(p)
		return
	}
	c.out = out
	c.stages[0].Put(p, &c.hops[0])
}

// Next returns the earliest instant at which a stage has something to do.
func (c *Chain) Next() Time {
	next := Never
	for _, s := range c.stages {
		next = min(next, s.Next())
	}
	return next
}

// Run runs the stages in order, so that what one delivers by now the next
// has before it runs to the same instant.
func (c *Chain) Run(now Time, out Sink) {
	c.out = out
	for i, s := range c.stages {
		if s.Next() <= now {
			s.Run(now, &c.hops[i])
		}
	}
}

// Stages returns the stages in order, without the empty places; the slice
// must not be changed.
func (c *Chain) Stages() []Stage { return c.stages }

// Held returns how many packets and bytes are inside.
func (c *Chain) Held() (packets, bytes int) {
	for _, s := range c.stages {
		if h, ok := s.(Holder); ok {
			n, b := h.Held()
			packets, bytes = packets+n, bytes+b
		}
	}
	return packets, bytes
}
