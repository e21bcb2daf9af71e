package emulator

import (
	"fmt"
	"slices"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// randomDoc returns a profile that loses and reorders nothing by itself.
func randomDoc(draw link.Draw, n uint64) string {
	rates := []string{"unlimited", "3Mbit/s", "8Mbit/s", "100Mbit/s"}
	pick := func(k, of int) int { return int(draw.Uint64(n*8+uint64(k)) % uint64(of)) }
	return fmt.Sprintf("[up.queue]\nrate = %q\nlimit = \"1000000packets\"\n[up.path]\ndelay = \"%dms\"\n",
		rates[pick(0, 4)], pick(1, 4)*100)
}

// Whatever is changed into whatever, at whatever instant: nothing is lost,
// nothing overtakes, nothing is counted twice.
func TestSucceed(t *testing.T) {
	for seed := range uint64(60) {
		draw := link.NewDraw(seed, "swap")
		e := one(t, parse(t, randomDoc(draw, 0)), seed)
		s := &wayStage{e, link.Up}
		arrivals := linktest.Arrivals(seed, 3000, link.Millisecond)
		var log linktest.Log
		next := link.Time(0)
		for i, p := range arrivals {
			for next < p.When {
				s.Run(next, &log)
				next += link.Time(draw.Uint64(uint64(i)) % 3000000)
			}
			s.Put(p, &log)
			if draw.Chance(uint64(i+100000), 0.01) {
				after := one(t, parse(t, randomDoc(draw, uint64(i))), seed)
				after.Succeed(s.e, link.Up, p.When)
				s.e = after
			}
		}
		s.Run(link.Time(link.Second*60), &log)
		linktest.Conserved(t, &log, len(arrivals), s)
		linktest.Ordered(t, &log)
		if got := len(log.Delivered()); got != len(arrivals) {
			t.Fatalf("seed %d: %d of %d delivered", seed, got, len(arrivals))
		}
	}
}

// The draws go on through a change: a link changed into itself loses the
// same packets as one that is left alone.
func TestSucceedKeepsTheChannel(t *testing.T) {
	doc := "[up.loss]\nprobability = 0.05\n[up.path]\ndelay = \"20ms\"\n[up.queue]\nrate = \"30Mbit/s\""
	arrivals := linktest.Arrivals(3, 4000, link.Millisecond)
	end := link.Time(10 * link.Second)
	alone := &wayStage{one(t, parse(t, doc), 5), link.Up}
	want := linktest.Drive(alone, arrivals, linktest.EventByEvent(alone), end)
	s := &wayStage{one(t, parse(t, doc), 5), link.Up}
	changing := func(now link.Time) link.Time {
		after := one(t, parse(t, doc), 5)
		after.Succeed(s.e, link.Up, now)
		s.e = after
		return now.Add(13 * link.Millisecond)
	}
	got := linktest.Drive(s, arrivals, changing, end)
	if a, b := lost(want), lost(got); len(a) < 100 || !slices.Equal(a, b) {
		t.Errorf("lost %v\nwant %v", b, a)
	}
}

func lost(l *linktest.Log) (numbers []uint64) {
	for _, f := range l.Fates {
		if f.Lost() {
			numbers = append(numbers, f.Packet.Seq)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// A link that is no more lets out what it holds.
func TestSucceedRetires(t *testing.T) {
	p := parse(t, "[up.path]\ndelay = \"100ms\"")
	spec := Spec{Links: []LinkSpec{{Name: "a", Profile: p}, {Name: "b", Profile: p}}, Default: "b"}
	old, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	var log linktest.Log
	old.Arrive(link.Up, 5, 1, blank[:100], &log)
	e := one(t, p, 0) // has neither
	e.Succeed(old, link.Up, 50)
	if n, _ := e.Held(link.Up); n != 1 {
		t.Fatalf("%d packets held, want 1", n)
	}
	at := link.Time(5 + 100*link.Millisecond)
	if e.Next(link.Up) != at {
		t.Fatalf("next at %d, want %d", e.Next(link.Up), at)
	}
	e.Run(link.Up, at, &log)
	if len(log.Fates) != 1 || log.Fates[0].Packet.When != at {
		t.Fatalf("fates %v", log.Fates)
	}
	e.Finish(log.Fates[0].Packet, link.Up, blank[:100])
	if len(e.ways[link.Up].retired) != 0 {
		t.Error("the empty link is still kept")
	}
}

// A link whose place among the links has changed keeps its packets, under
// the new index.
func TestSucceedRelabels(t *testing.T) {
	p := parse(t, "[up.queue]\nrate = \"1Mbit/s\"\n[up.path]\ndelay = \"100ms\"")
	old := one(t, p, 0)
	var log linktest.Log
	for i := range 20 {
		old.Arrive(link.Up, link.Time(i)*link.Time(10*link.Millisecond), uint32(i), blank[:1000], &log)
		old.Run(link.Up, link.Time(i)*link.Time(10*link.Millisecond), &log)
	}
	e, err := New(Spec{Links: []LinkSpec{{Name: "first", Profile: p}, {Name: "main", Profile: p}}, Default: "main"})
	if err != nil {
		t.Fatal(err)
	}
	out := len(log.Fates)
	e.Succeed(old, link.Up, link.Time(191*link.Millisecond))
	e.Run(link.Up, link.Time(link.Second), &log)
	if out == 0 || out == 20 || len(log.Fates) != 20 {
		t.Fatalf("%d out before, %d in all", out, len(log.Fates))
	}
	linktest.Ordered(t, &log)
	for _, f := range log.Fates[out:] {
		if f.Packet.Mark.Link() != 1 {
			t.Errorf("packet %d is of link %d, want 1", f.Packet.Seq, f.Packet.Mark.Link())
		}
	}
}

// BenchmarkSucceed is a change of a link with 580,000 packets on the way:
// 300 ms of 64-byte frames at 1 Gbit/s.
func BenchmarkSucceed(b *testing.B) {
	p := parse(b, "[up.path]\ndelay = \"300ms\"")
	e := one(b, p, 1)
	var sink nothing
	for i := range 580000 {
		e.Arrive(link.Up, link.Time(i)*500, 0, blank[:64], sink)
	}
	for b.Loop() {
		next := one(b, p, 1)
		next.Succeed(e, link.Up, link.Time(290*link.Millisecond))
		e = next
	}
}
