package sat

import (
	"math"

	"farlink/emulator/link"
	"farlink/emulator/queue"
	"farlink/emulator/sat/modcod"
)

// frame is what a BBFRAME of one MODCOD carries, and how long it is on the
// air.
type frame struct {
	bytes  int64
	length link.Duration
	rate   int64 // bit/s, this link's share
}

// Carrier is a DVB-S2 carrier and the queue before it.
//
// PLFRAMEs follow each other without a gap. A frame is filled, when it
// begins, with what waits then; a packet that does not fit goes on in the
// next, as GSE fragments it, and leaves at the end of the frame that carries
// its last byte. With nothing to send, dummy frames keep the rhythm: a frame
// begins at the end of one. Each frame takes the MODCOD that the ACM loop has
// chosen by then; when the sky has sunk below its threshold meanwhile, the
// whole frame is lost, and every packet with a part in it. While no MODCOD
// fits, packets wait. Of a frame's length at a share below 1, the frames of
// others follow.
type Carrier struct {
	room   queue.Room
	sky    channel
	acm    acm
	frames []frame // by rung of the ladder
	dummy  link.Duration
	share  float64

	due   link.Time // when a frame begins, or the one on the air ends; Never
	onAir bool
	free  link.Time // since when dummy frames are sent
	last  frame     // as on the air last

	air    link.FIFO   // packets whose last byte is in the frame on the air
	lost   bool        // that frame is below the threshold
	begun  bool        // head is sent in part
	head   link.Packet // the packet that goes on in the next frame
	left   int64       // bytes of it yet to be sent
	spoilt bool        // a part of head was lost
	first  bool        // a part of the first packet of air was lost before

	// resume is how many packets, of those to be adopted first, are in the
	// frame on the air that was inherited; resumeHead: the one after them
	// is head.
	resume     int
	resumeHead bool
}

// usualRTT is the round-trip time that a queue without a limit is made for.
const usualRTT = 600 * link.Millisecond

// NewCarrier returns the carrier that c describes, behind the queue that q
// does; the carrier's rate takes the place of q's. GSE of IP takes 10 bytes
// and no Ethernet header: framing "l3", overhead "10B". sky is the weather of
// the link: carriers that get the same one, of the other way or of another
// link, have the same rain over terminal and gateway.
func NewCarrier(c CarrierConfig, q queue.Config, w link.Way, sky link.Draw) *Carrier {
	r := &Carrier{
		room: queue.NewRoom(c.Queue(q, usualRTT), sky.Sub("queue "+w.String())),
		sky:  newChannel(c, w, sky), share: either(c.Share, 1), due: link.Never,
	}
	ladder, symbol := c.ladder(), 1e9/c.symbols()
	for _, m := range ladder {
		n := c.framing().Symbols(m.Modcod)
		r.frames = append(r.frames, frame{
			bytes:  int64(c.framing().DataBits(m.Modcod) / 8),
			length: link.Duration(math.Round(float64(n) * symbol)),
			rate:   int64(c.symbols() * r.share * m.Efficiency),
		})
	}
	r.dummy = max(1, link.Duration(math.Round(modcod.DummySymbols*symbol)))
	r.acm = newACM(c.ACM, ladder, &r.sky)
	r.serve()
	return r
}

func newChannel(c CarrierConfig, w link.Way, sky link.Draw) channel {
	ch := channel{slot: either(c.Slot, 100*link.Millisecond)}
	if c.Interference != 0 {
		ch.interference = math.Pow(10, -c.Interference/10)
	}
	from, to := "rain over gateway", "rain over terminal"
	if w == link.Up {
		from, to = to, from
	}
	if c.Uplink != nil {
		ch.legs = append(ch.legs, newLeg(*c.Uplink, c.symbols(), ch.slot, sky.Sub(from)))
	}
	if c.Downlink != nil {
		ch.legs = append(ch.legs, newLeg(*c.Downlink, c.symbols(), ch.slot, sky.Sub(to)))
	}
	return ch
}

// serve tells the room the rate of the MODCOD chosen; in an outage the room
// keeps the last.
func (c *Carrier) serve() {
	if c.acm.current == modcod.None {
		return
	}
	if f := c.frames[c.acm.current]; f != c.last {
		c.last = f
		c.room.ServeAt(f.rate)
	}
}

// Put lets p wait for a frame, or loses it.
func (c *Carrier) Put(p link.Packet, out link.Sink) {
	if c.due <= p.When {
		c.Run(p.When, out)
	}
	c.room.Join(p, out)
	c.wake(p.When)
}

// wake lets a frame begin at the end of the dummy frame of an instant, when
// none is due.
func (c *Carrier) wake(now link.Time) {
	if c.due != link.Never || c.room.Len() == 0 {
		return
	}
	c.due = c.free
	if now > c.free {
		n := (now.Sub(c.free) + c.dummy - 1) / c.dummy
		c.due += link.Time(n * c.dummy)
	}
}

// Next returns when a frame begins or ends.
func (c *Carrier) Next() link.Time { return c.due }

// Run sends frames until now.
func (c *Carrier) Run(now link.Time, out link.Sink) {
	for c.due <= now {
		if c.onAir {
			c.finish(out)
		} else {
			c.begin(out)
		}
	}
}

// begin fills the frame that begins now, or waits for the next report when
// no MODCOD fits.
func (c *Carrier) begin(out link.Sink) {
	now := c.due
	c.acm.advance(now, &c.sky)
	if c.acm.current == modcod.None {
		c.due = c.acm.effect()
		return
	}
	c.serve()
	c.lost = c.sky.at(now).esN0 < c.acm.ladder[c.acm.current].Need-waterfall
	if !c.fill(now, out) { // the discipline dropped all that waited
		c.due, c.free = link.Never, now
		return
	}
	c.onAir, c.due = true, now.Add(c.last.length)
}

// waterfall is how far below its threshold, in dB, a MODCOD still works: the
// frame error rate falls by four decades in 0.12 dB (QPSK 1/2, normal
// frame), so what lies below is lost and what lies above is not.
const waterfall = 0.1

// fill puts what waits into the frame, and reports whether anything did.
func (c *Carrier) fill(now link.Time, out link.Sink) bool {
	space := c.last.bytes
	for space > 0 {
		if !c.begun {
			p, ok := c.room.Take(now, out)
			if !ok {
				break
			}
			c.head, c.left, c.begun, c.spoilt = p, c.room.Line(p.Size), true, false
		}
		n := min(space, c.left)
		space, c.left = space-n, c.left-n
		if c.left > 0 {
			c.spoilt = c.spoilt || c.lost
			break
		}
		if c.air.Len() == 0 {
			c.first = c.spoilt
		}
		c.air.Push(c.head)
		c.begun = false
	}
	return space < c.last.bytes
}

// finish delivers or loses what the frame completed.
func (c *Carrier) finish(out link.Sink) {
	now := c.due
	for spoilt := c.first; c.air.Len() > 0; spoilt = false {
		p := c.air.Pop()
		p.When = now
		if c.lost || spoilt {
			out.Lose(p, link.Cause{Reason: link.Outage})
		} else {
			out.Deliver(p)
		}
	}
	c.onAir, c.due = false, link.Never
	c.free = now
	if c.share < 1 {
		c.free = now.Add(link.Duration(float64(c.last.length) * (1/c.share - 1)))
	}
	if c.begun || c.room.Len() > 0 {
		c.due = c.free
	}
}

// Held returns what waits and what is on the air.
func (c *Carrier) Held() (packets, bytes int) {
	packets, bytes = c.room.Len()+c.air.Len(), c.room.Bytes()+c.air.Bytes()
	if c.begun {
		packets, bytes = packets+1, bytes+int(c.head.Size)
	}
	return packets, bytes
}

// Drain gives up all packets, each with the When of its arrival: those on the
// air first.
func (c *Carrier) Drain(yield func(link.Packet)) {
	for c.air.Len() > 0 {
		yield(c.air.Pop())
	}
	if c.begun {
		c.begun = false
		yield(c.head)
	}
	for c.room.Len() > 0 {
		yield(c.room.Pop())
	}
	c.onAir, c.due = false, link.Never
}

// Adopt lets p wait behind all that is inside, or puts it back into the frame
// on the air that was inherited.
func (c *Carrier) Adopt(now link.Time, p link.Packet) {
	switch {
	case c.resume > 0:
		c.resume--
		c.air.Push(p)
	case c.resumeHead:
		c.resumeHead, c.begun = false, true
		c.head = p
	default:
		c.room.Push(p)
		c.wake(now)
	}
}

// Inherit goes on with the loop of a carrier before it, its MODCOD, where
// this one has it, and its reports; and with the frame on the air. After
// another kind of stage it starts as settled at now.
func (c *Carrier) Inherit(now link.Time, old link.Stage) {
	o, ok := old.(*Carrier)
	if !ok {
		c.acm.settle(now, &c.sky)
		return
	}
	c.free = o.free
	c.room.Inherit(&o.room)
	c.acm.inherit(now, &o.acm, &c.sky)
	c.left, c.spoilt, c.resumeHead = o.left, o.spoilt, o.begun
	if o.onAir {
		c.onAir, c.due, c.last = true, o.due, o.last
		c.lost, c.first, c.resume = o.lost, o.first, o.air.Len()
	}
}

// Capacity returns the rate of the MODCOD chosen at now, and the change that
// a report already measured will make. RTT is the frame on the air alone.
func (c *Carrier) Capacity(now link.Time) link.Capacity {
	a, sky := c.look(now)
	_, bytes := c.Held()
	v := link.Capacity{Version: a.changes + 1, Rate: c.rate(&a), NextAt: link.Never, NextRate: c.rate(&a),
		RTT: c.last.length, Queue: link.Size(bytes), Room: c.room.Bears(), Mode: a.mode()}
	for len(a.ladder) > 1 && a.measured() <= now {
		at := a.effect()
		if a.step(&sky); a.changes+1 != v.Version {
			v.NextAt, v.NextRate = at, c.rate(&a)
			break
		}
	}
	return v
}

// look returns the loop and the sky at now. They are copies, so that looking
// moves nothing that frames yet to be sent depend on; but an idle carrier
// hears the reports that came, lest they pile up.
func (c *Carrier) look(now link.Time) (acm, channel) {
	if c.due == link.Never {
		c.acm.advance(now, &c.sky)
	}
	a, sky := c.acm, c.sky
	a.advance(now, &sky)
	return a, sky
}

func (c *Carrier) rate(a *acm) link.Rate {
	if a.current == modcod.None {
		return 0
	}
	return link.Rate(c.frames[a.current].rate)
}

// Probes yields the chain of causes: rain, Es/N0, MODCOD, rate, queue.
func (c *Carrier) Probes(now link.Time, yield func(link.Probe)) {
	a, sky := c.look(now)
	state := sky.at(now)
	number, efficiency := 0, 0.0
	if a.current != modcod.None {
		number, efficiency = a.ladder[a.current].Number, a.ladder[a.current].Efficiency
	}
	packets, bytes := c.Held()
	for _, p := range [...]link.Probe{
		{Name: "rain_db", Value: state.rain},
		{Name: "es_n0_db", Value: state.esN0},
		{Name: "modcod", Value: float64(number)},
		{Name: "efficiency_bits_per_symbol", Value: efficiency},
		{Name: "rate_bps", Value: float64(c.rate(&a))},
		{Name: "queue_packets", Value: float64(packets)},
		{Name: "queue_bytes", Value: float64(bytes)},
		{Name: "queue_delay_ms", Value: c.room.Delay().Milliseconds()},
		{Name: "modcod_changes", Value: float64(a.changes)},
	} {
		yield(p)
	}
	c.room.Probes(yield)
}
