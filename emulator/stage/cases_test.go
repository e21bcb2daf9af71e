package stage

import (
	"math"
	"slices"
	"strings"
	"testing"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// The cases are complaints about other emulators, made into tests; the
// numbers are those of the project's list.

// netem's default of 1000 packets caps 250 ms at 48 Mbit/s. Here 250 ms at
// 1 Gbit/s hold all that is on the way: 250 ms over (1514+24)·8 ns = 20,318
// full frames, none lost. The default queue is one bandwidth-delay product,
// 62.5 MB at a round trip of 500 ms; one that is smaller is reported.
func TestCase01DelayHoldsTheRate(t *testing.T) {
	rate := link.GigabitPerSecond
	config := QueueConfig{Rate: rate, FramingConfig: FramingConfig{Framing: "l1"}}.Complete(500 * link.Millisecond)
	if config.Limit.Bytes != 62_500_000 {
		t.Errorf("default limit %v, want 62.5MB", config.Limit)
	}
	chain := link.NewChain(NewQueue(config, draw("q")), NewPath(PathConfig{Delay: 250 * link.Millisecond}, draw("p")))
	sink := &linktest.Counter{}
	for _, p := range linktest.Paced(60_000, 1514, 0, rate.Time(1538)) {
		chain.Put(p, sink)
		chain.Run(p.When, sink)
	}
	if n, _ := chain.Held(); n < 20_318 || n > 20_320 || sink.Lost != 0 {
		t.Errorf("%d frames held and %d lost, want 20,318 on the way, one in service, and none", n, sink.Lost)
	}
	var problem string
	small := QueueConfig{Rate: rate, Limit: Limit{Bytes: 2e6}}
	small.CheckBuffer(250*link.Millisecond, func(path, got, want string) { problem = path + " " + got + ": " + want })
	if !strings.HasPrefix(problem, "limit 2MB: 31.25MB or more") || !strings.Contains(problem, "64Mbit/s") {
		t.Errorf("problem %q, want limit 2MB: 31.25MB or more … 64Mbit/s", problem)
	}
}

// "delay 50ms 1ms" reordered 4000 of 9000 packets. Here a million packets
// 10 us apart keep their order under jitter a hundred times as wide.
func TestCase03JitterKeepsOrder(t *testing.T) {
	for _, j := range []JitterConfig{
		{Distribution: "uniform", Spread: link.Millisecond},
		{Distribution: "normal", Spread: link.Millisecond},
		{Distribution: "pareto", Spread: link.Millisecond},
	} {
		path := NewPath(PathConfig{Delay: 50 * link.Millisecond, Jitter: &j}, draw("p"))
		sink := &orderSink{}
		p := link.Packet{Body: link.Body{Size: 100}}
		for range 1_000_000 {
			path.Put(p, sink)
			p.Seq++
			p.When += 10_000
		}
		path.Run(link.Never-1, sink)
		if sink.inversions != 0 || sink.Delivered != 1_000_000 {
			t.Errorf("%s: %d inversions in %d packets", j.Distribution, sink.inversions, sink.Delivered)
		}
	}
}

type orderSink struct {
	linktest.Counter
	last       link.Packet
	inversions int
}

func (s *orderSink) Deliver(p link.Packet) {
	if s.Delivered++; p.Seq < s.last.Seq || p.When < s.last.When {
		s.inversions++
	}
	s.last = p
}

// A packet probe of 30 KB passed a 500 kbit/s token bucket at line rate,
// since that had saved up a second of credit. 30 packets of 1000 B are
// 240,000 bits: 480 ms, 16 ms each, also after 10 s of idleness.
func TestCase06BurstAt500k(t *testing.T) {
	for _, when := range []link.Time{0, 10000 * ms} {
		q := NewQueue(QueueConfig{Rate: 500 * kbit, Limit: Limit{Bytes: 40000}}, draw("q"))
		got := linktest.Through(q, linktest.Burst(30, 1000, when)).Whens()
		if len(got) != 30 {
			t.Fatalf("%d of 30 delivered", len(got))
		}
		for i, at := range got {
			if want := when + link.Time(i+1)*16*ms; at != want {
				t.Errorf("packet %d left at %d, want %d", i, at, want)
			}
		}
	}
}

// A burst of 5 KB held 900 Mbit/s at 65 to 70 %. Full frames alone must get
// 99 % of it; here they get all of it.
func TestCase07FullRateAt900M(t *testing.T) {
	q := NewQueue(QueueConfig{Rate: 900 * mbit, Limit: Limit{Packets: 100}}, draw("q"))
	if got := linktest.Saturate(q, 900*mbit, 1514, link.Second); math.Abs(got/900e6-1) > 1e-5 {
		t.Errorf("%.0f bit/s at 900 Mbit/s", got)
	}
}

// A profile of 200 kbit/s let 1.25 Mbit/s through, and one of 2 Mbit/s gave
// 0.25 down and 1.75 up. The long-run rate is the asked one, at any size of
// packet and overload, and nothing else limits it.
func TestCase08LongRunRate(t *testing.T) {
	for _, rate := range []link.Rate{64 * kbit, 200 * kbit, 2 * mbit, 20 * mbit, 300 * mbit} {
		for _, size := range []uint16{64, 590, 1514, 9000} {
			q := NewQueue(QueueConfig{Rate: rate, Limit: Limit{Packets: 50}}, draw("q"))
			span := 2000 * rate.Time(int(size))
			if got := linktest.Saturate(q, rate, size, span); math.Abs(got/float64(rate)-1) > 1e-3 {
				t.Errorf("%v with packets of %d B: %.0f bit/s", rate, size, got)
			}
		}
	}
}

// A fixed delay is not a buffer: 20 ms of path behind a byte FIFO of 250 ms
// at 10 Mbit/s (312,500 B) make 20 ms idle and 270 ms loaded, give or take
// the one or two packets in service (1.2 ms each).
func TestCase09LatencyUnderLoad(t *testing.T) {
	for _, limit := range []Limit{{Bytes: 312_500}, {Time: 250 * link.Millisecond}, {Packets: 208}} {
		chain := link.NewChain(
			NewQueue(QueueConfig{Rate: 10 * mbit, Limit: limit}, draw("q")),
			NewPath(PathConfig{Delay: 20 * link.Millisecond}, draw("p")))
		idle := linktest.Through(chain, linktest.Burst(1, 64, 0)).Delivered()[0].When
		if idle < 20*ms || idle > 20*ms+52_000 {
			t.Errorf("%v: %d ns idle, want 20 ms and 51 us of service", limit, idle)
		}
		load := linktest.Paced(3000, 1500, 4000*1000*ms, 600*link.Microsecond)
		came := map[uint64]link.Time{}
		for _, p := range load {
			came[p.Seq] = p.When
		}
		got := linktest.Through(chain, load).Delivered()
		for _, p := range got[1000:] {
			if d := p.When - came[p.Seq]; d < 267*ms || d > 273*ms {
				t.Fatalf("%v: packet %d took %d ns under load, want 270 ms", limit, p.Seq, d)
			}
		}
	}
}

func TestCase11OutageOf5s(t *testing.T) {
	from, until := link.Time(10e9), link.Time(15e9)
	gate := NewGate(GateConfig{Cut: []CutConfig{{10 * link.Second, 5 * link.Second}}})
	log := linktest.Through(gate, linktest.Paced(20_000, 100, 0, link.Millisecond))
	if got := log.Lost(link.Cut); got != 5000 {
		t.Errorf("gate: %d of 5000 lost in an outage of 5 s", got)
	}
	for _, p := range log.Delivered() {
		if p.When >= from && p.When < until {
			t.Fatalf("gate: packet %d passed at %d", p.Seq, p.When)
		}
	}
	// A server that stands still for 5 s keeps what it has: what comes in
	// that time leaves at 15 s and after, 1 ms each.
	q := NewQueue(QueueConfig{Rate: 8 * mbit, Limit: Limit{Packets: 100}}, draw("q"))
	q.Follow(course.New(course.Config{Steps: []course.Step{{At: 10 * link.Second, Outage: true}, {At: 15 * link.Second}}}))
	got := linktest.Through(q, linktest.Paced(3, 1000, from, link.Second)).Whens()
	if want := []link.Time{until + ms, until + 2*ms, until + 3*ms}; !slices.Equal(got, want) {
		t.Errorf("queue: left at %v, want %v", got, want)
	}
}

func TestCase11LimitHoldsWithReordering(t *testing.T) {
	q := NewQueue(QueueConfig{Rate: 8 * mbit, Limit: Limit{Packets: 5}}, draw("q"))
	r := NewReorder(ReorderConfig{Probability: 0.5, Extent: 3, Delay: 5 * link.Millisecond}, draw("r"))
	chain := link.NewChain(q, r)
	var log linktest.Log
	for _, p := range linktest.Paced(2000, 1000, 0, link.Millisecond/2) {
		chain.Put(p, &log)
		if n, _ := q.Held(); n > 6 {
			t.Fatalf("%d packets in a queue of 5 and one in service", n)
		}
		if n, _ := r.Held(); n > 5 {
			t.Fatalf("%d stand aside; at 1 ms each, 5 come in 5 ms", n)
		}
	}
}

// 720 Mbit/s and 80 ms gave 300; 1000 Mbit/s swung between 1 and 193 MB/s.
// Here rate and delay are exact up to 10 Gbit/s and 1 s.
func TestCase14HighRateAndDelay(t *testing.T) {
	for _, c := range []struct {
		rate  link.Rate
		delay link.Duration
	}{{720 * mbit, 80 * link.Millisecond}, {1000 * mbit, 300 * link.Millisecond}, {10_000 * mbit, link.Second}} {
		chain := link.NewChain(
			NewQueue(QueueConfig{Rate: c.rate, Limit: Limit{Packets: 1000}}, draw("q")),
			NewPath(PathConfig{Delay: c.delay}, draw("p")))
		one := linktest.Through(chain, linktest.Burst(1, 1514, 0)).Delivered()[0].When
		if want := link.Time(c.rate.Time(1514) + c.delay); one != want {
			t.Errorf("%v, %v: one packet took %d, want %d", c.rate, c.delay, one, want)
		}
		chain = link.NewChain(
			NewQueue(QueueConfig{Rate: c.rate, Limit: Limit{Packets: 1000}}, draw("q")),
			NewPath(PathConfig{Delay: c.delay / 20}, draw("p")))
		if got := linktest.Saturate(chain, c.rate, 1514, c.delay); math.Abs(got/float64(c.rate)-1) > 1e-3 {
			t.Errorf("%v, %v: %.0f bit/s", c.rate, c.delay/20, got)
		}
	}
}
