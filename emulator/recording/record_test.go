package recording

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"farlink/emulator/air"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/stage"
	"farlink/emulator/trace/lines"
	"farlink/emulator/trace/lines/linestest"
)

// harsh is a link on which everything happens.
func harsh() link.Stage {
	draw := link.NewDraw(9, "harsh")
	return link.NewChain(
		stage.NewQueue(stage.QueueConfig{Rate: 4 * link.MegabitPerSecond, Limit: stage.Limit{Packets: 20}}, draw.Sub("queue")),
		air.NewLoss(air.LossConfig{Probability: 0.05}, draw.Sub("loss")),
		air.NewCorrupt(air.CorruptConfig{Probability: 0.05}, draw.Sub("corrupt")),
		stage.NewPath(stage.PathConfig{Delay: 30 * link.Millisecond, Jitter: &stage.JitterConfig{Distribution: "uniform", Spread: 5 * link.Millisecond}}, draw.Sub("path")),
		stage.NewReorder(stage.ReorderConfig{Probability: 0.1, Delay: 20 * link.Millisecond}, draw.Sub("reorder")),
		stage.NewDuplicate(stage.DuplicateConfig{Probability: 0.1}, draw.Sub("duplicate")))
}

// record runs arrivals through a link and returns the recording's file and
// the fates as they came about, without the stage that lost a packet.
func record(t *testing.T, s link.Stage, arrivals []link.Packet, end link.Time) ([]byte, *linktest.Log) {
	t.Helper()
	log := linktest.Drive(s, arrivals, linktest.EventByEvent(s), end)
	var out bytes.Buffer
	r := NewRecorder(&out)
	for i := range log.Fates {
		log.Fates[i].Cause.Stage = 0
		r.Meet(arrivals[log.Fates[i].Packet.Seq].When, log.Fates[i])
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), log
}

// TestRecordReplay: a recorded channel, replayed on the same arrivals, gives
// the same fates bit for bit, in order of time and, at one instant, in the
// same order.
func TestRecordReplay(t *testing.T) {
	arrivals := linktest.Arrivals(4, 5000, 2*link.Millisecond)
	end := link.Time(60 * link.Second)
	text, was := record(t, harsh(), arrivals, end)
	if was.Lost(link.QueueFull) == 0 || was.Lost(link.Random) == 0 || was.Copies == 0 {
		t.Fatal("not everything happened")
	}
	recording, err := Read(lines.File{Name: "x", Reader: bytes.NewReader(text)})
	if err != nil || recording.Packets() != 5000 {
		t.Fatal(err)
	}
	build := func() link.Stage { return NewReplay(recording) }
	is := linktest.Independent(t, build, arrivals, end)
	if len(is.Fates) != len(was.Fates) || is.Copies != was.Copies {
		t.Fatalf("%d fates, %d copies; were %d, %d", len(is.Fates), is.Copies, len(was.Fates), was.Copies)
	}
	slices.SortStableFunc(was.Fates, func(a, b link.Fate) int { return cmp.Compare(a.Packet.When, b.Packet.When) })
	for i := range is.Fates {
		if is.Fates[i] != was.Fates[i] {
			t.Fatalf("fate %d is %+v, was %+v", i, is.Fates[i], was.Fates[i])
		}
	}
	text, _ = record(t, build(), arrivals, end)
	again, _ := record(t, build(), arrivals, end)
	if !bytes.Equal(again, text) {
		t.Error("the recording of the replay is another")
	}
}

// TestReplayRound: behind its last packet the recording begins anew.
func TestReplayRound(t *testing.T) {
	r, err := Read(linestest.File(recordHeader + "\n0,5,8,60,delivered,\n1,6,6,60,random,\n"))
	if err != nil {
		t.Fatal(err)
	}
	log := &linktest.Log{}
	s := NewReplay(r)
	for i := range 4 {
		s.Put(link.Packet{When: link.Time(100 * i), Seq: uint64(i)}, log)
	}
	s.Run(1000, log)
	want := []link.Time{3, 100, 203, 300}
	for i, f := range log.Fates {
		if f.Packet.When != want[i] || f.Lost() != (i%2 == 1) {
			t.Errorf("fate %d: %+v, want at %d", i, f, want[i])
		}
	}
	linktest.NoAllocs(t, NewReplay(r), link.Millisecond)
}

// TestReplayHeld: what the recording tells nothing of stays inside.
func TestReplayHeld(t *testing.T) {
	r, err := Read(linestest.File(recordHeader + "\n1,6,9,60,delivered,ce\n"))
	if err != nil {
		t.Fatal(err)
	}
	log, s := &linktest.Log{}, NewReplay(r)
	s.Put(link.Packet{Body: link.Body{Size: 100}}, log)
	s.Put(link.Packet{When: 5, Seq: 1, Body: link.Body{Size: 60}}, log)
	if n, b := s.Held(); n != 2 || b != 160 {
		t.Errorf("%d packets, %d bytes held", n, b)
	}
	s.Run(1000, log)
	if n, b := s.Held(); n != 1 || b != 100 || len(log.Fates) != 1 || log.Fates[0].Packet.Mark != link.CE {
		t.Errorf("%d packets, %d bytes held; %+v", n, b, log.Fates)
	}
	var left []link.Packet
	s.Adopt(50, link.Packet{When: 40})
	s.Drain(func(p link.Packet) { left = append(left, p) })
	if len(left) != 1 || left[0].When != 50 {
		t.Errorf("drained %+v", left)
	}
}

func TestRecordingFaults(t *testing.T) {
	const h = recordHeader + "\n"
	for text, want := range map[string]string{
		"":                                "no header row",
		h:                                 "no rows",
		"seq\n":                           "no column",
		h + "x,0,0,0,delivered,\n":        `x:2:1: seq "x"`,
		h + "0,-1,0,0,delivered,\n":       "x:2:3: arrived_ns",
		h + "0,0,x,0,delivered,\n":        "x:2:5: left_ns",
		h + "0,5,4,0,delivered,\n":        "x:2:5: left_ns 4 before arrived_ns 5",
		h + "0,0,0,0,eaten,\n":            `x:2:9: fate "eaten"`,
		h + "0,0,0,0,none,\n":             `fate "none"`,
		h + "0,0,0,0,delivered,red\n":     `x:2:19: mark "red"`,
		h + "99999999,0,0,0,delivered,\n": "seq",
	} {
		_, err := Read(linestest.File(text))
		linestest.Refused(t, text, err, want)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestRecorderFault(t *testing.T) {
	r := NewRecorder(full{})
	for range 1000 {
		r.Meet(0, link.Fate{})
	}
	if err := r.Flush(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v", err)
	}
}

func FuzzRecording(f *testing.F) {
	f.Add(recordHeader + "\n0,5,8,60,delivered,ce+duplicate\n0,5,9,60,random,\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read(linestest.File(text))
		if err != nil {
			linestest.Refused(t, "fuzz", err, "x")
			return
		}
		s, log := NewReplay(r), &linktest.Log{}
		for i := range 3 {
			s.Put(link.Packet{When: link.Time(i), Seq: uint64(i)}, log)
		}
		s.Run(link.Never-1, log)
		linktest.Conserved(t, log, 3, s)
	})
}

func BenchmarkReplay(b *testing.B) {
	r := arrange([]uint32{0, 1, 2}, []fate{{after: 250 * link.Millisecond}, {after: 250 * link.Millisecond, rank: 1}, {reason: link.Random, rank: 2}})
	linktest.Benchmark(b, NewReplay(r), link.Millisecond)
}
