package emulator

import (
	"fmt"
	"testing"

	"farlink/emulator/frame/frametest"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

const eventful = `[up.queue]
rate = "4Mbit/s"
limit = "100000packets"
[up.path]
delay = "30ms"
[[timeline]]
at = "200ms"
for = "600ms"
ramp = "200ms"
step = "10ms"
set = {"up.queue.rate" = "9Mbit/s", "up.path.delay" = "50ms"}
[[timeline]]
at = "300ms"
every = "150ms"
repeat = 4
handover = "40ms"
[[timeline]]
at = "1s"
set = {"up.path.delay" = "5ms"}
`

// Changes happen at their own instants: the fates do not depend on when the
// driver looks, nothing is lost, nothing overtakes.
func TestTimelineIndependent(t *testing.T) {
	for _, doc := range []string{eventful, eventful + "[[timeline]]\nat = \"500ms\"\nfor = \"100ms\"\ncut = \"up\"\n[[timeline]]\nat=\"700ms\"\nset={\"up.loss.probability\"=0.2}\n"} {
		arrivals := linktest.Arrivals(4, 1500, link.Millisecond)
		log := linktest.Independent(t, func() link.Stage {
			return &wayStage{one(t, parse(t, doc), 3), link.Up}
		}, arrivals, link.Time(20*link.Second))
		linktest.Ordered(t, log)
		if doc == eventful && len(log.Delivered()) != len(arrivals) {
			t.Errorf("%d of %d delivered", len(log.Delivered()), len(arrivals))
		}
	}
}

// What the timeline says is what packets meet: the delay of a packet that is
// alone, by hand.
func TestTimelineDelays(t *testing.T) {
	doc := `[up.path]
delay = "10ms"
[[timeline]]
at = "1s"
for = "1s"
set = {"up.path.delay" = "30ms"}
[[timeline]]
at = "3s"
handover = "200ms"
[[timeline]]
at = "4s"
for = "1s"
cut = "both"
`
	s := &wayStage{one(t, parse(t, doc), 1), link.Up}
	var log linktest.Log
	for i := range 12 {
		at := link.Time(i) * link.Time(500*link.Millisecond)
		s.Run(at, &log)
		s.Put(link.Packet{When: at, Body: link.Body{Size: 100}}, &log)
	}
	s.Run(link.Time(20*link.Second), &log)
	var got []string
	for _, f := range log.Fates {
		word := fmt.Sprint(f.Cause.Reason)
		if !f.Lost() {
			word = fmt.Sprint((f.Packet.When - link.Time(f.Packet.Seq)*link.Time(500*link.Millisecond)) / link.Time(link.Millisecond))
		}
		got = append(got, word)
	}
	const want = "[10 10 30 30 10 10 210 10 cut cut 10 10]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// A timeline begins when its profile is put in force, goes on over a change
// of other keys, and begins anew when it is another.
func TestTimelineOverChanges(t *testing.T) {
	const base = "[[timeline]]\nat = \"1s\"\nset = {\"up.path.delay\" = \"30ms\"}\n"
	second := link.Time(link.Second)
	old := one(t, parse(t, ""), 1)
	e := one(t, parse(t, base), 1)
	e.Succeed(old, link.Up, 10*second)
	if got := e.Next(link.Up); got != 11*second {
		t.Errorf("first change at %d, want at 11 s", got)
	}
	first := one(t, parse(t, base), 1)
	first.Begin(link.Up, 5*second)
	if got := first.Next(link.Up); got != 6*second {
		t.Errorf("after nothing, first change at %d, want at 6 s", got)
	}
	same := one(t, parse(t, "[up.loss]\nprobability = 0.1\n"+base), 1)
	same.Succeed(e, link.Up, 10*second+second/2)
	if got := same.Next(link.Up); got != 11*second {
		t.Errorf("after a change of another key at %d, want at 11 s", got)
	}
	other := one(t, parse(t, base+"[[timeline]]\nat = \"3s\"\ncut = \"up\"\n"), 1)
	other.Succeed(same, link.Up, 12*second)
	if got := other.Next(link.Up); got != 13*second {
		t.Errorf("another timeline's first change at %d, want at 13 s", got)
	}
}

// Armed by the first packet of a match, either way, for both ways.
func TestTimelineArmed(t *testing.T) {
	e := one(t, parse(t, "[arm]\nport = \"443\"\n[[timeline]]\nat = \"1s\"\ncut = \"both\"\n"), 1)
	if !e.Coupled() {
		t.Error("a timeline that waits for a packet couples the ways")
	}
	var log linktest.Log
	second := link.Time(link.Second)
	e.Arrive(link.Up, second, 0, frametest.Of(frametest.Type4, frametest.IPv4(0, 1, 0, "10.0.0.1", "10.0.0.2")), &log)
	if e.Next(link.Down) != link.Never {
		t.Fatal("armed by a packet that does not match")
	}
	e.Arrive(link.Up, 2*second, 0, frametest.Of(frametest.Type4, frametest.IPv4(0, 17, 0, "10.0.0.1", "10.0.0.2", frametest.Ports...)), &log)
	for _, w := range link.Ways {
		if got := e.Next(w); got != 3*second {
			t.Errorf("%s: first change at %d, want at 3 s", w, got)
		}
	}
}

// A driver that did not look for a day makes no million changes, and finds
// the link as it is to be.
func TestTimelineSkips(t *testing.T) {
	e := one(t, parse(t, "[[timeline]]\nevery = \"10ms\"\nfor = \"5ms\"\nset = {\"up.path.delay\" = \"30ms\"}\n"), 1)
	var log linktest.Log
	day := link.Time(86400 * link.Second)
	e.Run(link.Up, day, &log)
	e.Arrive(link.Up, day+1000, 0, blank[:100], &log)
	e.Run(link.Up, 2*day, &log)
	if n := len(log.Fates); n != 1 || log.Fates[0].Packet.When != day+1000+link.Time(30*link.Millisecond) {
		t.Errorf("fates %v", log.Fates)
	}
}

func BenchmarkTimelineStep(b *testing.B) {
	e := one(b, parse(b, "[up.queue]\nrate = \"8Mbit/s\"\n[up.path]\ndelay = \"300ms\"\n[[timeline]]\nevery = \"1ms\"\nfor = \"500us\"\nset = {\"up.queue.rate\" = \"4Mbit/s\"}\n"), 1)
	var sink nothing
	for b.Loop() {
		e.Run(link.Up, e.Next(link.Up), sink)
	}
}
