package sim

import "farlink/emulator/link"

// channel is an emulator of one stage on one way; the other way is a wire.
type channel struct {
	way   link.Way
	stage link.Stage
	name  string
	seq   [2]uint64
}

// NewChannel returns the stage, called name in results, as the emulator of
// way w; frames of the other way pass at once. It is what a recorded channel
// is replayed on.
func NewChannel(w link.Way, s link.Stage, name string) Emulator {
	return &channel{way: w, stage: s, name: name}
}

// Arrive numbers the packet and puts it in.
func (c *channel) Arrive(w link.Way, when link.Time, ref uint32, frame []byte, out link.Sink) {
	p := link.Packet{When: when, Seq: c.seq[w], Ref: ref, Size: uint16(len(frame))}
	c.seq[w]++
	if w == c.way {
		c.stage.Put(p, out)
	} else {
		out.Deliver(p)
	}
}

// Next returns when the stage is due.
func (c *channel) Next(w link.Way) link.Time {
	if w == c.way {
		return c.stage.Next()
	}
	return link.Never
}

// Run runs the stage.
func (c *channel) Run(w link.Way, now link.Time, out link.Sink) {
	if w == c.way {
		c.stage.Run(now, out)
	}
}

// Finish flips a bit of a corrupted frame behind its Ethernet header: which
// one, the packet's number says.
func (c *channel) Finish(p link.Packet, _ link.Way, frame []byte) {
	const header = 14
	if p.Mark&link.Corrupted != 0 && len(frame) > header {
		bit := link.NewDraw(0, "corrupt").Uint64(p.Seq) % uint64(8*(len(frame)-header))
		frame[header+bit/8] ^= 1 << (bit % 8)
	}
}

// Held returns what is inside.
func (c *channel) Held(w link.Way) (packets, bytes int) {
	if h, ok := c.stage.(interface{ Held() (int, int) }); ok && w == c.way {
		return h.Held()
	}
	return 0, 0
}

// Probes yields the stage's figures.
func (c *channel) Probes(w link.Way, now link.Time, yield func(int, link.Probe)) {
	if p, ok := c.stage.(link.Prober); ok && w == c.way {
		p.Probes(now, func(one link.Probe) { yield(0, one) })
	}
}

// Links names the one link.
func (c *channel) Links() []string { return []string{"main"} }

// Stages names the one stage.
func (c *channel) Stages(link.Way, int) []string { return []string{c.name} }

// Coupled reports false: a stage knows nothing of the other way.
func (c *channel) Coupled() bool { return false }
