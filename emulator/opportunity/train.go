package opportunity

import (
	"sort"
	"strconv"

	"farlink/emulator/link"
)

// TrainConfig is a link that treats light load unlike heavy: the first
// packets after a pause, a train, travel as recorded trains did; what comes
// when the train is over waits for the opportunities that a saturated link
// had (CellReplay, NSDI 2025).
//
//	arrival ──▶ [ base delay + offset of the train ] ──┬──▶ departure
//	                                    train over, or │    ▲
//	                                    heavy in use   └▶ [ heavy ]
type TrainConfig struct {
	// Lines are the recorded trains, in order of At; three or more. The
	// last one's At is the length of a round, after which all begins anew.
	Lines []TrainLine `toml:"line"`
	// Idle is for how long nothing may have left before a packet begins a
	// new train; default 100 ms.
	Idle link.Duration `toml:"idle,omitempty"`
	// Sizes is what the size adds: the first value to IP packets of up to
	// 100 bytes, the second to those of up to 200, …; the last to all
	// that are longer.
	Sizes []link.Duration `toml:"sizes,omitempty"`
	// Heavy is the server under load. Its opportunities carry 1400 bytes
	// where no size is given.
	Heavy DeliveryConfig `toml:"heavy"`
}

// TrainLine is a recorded train.
type TrainLine struct {
	At    link.Duration `toml:"at"`    // when in the round it was recorded
	Delay link.Duration `toml:"delay"` // of its first packet, one way
	// Offsets are when its packets left after the first: 0 and up.
	Offsets []link.Duration `toml:"offsets,omitempty"`
}

const (
	defaultIdle = 100 * link.Millisecond
	heavySize   = 1400
	leastLines  = 3
)

// Check reports what is wrong with c.
func (c TrainConfig) Check(report link.Report) {
	if n := len(c.Lines); n < leastLines {
		report("line", strconv.Itoa(n)+" lines", "three or more")
	} else if last := c.Lines[n-1].At; last <= 0 {
		report("line."+strconv.Itoa(n-1)+".at", last.String(), "above 0: it is the length of a round")
	}
	for i, l := range c.Lines {
		path := "line." + strconv.Itoa(i)
		if l.At < 0 || i > 0 && l.At < c.Lines[i-1].At {
			report(path+".at", l.At.String(), "not monotonic: no less than the line before, and than 0")
		}
		if l.Delay < 0 || l.Delay > link.MaxDelay {
			report(path+".delay", l.Delay.String(), "0..1h")
		}
		for k, o := range l.Offsets {
			if o < 0 || o > link.MaxDelay || k > 0 && o < l.Offsets[k-1] {
				report(path+".offsets."+strconv.Itoa(k), o.String(), "no less than the offset before, 0..1h")
				break
			}
		}
	}
	for i, d := range c.Sizes {
		if d < 0 || d > link.MaxDelay {
			report("sizes."+strconv.Itoa(i), d.String(), "0..1h")
		}
	}
	c.Heavy.Check(report.Under("heavy"))
}

// Train is the stage.
type Train struct {
	lines  []TrainLine
	period link.Time
	idle   link.Duration
	sizes  []link.Duration

	light link.FIFO // each packet with the When at which it ends the light way
	runs  []run     // which of them belong to a train
	due   link.Time // the front's; Never when empty
	heavy *Delivery

	begun   bool
	start   link.Time // of the train
	base    link.Duration
	offsets []link.Duration
	used    int       // offsets of the train that are gone
	last    link.Time // latest When in light
	left    link.Time // latest departure
}

// run is so many packets in a row of which all, or none, belong to a train.
type run struct {
	packets int
	train   bool
}

// NewTrain returns the link that c describes.
func NewTrain(c TrainConfig, draw link.Draw) *Train {
	if c.Idle == 0 {
		c.Idle = defaultIdle
	}
	if c.Heavy.Size == 0 {
		c.Heavy.Size = heavySize
	}
	return &Train{
		lines: c.Lines, period: link.Time(c.Lines[len(c.Lines)-1].At), idle: c.Idle, sizes: c.Sizes,
		due: link.Never, heavy: NewDelivery(c.Heavy, draw),
	}
}

// Put sends p on the light way.
func (t *Train) Put(p link.Packet, out link.Sink) {
	if t.Next() <= p.When {
		t.Run(p.When, out)
	}
	if !t.begun || p.When.Add(t.base) > max(t.last, t.left).Add(t.idle) && t.empty() {
		t.begin(p.When)
	}
	release, train := t.release(p.When)
	p.When = max(release.Add(t.extra(p.Size)), t.last)
	t.push(p, train)
}

func (t *Train) empty() bool {
	n, _ := t.Held()
	return n == 0
}

// begin starts a new train at now: the one last recorded before, with the
// base delay between that of its line and that of the next.
func (t *Train) begin(now link.Time) {
	at := link.Duration(now % t.period)
	i := sort.Search(len(t.lines), func(i int) bool { return t.lines[i].At > at })
	from, to := t.lines[max(i-1, 0)], t.lines[i]
	t.begun, t.start, t.used, t.offsets, t.base = true, now, 0, from.Offsets, from.Delay
	if width := to.At - from.At; at > from.At && width > 0 {
		t.base += link.Duration(float64(to.Delay-from.Delay) * (float64(at-from.At) / float64(width)))
	}
}

// release returns when a packet that comes now ends the light way, and
// whether it still belongs to the train.
func (t *Train) release(now link.Time) (link.Time, bool) {
	for t.used < len(t.offsets) {
		o := t.offsets[t.used]
		t.used++
		if at := t.start.Add(o); at >= now {
			return at.Add(t.base), true
		}
	}
	return now.Add(t.base), false
}

// extra is what the size adds to the delay.
func (t *Train) extra(size uint16) link.Duration {
	if len(t.sizes) == 0 {
		return 0
	}
	i := (max(int(size)-14, 1) - 1) / 100 // IP: without the Ethernet header
	return t.sizes[min(i, len(t.sizes)-1)]
}

func (t *Train) push(p link.Packet, train bool) {
	if t.due == link.Never {
		t.due = p.When
	}
	t.last = p.When
	t.light.Push(p)
	if n := len(t.runs); n > 0 && t.runs[n-1].train == train {
		t.runs[n-1].packets++
		return
	}
	t.runs = append(t.runs, run{1, train})
}

// pop takes the front packet of the light way.
func (t *Train) pop() (p link.Packet, train bool) {
	p, train = t.light.Pop(), t.runs[0].train
	if t.runs[0].packets--; t.runs[0].packets == 0 {
		t.runs = append(t.runs[:0], t.runs[1:]...)
	}
	t.due = link.Never
	if t.light.Len() > 0 {
		t.due = t.light.Front().When
	}
	return p, train
}

// Next returns when the first packet ends the light way, or an opportunity
// finds something to send.
func (t *Train) Next() link.Time { return min(t.due, t.heavy.Next()) }

// Run lets leave all that is due, in order of time.
func (t *Train) Run(now link.Time, out link.Sink) {
	for t.Next() <= now {
		if at := t.heavy.Next(); at <= t.due {
			t.left = max(t.left, at)
			t.heavy.Run(at, out)
			continue
		}
		p, train := t.pop()
		if n, _ := t.heavy.Held(); train && n == 0 {
			t.left = max(t.left, p.When)
			out.Deliver(p)
		} else {
			t.heavy.Put(p, out)
		}
	}
}

// Held returns what is on the light way and what waits for opportunities.
func (t *Train) Held() (packets, bytes int) {
	packets, bytes = t.heavy.Held()
	return packets + t.light.Len(), bytes + t.light.Bytes()
}

// Drain gives up all that is inside.
func (t *Train) Drain(yield func(link.Packet)) {
	t.heavy.Drain(yield)
	for t.light.Len() > 0 {
		p, _ := t.pop()
		yield(p)
	}
}

// Adopt lets p wait for opportunities, behind all that does.
func (t *Train) Adopt(now link.Time, p link.Packet) { t.heavy.Adopt(now, p) }

// Inherit takes over the state of the old one's discipline.
func (t *Train) Inherit(now link.Time, old link.Stage) {
	if o, ok := old.(*Train); ok {
		t.heavy.Inherit(now, o.heavy)
	}
}

// Capacity returns the mean rate under load.
func (t *Train) Capacity(now link.Time) link.Capacity {
	c := t.heavy.Capacity(now)
	_, bytes := t.Held()
	c.Queue = link.Size(bytes)
	return c
}

// Probes yields what the heavy server does, and the base delay.
func (t *Train) Probes(now link.Time, yield func(link.Probe)) {
	t.heavy.Probes(now, yield)
	yield(link.Probe{Name: "base_delay_ms", Value: t.base.Milliseconds()})
	yield(link.Probe{Name: "light_packets", Value: float64(t.light.Len())})
}
