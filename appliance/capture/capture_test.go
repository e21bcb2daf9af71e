package capture

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/pcap"
)

// told is a tap that tests fill.
type told struct {
	now  link.Time
	came link.Time
	on   [2]bool
	head [2]uint64
	has  [2][]link.Fate
}

func (t *told) Tap(w link.Way, on bool)  { t.on[w] = on }
func (t *told) Tapped(w link.Way) uint64 { return t.head[w] }
func (t *told) RunTime() link.Time       { return t.now }
func (t *told) Fates(w link.Way, from uint64, yield func(link.Time, link.Fate, []byte) bool) (uint64, uint64) {
	for ; from < t.head[w]; from++ {
		if !yield(t.came, t.has[w][from], bytes.Repeat([]byte{byte(from)}, 60)) {
			break
		}
	}
	return from, 0
}

func (t *told) tell(w link.Way, f link.Fate) {
	t.has[w] = append(t.has[w], f)
	t.head[w]++
}

func fate(at link.Time, seq uint64, lost link.Reason, m link.Mark) link.Fate {
	return link.Fate{Packet: link.Packet{When: at, Seq: seq, Body: link.Body{Size: 1514, Mark: m}}, Cause: link.Cause{Reason: lost, Stage: 2}}
}

func TestCapture(t *testing.T) {
	clock := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	tap := &told{now: link.Time(100 * time.Second), came: -1}
	r := &Recorder{Source: func() Tap { return tap }, Now: func() time.Time { return clock }}
	tap.tell(link.Up, fate(1, 0, link.None, 0)) // before it was armed
	r.take()
	if tap.on[link.Up] {
		t.Fatal("tapped without being armed")
	}
	r.Arm(true)
	r.take()
	tap.tell(link.Up, fate(tap.now-5e8, 7, link.None, link.Corrupted|link.Duplicate))
	tap.tell(link.Up, fate(tap.now-4e8, 8, link.QueueFull, 0))
	tap.tell(link.Down, fate(tap.now-45e7, 3, link.None, 0))
	r.take()
	if s := r.Status(); !s.Armed || s.Packets != 3 || s.Bytes != 180 || s.Missed != 0 || s.Since != clock.Add(-500*time.Millisecond) {
		t.Errorf("%+v", s)
	}
	got := read(t, r, clock.Add(-time.Minute))
	want := []struct {
		face    int
		d       pcap.Direction
		at      time.Duration
		comment string
	}{
		{1, pcap.Outbound, -500 * time.Millisecond, "delivered up, packet 7, corrupted, duplicate"},
		{0, pcap.Outbound, -450 * time.Millisecond, "delivered down, packet 3"},
		{0, pcap.Inbound, -400 * time.Millisecond, "lost queue_full at stage 2 up, packet 8"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d packets", len(got))
	}
	for i, w := range want {
		p := got[i]
		if p.Interface != w.face || p.Direction != w.d || p.Time != clock.Add(w.at).UnixNano() || p.Comment != w.comment || p.Length != 1514 || len(p.Data) != 60 {
			t.Errorf("packet %d: %+v", i, p)
		}
	}
	if got := read(t, r, clock.Add(-430*time.Millisecond)); len(got) != 1 {
		t.Errorf("%d packets since then", len(got))
	}

	// A minute on, the roll has forgotten them.
	clock, tap.now = clock.Add(time.Minute), tap.now+link.Time(time.Minute)
	r.take()
	if s := r.Status(); s.Packets != 0 || s.Bytes != 0 {
		t.Errorf("a minute on: %+v", s)
	}
	r.Arm(false)
	if tap.on[link.Up] || r.Status().Armed {
		t.Error("still tapped")
	}
}

func read(t *testing.T, r *Recorder, since time.Time) (all []pcap.Packet) {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, since, "about"); err != nil {
		t.Fatal(err)
	}
	in, err := pcap.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Data = bytes.Clone(p.Data)
		all = append(all, p)
	}
}

func TestTrigger(t *testing.T) {
	tap := &told{}
	r := &Recorder{Source: func() Tap { return tap }, Now: time.Now}
	r.Arm(true)
	r.take()
	fired := ""
	r.Watch(Trigger{Lost: link.Random}, func(why string) { fired += why })
	for _, reason := range []link.Reason{link.None, link.QueueFull, link.Random, link.Random} {
		tap.tell(link.Down, fate(0, 0, reason, 0))
		if why, fires := r.take(); fires != nil {
			fires(why)
		}
	}
	if fired != "lost random" || r.Status().Waiting {
		t.Errorf("fired %q", fired)
	}
	r.Watch(Trigger{Mark: link.CE}, func(why string) { fired = why })
	tap.tell(link.Up, fate(0, 0, link.None, link.CE))
	if why, fires := r.take(); fires == nil || why != "marked" {
		t.Error("a mark does not fire")
	}
}

// TestFlood: more fates at a look than are taken, and an engine that is
// another.
func TestFlood(t *testing.T) {
	tap := &told{now: 1}
	var source Tap = tap
	r := &Recorder{Source: func() Tap { return source }, Now: time.Now}
	r.Arm(true)
	r.take()
	for i := range uint64(perLook + 500) {
		tap.tell(link.Up, fate(1, i, link.None, 0))
	}
	r.take()
	if s := r.Status(); s.Packets != perLook || s.Missed != 500 {
		t.Errorf("%+v", s)
	}
	var b bytes.Buffer
	if err := r.Write(&b, time.Time{}, "x"); err != nil || !strings.Contains(b.String(), "500 frames passed too quickly") {
		t.Errorf("%v, it does not say what is missing", err)
	}
	source = nil
	r.take()
	next := &told{now: 1}
	source = next
	r.take()
	if !next.on[link.Down] {
		t.Error("the next engine is not tapped")
	}
	// Bytes are bounded.
	roll := &roll{}
	big := make([]byte, 1<<20)
	for range 100 {
		roll.add(time.Now(), -1, link.Fate{}, big)
		roll.forget(time.Time{})
		if len(roll.bytes) > 2*rollMost+len(big) {
			t.Fatalf("%d bytes held", len(roll.bytes))
		}
	}
}
