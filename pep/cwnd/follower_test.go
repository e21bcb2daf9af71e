package cwnd

import (
	"slices"
	"testing"

	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/profiles"
)

const mbit = link.MegabitPerSecond

// TestFollowSteady: 20 ms of 8 Mbit/s are 20000 bytes, of 1 Mbit/s less than
// three frames; a buffer of 25 frames bears 12.5.
func TestFollowSteady(t *testing.T) {
	for _, c := range []struct {
		capacity link.Capacity
		level    link.Size
	}{
		{link.Capacity{Rate: 8 * mbit}, 20000},
		{link.Capacity{Rate: mbit}, 3 * 1514},
		{link.Capacity{Rate: 20 * mbit, Room: 25 * 1514}, 18925},
		{link.Capacity{Rate: 20 * mbit, Room: 1514}, 1514},
	} {
		var f Follower
		want := Advice{Told: c.capacity.Rate, Level: c.level, Span: c.level, Wait: 20 * link.Millisecond}
		for _, lasting := range []link.Duration{0, link.Second} {
			if got := f.Follow(c.capacity, link.Millisecond, lasting); got != want {
				t.Errorf("%+v: %+v, want %+v", c.capacity, got, want)
			}
		}
	}
}

// TestFollowFramed: 100 ms towards 8 Mbit/s at a constant of 100 ms is all
// the way, 50 ms half of it; down, 25 of 250 ms are a tenth.
func TestFollowFramed(t *testing.T) {
	for _, c := range []struct {
		was, rate float64
		dt        link.Duration
		want      link.Rate
	}{{0, 8e6, 120, 8 * mbit}, {0, 8e6, 50, 4 * mbit}, {8e6, 0, 25, 7200 * link.KilobitPerSecond}, {8e6, 2e6, 1e6, 2 * mbit}, {5e6, 9e6, -1, 5 * mbit}} {
		f := Follower{told: c.was}
		got := f.Follow(link.Capacity{Rate: link.Rate(c.rate), Most: 50 * mbit}, c.dt*link.Millisecond, link.Millisecond)
		if got.Told != c.want || got.Pace != 50*mbit || got.Carry != 2*c.want {
			t.Errorf("from %v towards %v in %v ms: %+v, want %v", c.was, c.rate, int64(c.dt), got, c.want)
		}
	}
}

// TestFollowDemand: the pace begins with the most, goes towards the grant
// while more than the level waits, and towards the most while less does.
func TestFollowDemand(t *testing.T) {
	var f Follower
	c := link.Capacity{Rate: 4 * mbit, Most: 8 * mbit, OnDemand: true}
	a := f.Follow(c, link.Second, 20*link.Millisecond)
	if a.Pace != 8*mbit || a.Level != 20000 || a.Span != 800000 || a.Carry != a.Pace || a.Wait != 20*link.Millisecond {
		t.Errorf("begins with %+v", a)
	}
	c.Queue = 30000
	if a = f.Follow(c, 400*link.Millisecond, 20*link.Millisecond); a.Pace != 7600*link.KilobitPerSecond {
		t.Errorf("over the level, 0.4 of 4 s: %v, want 7.6 Mbit/s", a.Pace)
	}
	c.Queue = 0
	if a = f.Follow(c, 500*link.Millisecond, 20*link.Millisecond); a.Pace != 7800*link.KilobitPerSecond {
		t.Errorf("under the level, 0.5 of 1 s: %v, want 7.8 Mbit/s", a.Pace)
	}
	c.Loop = 500 * link.Millisecond
	if a = f.Follow(c, 0, 20*link.Millisecond); a.Level != 7800*link.KilobitPerSecond.Bytes(520*link.Millisecond) {
		t.Errorf("asked for on account of what waits: level %v, want 520 ms", a.Level)
	}
}

// TestClosedLoop sends by the law over return links that are granted on
// demand, in virtual time, and holds waiting time and use against what can be
// had: where the agent asks ahead, next to nothing waits; where it asks on
// account of what waits, one loop of the full grant does.
func TestClosedLoop(t *testing.T) {
	for _, c := range []struct {
		profile string
		wait    float64 // ms, 99th percentile, most
		of      float64 // the most that may be granted, least part
	}{{"dvbrcs/seed-004", 50, 0.95}, {"dvbrcs/worked-predict", 50, 0.95}, {"dvbrcs/worked-conserve", 700, 0.93}, {"dvbrcs/worked-vbdc", 700, 0.93}} {
		got := sendOver(t, c.profile, 20*link.Second, 5*link.Second)
		if got.use < 0.97 || got.of < c.of || got.wait > c.wait {
			t.Errorf("%s: %.1f ms at the 99th percentile, %.3f of the grant used, %.3f of the most granted; want at most %v, at least 0.97 and %v",
				c.profile, got.wait, got.use, got.of, c.wait, c.of)
		}
	}
}

// outcome is what a transfer saw, after its start: waiting time at the 99th
// percentile, and the parts of the grant used and of the most granted.
type outcome struct{ wait, use, of float64 }

// transfer is a sender that follows the law, frame by frame.
type transfer struct {
	t       *testing.T
	since   link.Time // what comes out from then on counts
	sent    []link.Time
	back    []link.Time // when acknowledgements come
	waits   []float64
	carried float64
}

func (x *transfer) Copy(link.Packet)                 {}
func (x *transfer) Lose(p link.Packet, c link.Cause) { x.t.Fatalf("packet %d lost: %v", p.Seq, c) }
func (x *transfer) Deliver(p link.Packet) {
	const path = 250 * link.Millisecond
	x.back = append(x.back, p.When.Add(path))
	if p.When >= x.since {
		x.carried += float64(p.Size)
		x.waits = append(x.waits, (p.When.Sub(x.sent[0]) - path).Milliseconds())
	}
	x.sent = x.sent[1:]
}

func sendOver(t *testing.T, profile string, lasting, start link.Duration) outcome {
	t.Helper()
	s, err := profiles.Lookup(profile)
	if err != nil {
		t.Fatal(err)
	}
	e, err := emulator.New(emulator.Spec{Links: []emulator.LinkSpec{{Name: "main", Profile: s.Profile, Seed: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	const step = 500 * link.Microsecond
	var f Follower
	var law XLayer
	var granted, most float64
	bytes := make([]byte, frame)
	bytes[12] = 8 // IPv4
	x := transfer{t: t, since: link.Time(start)}
	flying, next := 0, link.Time(0)
	for now := link.Time(0); now < link.Time(lasting); now = now.Add(step) {
		e.Run(link.Up, now, &x)
		for len(x.back) > 0 && x.back[0] <= now {
			x.back, flying = x.back[1:], flying-1
		}
		c, _ := e.Capacity(link.Up, 0, now)
		a := f.Follow(c, step, c.NextAt.Sub(now))
		window, _ := law.Window(law.Share(a.Carry, 1, 1448), 500*link.Millisecond+a.Wait, 1448)
		pace := law.Level(a.Pace, c.Queue, a.Level, a.Span, frame)
		for next = max(next, now.Add(-step)); next <= now && float64(flying) < window; flying++ {
			x.sent = append(x.sent, now)
			e.Arrive(link.Up, now, 0, bytes, &x)
			next = next.Add(link.Duration(frame * 8e9 / float64(pace)))
		}
		// What leaves the path now had its slots one path earlier.
		if at := now.Add(250 * link.Millisecond); at >= x.since && at < link.Time(lasting) {
			granted += float64(c.Rate) / 8 * step.Seconds()
			most += float64(c.Most) / 8 * step.Seconds()
		}
	}
	slices.Sort(x.waits)
	return outcome{x.waits[len(x.waits)*99/100], x.carried / granted, granted / most}
}
