package capture

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/recording"
	"farlink/emulator/trace/lines"
)

// disk is a file that holds so much.
type disk struct {
	bytes.Buffer
	holds  int
	closed int
}

func (d *disk) Write(b []byte) (int, error) {
	if d.holds > 0 && d.Len()+len(b) > d.holds {
		return 0, errors.New("no space left on device")
	}
	return d.Buffer.Write(b)
}

func (d *disk) Close() error { d.closed++; return nil }

// loaded gives a recorder two minutes of fates, a look each 100 ms: packet n
// comes at n·10 ms and takes 250 ms and n ns, each 7th is lost on the air.
func loaded(t *testing.T, file *disk, most int64) (r *Recorder, heard *Streamed) {
	t.Helper()
	clock := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	tap := &told{}
	r = &Recorder{Source: func() Tap { return tap }, Now: func() time.Time { return clock }}
	heard = &Streamed{}
	if err := r.Stream(file, most, "run x", func(is Streamed) { *heard = is }); err != nil {
		t.Fatal(err)
	}
	if !tap.on[link.Up] {
		t.Fatal("not tapped")
	}
	for n := range uint64(12_000) {
		came := link.Time(n) * link.Time(10*link.Millisecond)
		f := fate(came+link.Time(250*link.Millisecond)+link.Time(n), n, link.None, 0)
		if n%7 == 3 {
			f = fate(came, n, link.Random, 0)
		}
		tap.came, tap.now = came, f.Packet.When
		clock = clock.Add(10 * time.Millisecond)
		tap.tell(link.Up, f)
		r.look()
	}
	return r, heard
}

// TestStreamReplays: all of a run of two minutes is in the stream, though a
// capture reaches back 30 s; what it becomes gives the packets the same fates
// again, to the nanosecond.
func TestStreamReplays(t *testing.T) {
	file := &disk{}
	r, _ := loaded(t, file, 1<<30)
	if n := r.Status().Packets; n > 6500 {
		t.Errorf("%d packets in the capture", n)
	}
	is := r.EndStream()
	if is.Packets != 12_000 || is.Why != "" || is.Missed != 0 || is.Bytes != int64(file.Len()) || file.closed != 1 {
		t.Fatalf("%+v, %d bytes, closed %d times", is, file.Len(), file.closed)
	}
	tape, err := recording.ReadTape(lines.File{Name: "channel", Reader: bytes.NewReader(file.Bytes())}, link.Up, 0)
	if err != nil || tape.Packets() != 12_000 || tape.Torn {
		t.Fatalf("%v, %+v", err, tape)
	}
	var rows bytes.Buffer
	if err := tape.Record(&rows); err != nil {
		t.Fatal(err)
	}
	recorded, err := recording.Read(lines.File{Name: "rows", Reader: &rows})
	if err != nil {
		t.Fatal(err)
	}
	var log linktest.Log
	again := recording.NewReplay(recorded)
	for n := range uint64(12_000) {
		again.Put(link.Packet{When: link.Time(n) * link.Time(10*link.Millisecond), Seq: n, Body: link.Body{Size: 1514}}, &log)
	}
	again.Run(link.Never-1, &log)
	for _, f := range log.Fates {
		n := f.Packet.Seq
		came := link.Time(n) * link.Time(10*link.Millisecond)
		if lost := n%7 == 3; f.Lost() != lost || !lost && f.Packet.When != came+link.Time(250*link.Millisecond)+link.Time(n) {
			t.Fatalf("packet %d: %+v", n, f)
		}
	}
	if len(log.Fates) != 12_000 {
		t.Errorf("%d fates", len(log.Fates))
	}
	if r.EndStream() != (Streamed{}) || r.tap != nil {
		t.Error("it goes on, or the tap does")
	}
}

// TestStreamEnds: at its bound, or the disk's, a stream ends, says why, and
// what it has is whole.
func TestStreamEnds(t *testing.T) {
	for _, c := range []struct {
		file *disk
		most int64
		why  string
	}{
		{&disk{}, 500_000, "as many as it may"},
		{&disk{holds: 600_000}, 1 << 30, "no space left on device"},
	} {
		r, heard := loaded(t, c.file, c.most)
		if !heard.Ended || !strings.Contains(heard.Why, c.why) || heard.Packets == 0 || c.file.closed != 1 || int64(c.file.Len()) > c.most {
			t.Errorf("%s: %+v, %d bytes", c.why, *heard, c.file.Len())
		}
		tape, err := recording.ReadTape(lines.File{Name: "channel", Reader: bytes.NewReader(c.file.Bytes())}, link.Up, 0)
		if err != nil || tape.Packets() == 0 || uint64(tape.Packets()) > heard.Packets {
			t.Errorf("%s: %v, %+v", c.why, err, tape)
		}
		if is := r.EndStream(); is != *heard {
			t.Errorf("%+v", is)
		}
	}
	// Cut off within a packet, it is read up to there.
	file := &disk{}
	r, _ := loaded(t, file, 1<<30)
	r.EndStream()
	tape, err := recording.ReadTape(lines.File{Name: "channel", Reader: bytes.NewReader(file.Bytes()[:file.Len()/2])}, link.Up, 0)
	if err != nil || !tape.Torn || tape.Packets() < 5900 {
		t.Errorf("%v, %+v", err, tape)
	}
}
