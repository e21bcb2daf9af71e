package sim

import (
	"container/heap"
	"fmt"

	"farlink/emulator/link"
	"farlink/emulator/tally"
)

// Sender is a scripted source of packets with its receiver at the other end.
type Sender interface {
	// Flow names the sender; it is asked once.
	Flow() Flow
	// Wake is called at the start of the run and whenever the sender's
	// alarm (Net.At) is due.
	Wake(n *Net)
	// Met is called when a packet of the sender has met its fate, at that
	// instant, for the receiver's part of the script. Extra copies are
	// delivered too.
	Met(n *Net, s Sent, f link.Fate)
}

// Sent is what a sender remembers of a packet under way.
type Sent struct {
	Way  link.Way
	At   link.Time // when it was sent
	Note Note
}

// Note is what a sender writes on a packet for its receiver.
type Note struct {
	Kind   uint8
	Number uint64
	Bits   uint64
	Echo   link.Time
}

// Config says what to run.
type Config struct {
	Emulator Emulator
	Senders  []Sender
	Until    link.Time     // when the run ends
	From     link.Time     // where the measuring window for rates and delays begins
	Step     link.Duration // of the time series; 0 is 100 ms
	Series   bool          // whether a time series is kept
	// Meet, if not nil, is told of each fate and when its packet came: what
	// a recording is made of.
	Meet func(w link.Way, arrived link.Time, f link.Fate)
}

// Result is what a run showed.
type Result struct {
	Seconds float64       `json:"seconds"`
	From    float64       `json:"measured_from_seconds"`
	Down    tally.Totals  `json:"down"`
	Up      tally.Totals  `json:"up"`
	Flows   []FlowResult  `json:"flows,omitempty"`
	Series  *tally.Series `json:"series,omitempty"`
}

// FlowResult is what a sender saw.
type FlowResult struct {
	Name string              `json:"name"`
	Down tally.Totals        `json:"down"`
	Up   tally.Totals        `json:"up"`
	RTT  *tally.Distribution `json:"rtt,omitempty"`
}

// way returns the totals of a way.
func (r *Result) way(w link.Way) tally.Totals { return [2]tally.Totals{r.Down, r.Up}[w] }

// way returns the totals of a way.
func (f *FlowResult) way(w link.Way) tally.Totals { return [2]tally.Totals{f.Down, f.Up}[w] }

// Net is the world as a sender sees it.
type Net struct {
	// Now is the instant of the run.
	Now link.Time

	cfg     Config
	clock   *clock
	flows   []*flow
	alarms  alarms
	current *flow
	slots   []slot
	free    []uint32
	met     []link.Fate
	way     link.Way // whose emulator is speaking
	ways    [2]tally.Tally
	rec     *tally.Recorder
}

// flow is a sender with its frames, alarm and counts.
type flow struct {
	sender Sender
	frames *frames
	index  int
	alarm  link.Time
	place  int // in the heap of alarms; -1 when not there
	ways   [2]tally.Tally
	rtt    *tally.Histogram
}

// slot is a packet under way; left counts its copies.
type slot struct {
	flow *flow
	sent Sent
	left int32
}

// Run runs the senders over the emulator in virtual time until the end.
func Run(cfg Config) (*Result, error) {
	if cfg.Until <= 0 || cfg.From < 0 || cfg.From >= cfg.Until {
		return nil, fmt.Errorf("run from %d to %d ns: want an end behind a beginning from 0", cfg.From, cfg.Until)
	}
	if cfg.Step == 0 {
		cfg.Step = 100 * link.Millisecond
	}
	n := &Net{cfg: cfg, clock: newClock(cfg.Emulator)}
	if cfg.Series {
		n.rec = tally.NewRecorder(cfg.Step)
	}
	for i, s := range cfg.Senders {
		f := &flow{sender: s, frames: newFrames(s.Flow()), index: i, place: -1, alarm: link.Never}
		n.flows = append(n.flows, f)
	}
	for _, f := range n.flows {
		n.wake(f)
	}
	n.loop()
	return n.result(), nil
}

// loop goes from event to event until the end of the run.
func (n *Net) loop() {
	sample := link.Never
	if n.rec != nil {
		sample = link.Time(n.cfg.Step)
	}
	for {
		w, due := n.clock.next()
		alarm := n.alarms.next()
		now := min(due, alarm, sample)
		if now > n.cfg.Until {
			return
		}
		n.Now = max(n.Now, now)
		switch now {
		case due:
			n.way = w
			n.clock.run(w, n.Now, n)
			n.dispatch()
		case alarm:
			n.wake(n.alarms[0])
		default:
			n.sample()
			sample = sample.Add(n.cfg.Step)
		}
	}
}

// wake lets a sender do what is due.
func (n *Net) wake(f *flow) {
	n.current = f
	n.set(f, link.Never)
	f.sender.Wake(n)
	n.dispatch()
}

// At sets the alarm of the calling sender; each has one. Never unsets it.
func (n *Net) At(t link.Time) { n.set(n.current, t) }

func (n *Net) set(f *flow, t link.Time) {
	f.alarm = t
	switch {
	case f.place >= 0 && t != link.Never:
		heap.Fix(&n.alarms, f.place)
	case f.place >= 0:
		heap.Remove(&n.alarms, f.place)
	case t != link.Never:
		heap.Push(&n.alarms, f)
	}
}

// Send puts a frame of size bytes on way w, now.
func (n *Net) Send(w link.Way, size int, note Note) {
	f := n.current
	ref := n.slot()
	n.slots[ref] = slot{flow: f, sent: Sent{Way: w, At: n.Now, Note: note}, left: 1}
	frame := f.frames.of(w, size)
	n.ways[w].Arrive(len(frame))
	f.ways[w].Arrive(len(frame))
	if n.rec != nil {
		n.rec.Arrive(w, n.Now, len(frame))
	}
	n.way = w
	n.cfg.Emulator.Arrive(w, n.Now, ref, frame, n)
	n.clock.touched(w)
}

// RTT notes a round trip that the calling sender measured.
func (n *Net) RTT(d link.Duration) {
	if n.Now < n.cfg.From {
		return
	}
	if n.current.rtt == nil {
		n.current.rtt = &tally.Histogram{}
	}
	n.current.rtt.Add(d)
}

func (n *Net) slot() uint32 {
	if k := len(n.free); k > 0 {
		ref := n.free[k-1]
		n.free = n.free[:k-1]
		return ref
	}
	n.slots = append(n.slots, slot{})
	return uint32(len(n.slots) - 1)
}

// Deliver takes a packet that got through.
func (n *Net) Deliver(p link.Packet) { n.met = append(n.met, link.Fate{Packet: p}) }

// Lose takes a packet that was lost.
func (n *Net) Lose(p link.Packet, c link.Cause) {
	n.met = append(n.met, link.Fate{Packet: p, Cause: c})
}

// Copy counts one more of a packet.
func (n *Net) Copy(p link.Packet) { n.slots[p.Ref].left++ }

// dispatch counts the fates that came up and tells their senders, which may
// send more at once.
func (n *Net) dispatch() {
	for i := 0; i < len(n.met); i++ {
		f := n.met[i]
		s := &n.slots[f.Packet.Ref]
		owner, sent := s.flow, s.sent
		if s.left--; s.left == 0 {
			s.flow = nil
			n.free = append(n.free, f.Packet.Ref)
		}
		measured := f.Packet.When >= n.cfg.From && f.Packet.When <= n.cfg.Until
		n.ways[sent.Way].Meet(f, sent.At, measured)
		owner.ways[sent.Way].Meet(f, sent.At, measured)
		if n.rec != nil {
			n.rec.Meet(sent.Way, f, sent.At)
		}
		if n.cfg.Meet != nil {
			n.cfg.Meet(sent.Way, sent.At, f)
		}
		n.current = owner
		owner.sender.Met(n, sent, f)
	}
	n.met = n.met[:0]
}

// sample notes the live figures at the end of a bucket.
func (n *Net) sample() {
	for _, w := range link.Ways {
		n.cfg.Emulator.Probes(w, n.Now, func(i int, p link.Probe) { n.rec.Sample(n.prefix(w, i), p) })
	}
	for _, f := range n.flows {
		if p, ok := f.sender.(link.Prober); ok {
			p.Probes(n.Now, func(p link.Probe) { n.rec.Sample(f.sender.Flow().Name+".", p) })
		}
	}
	n.rec.Sampled()
}

// prefix begins the names of a link's figures: "down.", and the link's name
// before that where there are several.
func (n *Net) prefix(w link.Way, i int) string {
	if names := n.cfg.Emulator.Links(); len(names) > 1 && i < len(names) {
		return names[i] + "." + w.String() + "."
	}
	return w.String() + "."
}

func (n *Net) result() *Result {
	r := &Result{Seconds: n.cfg.Until.Seconds(), From: n.cfg.From.Seconds()}
	window := n.cfg.Until.Sub(n.cfg.From)
	both := func(ways *[2]tally.Tally) (down, up tally.Totals) {
		return ways[0].Totals(n.cfg.Emulator, link.Down, window), ways[1].Totals(n.cfg.Emulator, link.Up, window)
	}
	r.Down, r.Up = both(&n.ways)
	for _, f := range n.flows {
		fr := FlowResult{Name: f.sender.Flow().Name}
		fr.Down, fr.Up = both(&f.ways)
		if f.rtt != nil {
			d := f.rtt.Distribution()
			fr.RTT = &d
		}
		r.Flows = append(r.Flows, fr)
	}
	if n.rec != nil {
		r.Series = n.rec.Series(max(1, int((n.cfg.Until+link.Time(n.cfg.Step)-1)/link.Time(n.cfg.Step))))
	}
	return r
}

// alarms is a heap of flows by alarm, then by place among the senders.
type alarms []*flow

func (a alarms) next() link.Time {
	if len(a) == 0 {
		return link.Never
	}
	return a[0].alarm
}

func (a alarms) Len() int { return len(a) }
func (a alarms) Less(i, j int) bool {
	return a[i].alarm < a[j].alarm || a[i].alarm == a[j].alarm && a[i].index < a[j].index
}
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}
func (a *alarms) Push(x any) {
	f := x.(*flow)
	f.place = len(*a)
	*a = append(*a, f)
}
func (a *alarms) Pop() any {
	f := (*a)[len(*a)-1]
	f.place = -1
	*a = (*a)[:len(*a)-1]
	return f
}
