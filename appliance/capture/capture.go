// Package capture keeps what passed a pair of ports in the last half minute:
// each frame's fate with its first bytes, as the engine's tap tells it. It
// writes them as pcapng, on demand or when a trigger fires.
//
//	engine's tap ──each 100 ms──▶ roll (30 s, bounded) ──▶ pcapng
//	                                   │ trigger: a loss, a mark, a rate, a round trip
//	                                   └──▶ state directory
//
// The tap never holds the engine up: who reads too slowly misses frames, and
// the capture says how many.
package capture

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/pcap"
	"farlink/emulator/recording"
)

const (
	// Span is how far back a capture reaches.
	Span = 30 * time.Second
	// rollMost bounds the bytes kept of the frames of one way.
	rollMost = 24 << 20
	// perLook bounds the fates taken at one look, so that a flood costs no
	// more than this.
	perLook = 6000
	look    = 100 * time.Millisecond
)

// Tap is an engine that tells the fates of frames.
type Tap interface {
	// Tap switches it on or off.
	Tap(w link.Way, on bool)
	// Tapped returns how many fates were told so far.
	Tapped(w link.Way) uint64
	// Fates yields those from a number on, with the arrivals (-1: unknown)
	// and the first bytes of their frames, while yield says true; it returns
	// the number to go on from, and how many were missed.
	Fates(w link.Way, from uint64, yield func(came link.Time, f link.Fate, bytes []byte) bool) (next, missed uint64)
	// RunTime is the time of the run now.
	RunTime() link.Time
}

// Recorder keeps the frames of one pair.
type Recorder struct {
	// Source returns the engine that runs now, nil if there is none.
	Source func() Tap
	// Now is the time of day.
	Now func() time.Time

	mu      sync.Mutex
	armed   bool
	tap     Tap
	zero    time.Time // of the run's beginning, at the last look
	ways    [2]roll
	trigger Trigger
	fires   func(why string)
	stream  *stream
	level   level
}

// roll is the fates of one way, oldest first; their bytes stand one after
// the other.
type roll struct {
	next, missed uint64
	fates        []kept
	bytes        []byte
}

type kept struct {
	at   time.Time
	came link.Time
	fate link.Fate
	from int // of its bytes
	n    int
}

// Arm begins to record, or stops and forgets.
func (r *Recorder) Arm(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.armed = on
	if !on && r.stream == nil {
		r.leave()
	}
}

// leave lets the tap go and forgets what it told.
func (r *Recorder) leave() {
	if r.tap == nil {
		return
	}
	for _, w := range link.Ways {
		r.tap.Tap(w, false)
	}
	r.tap, r.ways = nil, [2]roll{}
}

// Watch has fires called once, when the trigger is met.
func (r *Recorder) Watch(t Trigger, fires func(why string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trigger, r.fires, r.level = t, fires, level{}
}

// Run records until ctx ends.
func (r *Recorder) Run(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.EndStream()
			r.Arm(false)
			return
		case <-tick.C:
			r.look()
		}
	}
}

// look takes what the tap told, and tells who wants to know.
func (r *Recorder) look() {
	if why, fires := r.take(); fires != nil {
		fires(why)
	}
	r.mu.Lock()
	var is Streamed
	tell := func(Streamed) {}
	if r.stream != nil {
		is, tell = r.stream.is, r.stream.tell
	}
	r.mu.Unlock()
	tell(is)
}

// take reads what the tap told since the last look.
func (r *Recorder) take() (why string, fires func(string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.armed && r.stream == nil {
		return "", nil
	}
	tap := r.Source()
	if tap != r.tap {
		r.follow(tap)
	}
	if tap == nil {
		return "", nil
	}
	// Run time to time of day: both are read now.
	ran := tap.RunTime()
	zero := r.Now().Add(-time.Duration(ran))
	timeOf := func(t link.Time) time.Time {
		if t > ran && !r.zero.IsZero() { // of the run before this one
			return r.zero.Add(time.Duration(t))
		}
		return zero.Add(time.Duration(t))
	}
	for _, w := range link.Ways {
		if said := r.read(tap, w, timeOf); said != "" {
			why = said
		}
	}
	if r.stream != nil {
		r.stream.flush()
	}
	r.zero = zero
	if why == "" || r.fires == nil {
		return "", nil
	}
	fires, r.fires, r.trigger = r.fires, nil, Trigger{}
	return why, fires
}

// follow goes over to the tap of another engine.
func (r *Recorder) follow(tap Tap) {
	r.tap = tap
	if tap == nil {
		return
	}
	for _, w := range link.Ways {
		tap.Tap(w, true)
		r.ways[w].next = tap.Tapped(w)
	}
}

func (r *Recorder) read(tap Tap, w link.Way, timeOf func(link.Time) time.Time) (why string) {
	roll := &r.ways[w]
	before := roll.missed
	if told := tap.Tapped(w); told > roll.next+perLook {
		roll.missed += told - perLook - roll.next
		roll.next = told - perLook
	}
	next, missed := tap.Fates(w, roll.next, func(came link.Time, f link.Fate, b []byte) bool {
		at := timeOf(f.Packet.When)
		roll.add(at, came, f, b)
		if r.stream != nil {
			r.stream.add(record{kept{at: at, came: came, fate: f}, w, b})
		}
		if said := r.trigger.met(f); said != "" {
			why = said
		}
		return true
	})
	roll.next, roll.missed = next, roll.missed+missed
	if r.stream != nil {
		r.stream.is.Missed += roll.missed - before
	}
	roll.forget(r.Now().Add(-Span))
	return why
}

func (r *roll) add(at time.Time, came link.Time, f link.Fate, b []byte) {
	r.fates = append(r.fates, kept{at, came, f, len(r.bytes), len(b)})
	r.bytes = append(r.bytes, b...)
}

// forget drops what is older than t, and the oldest when there is too much.
// It moves memory only when half of it is stale.
func (r *roll) forget(t time.Time) {
	first := 0
	for first < len(r.fates) && (r.fates[first].at.Before(t) || len(r.bytes)-r.fates[first].from > rollMost) {
		first++
	}
	if first < len(r.fates)/2 || first == 0 {
		return
	}
	from := len(r.bytes)
	if first < len(r.fates) {
		from = r.fates[first].from
	}
	r.bytes = append(r.bytes[:0], r.bytes[from:]...)
	r.fates = append(r.fates[:0], r.fates[first:]...)
	for i := range r.fates {
		r.fates[i].from -= from
	}
}

// Status is how a recorder is.
type Status struct {
	Armed   bool
	Packets int
	Bytes   int
	Missed  uint64
	Since   time.Time // of the oldest frame; zero if there is none
	Waiting bool      // for its trigger
}

// Status says how the recorder is.
func (r *Recorder) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Armed: r.armed, Waiting: r.fires != nil}
	for i := range r.ways {
		s.Packets += len(r.ways[i].fates)
		s.Bytes += len(r.ways[i].bytes)
		s.Missed += r.ways[i].missed
		if f := r.ways[i].fates; len(f) > 0 && (s.Since.IsZero() || f[0].at.Before(s.Since)) {
			s.Since = f[0].at
		}
	}
	return s
}

// record is a fate to write, with a copy of its bytes.
type record struct {
	kept
	way   link.Way
	bytes []byte
}

// Write writes what was kept since t, both ways in order of time, as pcapng:
// interface 0 is port A, 1 is port B; a frame delivered is outbound at the
// port it left by, a lost one inbound where it came.
func (r *Recorder) Write(out io.Writer, t time.Time, about string) error {
	records, missed := r.since(t)
	w, err := newWriter(out, comment(about, missed))
	if err != nil {
		return fmt.Errorf("write capture: %w", err)
	}
	for i := range records {
		if err := w.Write(records[i].packet()); err != nil {
			return fmt.Errorf("write capture: %w", err)
		}
	}
	return nil
}

func newWriter(out io.Writer, about string) (*pcap.Writer, error) {
	return pcap.NewWriter(out, pcap.Header{Comment: about, Application: "farlink"},
		pcap.Interface{Name: "a", Description: "device side", LinkType: pcap.LinkEthernet},
		pcap.Interface{Name: "b", Description: "network side", LinkType: pcap.LinkEthernet})
}

func comment(about string, missed uint64) string {
	if missed > 0 {
		about += fmt.Sprintf("; %d frames passed too quickly to be kept", missed)
	}
	return about
}

func (r *Recorder) since(t time.Time) (all []record, missed uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range link.Ways {
		roll := &r.ways[w]
		missed += roll.missed
		for _, k := range roll.fates {
			if k.at.After(t) {
				all = append(all, record{k, w, slices.Clone(roll.bytes[k.from : k.from+k.n])})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b record) int { return a.at.Compare(b.at) })
	return all, missed
}

// packet is the record as pcapng has it.
func (r *record) packet() pcap.Packet {
	enters := 0 // up comes in at A
	if r.way == link.Down {
		enters = 1
	}
	p := pcap.Packet{Interface: 1 - enters, Time: r.at.UnixNano(), Data: r.bytes, Length: int(r.fate.Packet.Size),
		Direction: pcap.Outbound, ID: r.fate.Packet.Seq, HasID: true, Verdict: pcap.Redirected,
		Comment: fmt.Sprintf("delivered %s, packet %d%s", r.way, r.fate.Packet.Seq, marks(r.fate.Packet.Mark))}
	if r.fate.Lost() {
		p.Interface, p.Direction, p.Verdict = enters, pcap.Inbound, pcap.Dropped
		p.Comment = fmt.Sprintf("lost %s at stage %d %s, packet %d", r.fate.Cause.Reason, r.fate.Cause.Stage, r.way, r.fate.Packet.Seq)
	}
	if r.came >= 0 {
		p.Comment += recording.Note(r.way, r.came, r.fate)
	}
	return p
}

// marks names what happened to a packet beside its delay.
func marks(m link.Mark) (text string) {
	for _, one := range []struct {
		mark link.Mark
		name string
	}{{link.CE, "CE"}, {link.Corrupted, "corrupted"}, {link.Duplicate, "duplicate"}, {link.Reordered, "reordered"}, {link.Stripped, "stripped"}} {
		if m&one.mark != 0 {
			text += ", " + one.name
		}
	}
	return text
}
