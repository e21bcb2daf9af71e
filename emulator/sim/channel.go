package sim

import "farlink/emulator/link"

// Channel is an emulator of a stage a way: what a recorded channel is
// replayed on, and a link for tests.
type Channel struct {
	// Ways are the stages, often chains; a way without one is a wire.
	Ways [2]link.Stage
	// Names are what the stages of each way are called in results.
	Names [2][]string

	seq [2]uint64
}

// Arrive numbers the packet and puts it in.
func (c *Channel) Arrive(w link.Way, when link.Time, ref uint32, frame []byte, out link.Sink) {
	p := link.Packet{When: when, Seq: c.seq[w], Ref: ref, Body: link.Body{Size: uint16(len(frame))}}
	c.seq[w]++
	if c.Ways[w] == nil {
		out.Deliver(p)
		return
	}
	c.Ways[w].Put(p, out)
}

// Next returns when the stage of the way is due.
func (c *Channel) Next(w link.Way) link.Time {
	if c.Ways[w] == nil {
		return link.Never
	}
	return c.Ways[w].Next()
}

// Run runs the stage of the way.
func (c *Channel) Run(w link.Way, now link.Time, out link.Sink) {
	if c.Ways[w] != nil {
		c.Ways[w].Run(now, out)
	}
}

// Finish flips a bit of a corrupted frame behind its Ethernet header: which
// one, the packet's number says.
func (c *Channel) Finish(p link.Packet, _ link.Way, frame []byte) {
	const header = 14
	if p.Mark&link.Corrupted != 0 && len(frame) > header {
		bit := link.NewDraw(0, "corrupt").Uint64(p.Seq) % uint64(8*(len(frame)-header))
		frame[header+bit/8] ^= 1 << (bit % 8)
	}
}

// Held returns what is inside the way.
func (c *Channel) Held(w link.Way) (packets, bytes int) {
	if h, ok := c.Ways[w].(interface{ Held() (int, int) }); ok {
		return h.Held()
	}
	return 0, 0
}

// Probes yields the figures of the way's stages.
func (c *Channel) Probes(w link.Way, now link.Time, yield func(int, link.Probe)) {
	stages := []link.Stage{c.Ways[w]}
	if chain, ok := c.Ways[w].(*link.Chain); ok {
		stages = chain.Stages()
	}
	for _, s := range stages {
		if p, ok := s.(link.Prober); ok {
			p.Probes(now, func(one link.Probe) { yield(0, one) })
		}
	}
}

// Links names the one link.
func (c *Channel) Links() []string { return []string{"main"} }

// Stages returns the names of the way.
func (c *Channel) Stages(w link.Way, _ int) []string { return c.Names[w] }

// Coupled reports false: the ways know nothing of each other.
func (c *Channel) Coupled() bool { return false }
