package sim

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"farlink/emulator/link"
	"farlink/emulator/pcap"
	"farlink/emulator/tally"
)

// Replay says how a capture is put on a link.
type Replay struct {
	Emulator Emulator
	Way      link.Way // on which all packets go, unless Steer says otherwise
	// Steer, if not nil, says on which way a frame goes: a capture of both
	// ways is put on the link as it came.
	Steer  func(frame []byte) link.Way
	Header pcap.Header   // of the capture that is written
	Limit  link.Duration // how long after the last packet what is inside may stay; 0 is 10 min
	// Meet, if not nil, is told of each fate and when its packet came: what
	// a recording is made of.
	Meet func(w link.Way, arrived link.Time, f link.Fate)
}

// Summary is what a replay showed.
type Summary struct {
	Way     string  `json:"way"`     // "down", "up", or "both"
	Seconds float64 `json:"seconds"` // from the first packet to the last fate
	tally.Totals
	Down      *tally.Totals `json:"down,omitempty"` // of "both"
	Up        *tally.Totals `json:"up,omitempty"`
	Untimed   int64         `json:"untimed_packets,omitempty"`   // had no time stamp: took the one before
	Backwards int64         `json:"backwards_packets,omitempty"` // were stamped before one that stands before them: took its time
	Cut       int64         `json:"cut_packets,omitempty"`       // longer than a frame can be: cut to 65,535 bytes
}

// Run reads a capture and puts its packets on the link at their own times,
// the first at the run's beginning. It writes a capture with one record per
// fate, in the order of their instants, times continuing those of the capture:
//
//   - delivered: when it leaves, on the interface where it leaves ("b" on the
//     way up), outbound, with the comment "delivered +250.003 ms" and after it
//     what happened: "corrupted", "duplicate", "reordered", "ce";
//   - lost: when it is lost, on the interface where it came in, inbound, with
//     the comment "lost queue_full at up/queue"; the next packet delivered
//     carries the number of those lost since the one before as its drop count.
//
// What is still inside after Limit is written as "held in up". The packet ID
// is the packet's place in the capture that was read, from 0.
func (r Replay) Run(in io.Reader, out io.Writer) (*Summary, error) {
	capture, err := pcap.NewReader(in)
	if err != nil {
		return nil, err
	}
	w, err := pcap.NewWriter(out, r.Header,
		pcap.Interface{Name: "a", Description: "device side", LinkType: pcap.LinkEthernet},
		pcap.Interface{Name: "b", Description: "network side", LinkType: pcap.LinkEthernet})
	if err != nil {
		return nil, err
	}
	if r.Limit == 0 {
		r.Limit = 10 * 60 * link.Second
	}
	t := &tape{Replay: r, clock: newClock(r.Emulator), in: capture, out: w}
	return t.play()
}

// tape is a replay under way.
type tape struct {
	Replay
	clock *clock
	in    *pcap.Reader
	out   *pcap.Writer
	err   error // of the writer: a Sink cannot return it

	timed   bool  // base is known
	base    int64 // the capture's time at the run's beginning, ns since 1970
	now     link.Time
	last    link.Time // latest fate
	count   uint64    // packets read
	drops   [2]uint64 // lost since the last delivered, by way
	slots   []held
	free    []uint32
	scratch []byte
	comment []byte
	all     tally.Tally
	ways    [2]tally.Tally
	sum     Summary
}

// held is a packet of the capture under way.
type held struct {
	frame []byte // as long as on the wire; its storage is used again
	kept  int    // bytes that the capture kept
	id    uint64
	at    link.Time
	way   link.Way
	left  int32 // copies under way; 0 is a free slot
}

func (t *tape) play() (*Summary, error) {
	for t.err == nil {
		p, err := t.in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := t.put(p); err != nil {
			return nil, err
		}
	}
	t.advance(t.now.Add(t.Limit), true)
	t.abandon()
	if t.err != nil {
		return nil, fmt.Errorf("write capture: %w", t.err)
	}
	t.total()
	return &t.sum, nil
}

// total completes the summary.
func (t *tape) total() {
	t.sum.Seconds = t.last.Seconds()
	length := t.last.Sub(0)
	if t.Steer == nil {
		t.sum.Way, t.sum.Totals = t.Way.String(), t.ways[t.Way].Totals(t.Emulator, t.Way, length)
		return
	}
	down, up := t.ways[link.Down].Totals(t.Emulator, link.Down, length), t.ways[link.Up].Totals(t.Emulator, link.Up, length)
	t.sum.Way, t.sum.Down, t.sum.Up = "both", &down, &up
	t.sum.Totals = t.all.Totals(t.Emulator, link.Down, length)
	// A stage has its name on a way.
	t.sum.Totals.Losses = append(append([]tally.Loss(nil), down.Losses...), up.Losses...)
}

// put lets the link run up to a packet of the capture and puts it in.
func (t *tape) put(p pcap.Packet) error {
	if err := t.stamp(&p); err != nil {
		return err
	}
	t.advance(t.now, false)
	ref := t.slot()
	s := &t.slots[ref]
	face := t.in.Interfaces()[p.Interface]
	frame, kept, err := pcap.Ethernet(s.frame, face.LinkType, p)
	if err != nil {
		return fmt.Errorf("packet %d of the capture: %w", t.count, err)
	}
	if len(frame) == 0 {
		return fmt.Errorf("packet %d of the capture is empty", t.count)
	}
	if p.Length > MostFrame {
		t.sum.Cut++
	}
	w := t.Way
	if t.Steer != nil {
		w = t.Steer(frame)
	}
	*s = held{frame: frame, kept: kept, id: t.count, at: t.now, way: w, left: 1}
	t.count++
	t.all.Arrive(len(frame))
	t.ways[w].Arrive(len(frame))
	t.Emulator.Arrive(w, t.now, ref, frame, t)
	t.clock.touched(w)
	return t.err
}

// longest is the longest capture that can be replayed: 366 days.
const longest = 366 * 24 * 3600 * link.Second

// stamp sets the run's time to that of the packet, which never goes back.
func (t *tape) stamp(p *pcap.Packet) error {
	if p.Time == pcap.NoTime {
		t.sum.Untimed++
		return nil
	}
	if p.Time < 0 {
		return fmt.Errorf("packet %d of the capture is stamped %d s before 1970", t.count, -(p.Time / 1e9))
	}
	if !t.timed {
		t.timed, t.base = true, p.Time
	}
	at := link.Time(p.Time - t.base)
	switch {
	case at < t.now:
		t.sum.Backwards++
	case at > link.Time(longest):
		return fmt.Errorf("packet %d of the capture comes %d s after the first, want at most a year", t.count, at/1e9)
	default:
		t.now = at
	}
	return nil
}

// advance runs the link event by event up to the instant; with drain it stops
// once nothing is inside.
func (t *tape) advance(until link.Time, drain bool) {
	for {
		w, due := t.clock.next()
		if due > until || due == link.Never {
			return
		}
		if drain && t.empty() {
			return
		}
		t.clock.run(w, due, t)
	}
}

// empty reports whether nothing is inside the link.
func (t *tape) empty() bool {
	for _, w := range link.Ways {
		if n, _ := t.Emulator.Held(w); n > 0 {
			return false
		}
	}
	return true
}

// abandon writes what never came out.
func (t *tape) abandon() {
	for i := range t.slots {
		if s := &t.slots[i]; s.left > 0 {
			t.write(s, t.now.Add(t.Limit), incoming(s.way), pcap.Inbound, "held in "+s.way.String(), pcap.Verdict{}, s.frame)
		}
	}
}

func (t *tape) slot() uint32 {
	if k := len(t.free); k > 0 {
		ref := t.free[k-1]
		t.free = t.free[:k-1]
		return ref
	}
	t.slots = append(t.slots, held{})
	return uint32(len(t.slots) - 1)
}

// incoming is the interface where packets of a way come in: "a" on the way up.
func incoming(w link.Way) int {
	if w == link.Up {
		return 0
	}
	return 1
}

// Copy counts one more of a packet.
func (t *tape) Copy(p link.Packet) { t.slots[p.Ref].left++ }

// Deliver writes a packet that got through.
func (t *tape) Deliver(p link.Packet) {
	s := &t.slots[p.Ref]
	t.meet(s, link.Fate{Packet: p})
	frame := s.frame
	if p.Mark&link.Written != 0 {
		// Another copy may still need the frame as it came.
		t.scratch = append(t.scratch[:0], frame...)
		frame = t.scratch
		t.Emulator.Finish(p, s.way, frame)
	}
	t.comment = delivered(t.comment[:0], p, s.at)
	t.write(s, p.When, 1-incoming(s.way), pcap.Outbound, string(t.comment), pcap.Redirected, frame)
	t.drop(p.Ref)
}

// Lose writes a packet that was lost.
func (t *tape) Lose(p link.Packet, c link.Cause) {
	s := &t.slots[p.Ref]
	t.meet(s, link.Fate{Packet: p, Cause: c})
	comment := "lost " + c.Reason.String() + " at " + tally.Place(t.Emulator, s.way, p.Mark.Link(), c)
	t.write(s, p.When, incoming(s.way), pcap.Inbound, comment, pcap.Dropped, s.frame)
	t.drops[s.way]++
	t.drop(p.Ref)
}

// meet counts a fate.
func (t *tape) meet(s *held, f link.Fate) {
	t.all.Meet(f, s.at, true)
	t.ways[s.way].Meet(f, s.at, true)
	if t.Meet != nil {
		t.Meet(s.way, s.at, f)
	}
}

// drop gives up one copy of a packet.
func (t *tape) drop(ref uint32) {
	if t.slots[ref].left--; t.slots[ref].left == 0 {
		t.free = append(t.free, ref)
	}
}

// write writes a record.
func (t *tape) write(s *held, at link.Time, face int, d pcap.Direction, comment string, v pcap.Verdict, frame []byte) {
	t.last = max(t.last, at)
	p := pcap.Packet{Interface: face, Time: t.base + int64(at), Data: frame[:s.kept], Length: len(frame),
		Comment: comment, Direction: d, ID: s.id, HasID: true, Verdict: v}
	if d == pcap.Outbound {
		p.Drops, t.drops[s.way] = t.drops[s.way], 0
	}
	if err := t.out.Write(p); err != nil && t.err == nil {
		t.err = err
	}
}

// markNames are what a comment says of a packet beside its delay.
var markNames = []struct {
	mark link.Mark
	name string
}{{link.Corrupted, " corrupted"}, {link.Duplicate, " duplicate"}, {link.Reordered, " reordered"}, {link.CE, " ce"}, {link.Stripped, " stripped"}}

// delivered appends the comment of a packet that got through: its delay in
// milliseconds, exact to the nanosecond, at least three decimals.
func delivered(b []byte, p link.Packet, sent link.Time) []byte {
	b = append(b, "delivered +"...)
	ns := int64(p.When.Sub(sent))
	b = strconv.AppendInt(b, ns/1e6, 10)
	b = append(b, '.')
	digits := strconv.AppendInt(nil, 1e6+ns%1e6, 10)[1:]
	for len(digits) > 3 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	b = append(append(b, digits...), " ms"...)
	for _, m := range markNames {
		if p.Mark&m.mark != 0 {
			b = append(b, m.name...)
		}
	}
	return b
}
