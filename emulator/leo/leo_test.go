package leo

import (
	"math"
	"slices"
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/queue"
)

const second = link.Time(link.Second)

// generator is the reference generator of the sheet, section 6.2.
var generator = Config{
	GroundLeast: 6 * link.Millisecond, GroundMost: 22 * link.Millisecond, Gateway: 300,
	Down: 150 * link.MegabitPerSecond, Up: 15 * link.MegabitPerSecond, Spread: 1.6,
	SpikeLeast: 30 * link.Millisecond, SpikeMost: 80 * link.Millisecond, Lead: 140 * link.Millisecond,
	Burst: 0.3, BurstLeast: 50 * link.Millisecond, BurstMost: 300 * link.Millisecond, BurstLossLeast: 0.5,
	Loss: 0.003,
}

func draw(seed uint64) link.Draw { return link.NewDraw(seed, "leo") }

func chain(c Config, q queue.Config, w link.Way, seed uint64) *link.Chain {
	return link.NewChain(NewServer(c, q, w, draw(seed)), NewAir(c, w, draw(seed)), NewPath(c, w, draw(seed)))
}

func TestStageProperties(t *testing.T) {
	slow := generator
	slow.Up, slow.Gap, slow.Tail, slow.Period = 2*link.MegabitPerSecond, 80*link.Millisecond, 75*link.Millisecond, 2*link.Second
	for name, v := range map[string]struct {
		c Config
		q queue.Config
	}{
		"generator":  {generator, queue.Config{}},
		"slow, gaps": {slow, queue.Config{Limit: queue.Limit{Bytes: 20000}}},
		"codel":      {slow, queue.Config{Discipline: "codel"}},
		"unlimited":  {Config{Loss: 0.1}, queue.Config{}},
	} {
		t.Run(name, func(t *testing.T) {
			build := func() link.Stage { return chain(v.c, v.q, link.Up, 1) }
			log := linktest.Independent(t, build, linktest.Arrivals(2, 8000, 3*link.Millisecond), 60*second)
			linktest.Ordered(t, log)
			if len(log.Delivered()) < 4000 {
				t.Errorf("%d of 8000 delivered", len(log.Delivered()))
			}
		})
	}
	linktest.NoAllocs(t, chain(generator, queue.Config{}, link.Down, 1), 100*link.Microsecond)
}

// LEO-2: in a run of 60 s exactly four changes, at :12 :27 :42 :57.
func TestChanges(t *testing.T) {
	n := newNetwork(generator, link.Down, draw(1))
	var changes []float64
	was := *n.at(0)
	for at := link.Time(0); at < 60*second; at += second / 100 {
		e := *n.at(at)
		if e.number != was.number {
			changes = append(changes, at.Seconds())
			if e.rate == was.rate || e.ground == was.ground || e.spike == was.spike {
				t.Errorf("at %v a figure stayed: %+v", at.Seconds(), e)
			}
		} else if e != was {
			t.Errorf("at %v something changed within an epoch", at.Seconds())
		}
		was = e
	}
	if !slices.Equal(changes, []float64{12, 27, 42, 57}) {
		t.Errorf("changes at %v", changes)
	}
}

// Both ways, and every stage, see the same epochs; other seeds see others.
func TestOneNetwork(t *testing.T) {
	down, up, other := newNetwork(generator, link.Down, draw(1)), newNetwork(generator, link.Up, draw(1)), newNetwork(generator, link.Down, draw(2))
	for at := link.Time(0); at < 300*second; at += 7 * second {
		if down.delay(at) != up.delay(at) || down.at(at).burstEnd != up.at(at).burstEnd {
			t.Errorf("at %v the ways differ", at.Seconds())
		}
		if down.delay(at) == other.delay(at) {
			t.Errorf("at %v two seeds agree", at.Seconds())
		}
	}
}

// The figures of an epoch keep to their law over 4,000 epochs: flight within
// zenith (1.835 ms) and 25 degrees (3.747 ms) to the terminal; ground
// uniform; spikes only in the first 140 ms; the median rate within 4 sigma
// (1.2533/sqrt(n) standard deviations of ln rate), its spread 1.6.
func TestLaws(t *testing.T) {
	c := generator
	c.Gateway = 0
	n := newNetwork(c, link.Down, draw(3))
	const epochs = 4000
	var rates, ground []float64
	for k := range epochs {
		begin := 12*second + link.Time(k)*15*second
		e := *n.at(begin)
		quiet := n.delay(begin+second) - e.ground
		if quiet < 2*1834*link.Microsecond || quiet > 2*3748*link.Microsecond {
			t.Fatalf("epoch %d: flight of %v", k, quiet)
		}
		if s := n.delay(begin+139*second/1000) - n.delay(begin+141*second/1000); s < 29*link.Millisecond || s > 81*link.Millisecond {
			t.Fatalf("epoch %d: spike of %v", k, s)
		}
		rates = append(rates, float64(e.rate))
		ground = append(ground, e.ground.Milliseconds())
	}
	slices.Sort(rates)
	slices.Sort(ground)
	sigma := math.Log(1.6)
	if m := math.Log(rates[epochs/2]/150e6) / sigma; math.Abs(m) > 4*1.2533/math.Sqrt(epochs) {
		t.Errorf("median rate %v", rates[epochs/2])
	}
	// One standard deviation up: the quantile 0.8413.
	if r := rates[epochs*8413/10000] / 150e6; math.Abs(r-1.6) > 0.1 {
		t.Errorf("one deviation up: factor %v, want 1.6", r)
	}
	if ground[0] < 6 || ground[epochs-1] > 22 || math.Abs(ground[epochs/2]-14) > 0.6 {
		t.Errorf("ground from %v by %v to %v ms", ground[0], ground[epochs/2], ground[epochs-1])
	}
}

// The bounds hold over 2,000 epochs, with a gateway far away.
func TestDelays(t *testing.T) {
	c := generator
	c.Gateway, c.Lead = 1000, 0
	c.SpikeMost, c.SpikeLeast = 0, 0
	least, most := c.Delays()
	n := newNetwork(c, link.Up, draw(4))
	for at := link.Time(0); at < 30000*second; at += 11 * second {
		if d := n.delay(at); d < least || d > most {
			t.Fatalf("at %v s %v, want %v to %v", at.Seconds(), d, least, most)
		}
	}
	if least < 9669*link.Microsecond || least > 9670*link.Microsecond {
		t.Errorf("least %v, want 2·1.8346 + 6 ms", least)
	}
}

// Within an epoch the delay walks with the satellite, without a jump: by at
// most 2·7.6 km/s in light, 51 us a second.
func TestWalk(t *testing.T) {
	n := newNetwork(generator, link.Down, draw(5))
	moved := false
	for at := 13 * second; at < 26*second; at += second / 10 {
		step := n.delay(at+second/10) - n.delay(at)
		if step > 6*link.Microsecond || step < -6*link.Microsecond {
			t.Errorf("at %v a jump of %v", at.Seconds(), step)
		}
		moved = moved || step != 0
	}
	if !moved {
		t.Error("the satellite stands still")
	}
}

// Loss in the long run: 0.3 % and, at 30 % of the changes, bursts of 175 ms
// in the mean, which lose 75 % in the mean: MeanLoss is 0.003 +
// 0.997·0.3·0.175/15·0.75 = 0.5617 %. Of 20 h with a packet each 7 ms.
func TestLoss(t *testing.T) {
	if m := generator.MeanLoss(); math.Abs(m-0.005617) > 1e-6 {
		t.Errorf("mean loss %v", m)
	}
	a, log := NewAir(generator, link.Down, draw(7)), &linktest.Log{}
	const n = 2_000_000
	for i := range uint64(n) {
		p := link.Packet{When: link.Time(i) * 7 * second / 1000, Seq: i, Body: link.Body{Size: 100}}
		before := len(log.Fates)
		a.Put(p, log)
		if f := log.Fates[before]; f.Cause.Reason == link.Handover {
			since := (p.When - 12*second) % (15 * second)
			if p.When < 12*second || since > 300*second/1000 {
				t.Fatalf("a burst %v after a change", since.Seconds())
			}
		}
		if i%10000 == 0 {
			log.Fates = slices.Clone(log.Fates[:0])
		}
	}
	background, bursts := float64(a.lost[0])/n, float64(a.lost[1])/n
	if math.Abs(background-0.003) > 4*math.Sqrt(0.003/n) {
		t.Errorf("background loss %v", background)
	}
	// 933 changes, each a share of 0.3·0.175·0.75/15 = 0.2625 % with a
	// deviation of about 1.7 times that: 4 sigma are 22 %.
	if math.Abs(bursts/0.002625-1) > 0.22 {
		t.Errorf("loss in bursts %v, want 0.002625", bursts)
	}
}

// A server by hand: 8 Mbit/s, changes at 1 s and each second, nothing for
// 100 ms after a change. Of 10 packets of 1000 bytes that come at 0.9955 s
// four (1 ms each) leave before the change, at 1 s half of the fifth is
// through; it leaves at 1.1005.
func TestGap(t *testing.T) {
	c := Config{Period: link.Second, Phase: link.Second, Gap: 100 * link.Millisecond, Down: 8 * link.MegabitPerSecond}
	s, log := NewServer(c, queue.Config{}, link.Down, draw(1)), &linktest.Log{}
	for i := range uint64(10) {
		s.Put(link.Packet{When: 9955 * second / 10000, Seq: i, Body: link.Body{Size: 1000}}, log)
	}
	s.Run(2*second, log)
	for i, p := range log.Delivered() {
		want := 9955*second/10000 + link.Time(i+1)*second/1000
		if i >= 4 {
			want += 100 * second / 1000
		}
		if p.When != want {
			t.Errorf("packet %d at %v, want %v", i, p.When.Seconds(), want.Seconds())
		}
	}
	cap := s.Capacity(1500 * second / 1000)
	if cap.Rate != 8*link.MegabitPerSecond || cap.NextAt != 2*second {
		t.Errorf("capacity %+v", cap)
	}
}

// An interruption of 100 ms in the midst of a packet of 1 ms, and before one
// that finds the server idle.
func TestInterrupt(t *testing.T) {
	s, log := NewServer(Config{Down: 8 * link.MegabitPerSecond}, queue.Config{}, link.Down, draw(1)), &linktest.Log{}
	const ms = second / 1000
	s.Put(link.Packet{When: 500 * ms, Body: link.Body{Size: 1000}}, log)
	s.Interrupt(500*ms+ms/2, 100*link.Millisecond)
	s.Put(link.Packet{When: 501 * ms, Seq: 1, Body: link.Body{Size: 1000}}, log)
	s.Run(700*ms, log)
	s.Interrupt(800*ms, 100*link.Millisecond)
	s.Put(link.Packet{When: 850 * ms, Seq: 2, Body: link.Body{Size: 1000}}, log)
	s.Run(second, log)
	want := []link.Time{601 * ms, 602 * ms, 901 * ms}
	for i, p := range log.Delivered() {
		if p.When != want[i] {
			t.Errorf("packet %d at %v, want %v", i, p.When.Seconds(), want[i].Seconds())
		}
	}
	if len(log.Delivered()) != 3 {
		t.Errorf("%d delivered", len(log.Delivered()))
	}
}

// A saturated server carries the rate of each epoch exactly, over a change.
func TestRateOfEpochs(t *testing.T) {
	c := generator
	c.Up = 3 * link.MegabitPerSecond
	s, log := NewServer(c, queue.Config{Limit: queue.Limit{Bytes: 100000}}, link.Up, draw(11)), &linktest.Log{}
	for i := range uint64(27 * 2000) {
		s.Put(link.Packet{When: link.Time(i) * second / 2000, Seq: i, Body: link.Body{Size: 997}}, log)
	}
	n := newNetwork(c, link.Up, draw(11))
	for _, v := range []struct{ from, to link.Time }{{1 * second, 11 * second}, {13 * second, 26 * second}} {
		var got float64
		for _, p := range log.Delivered() {
			if p.When > v.from && p.When <= v.to {
				got += 8 * 997
			}
		}
		want := float64(n.at(v.from).rate) * (v.to - v.from).Seconds()
		if math.Abs(got-want) > 8*997 {
			t.Errorf("from %v to %v s: %v bits, want %v", v.from.Seconds(), v.to.Seconds(), got, want)
		}
	}
}

// A swap keeps packets and order, in the queue and on the way.
func TestSwap(t *testing.T) {
	log := &linktest.Log{}
	a, b := chain(generator, queue.Config{}, link.Up, 1), chain(generator, queue.Config{}, link.Up, 1)
	for i := range uint64(50) {
		a.Put(link.Packet{When: second, Seq: i, Body: link.Body{Size: 1000}}, log)
	}
	now := second + second/100
	a.Run(now, log)
	for i, s := range a.Stages() {
		if h, ok := s.(link.Holder); ok {
			h.Drain(func(p link.Packet) { b.Stages()[i].(link.Holder).Adopt(now, p) })
		}
	}
	b.Run(3*second, log)
	linktest.Conserved(t, log, 50, b)
	linktest.Ordered(t, log)
}

// Swaps every 3 ms, in the midst of packets of 2 to 8 ms, change no fate.
func TestManySwaps(t *testing.T) {
	c := generator
	c.Up = 2 * link.MegabitPerSecond
	run := func(swap bool) uint64 {
		s, log := NewServer(c, queue.Config{Limit: queue.Limit{Packets: 400}}, link.Up, draw(1)), &linktest.Log{}
		for i := range uint64(400) {
			s.Put(link.Packet{Seq: i, Body: link.Body{Size: 1000}}, log)
		}
		for now := link.Time(0); now < 4*second; now += 3 * second / 1000 {
			s.Run(now, log)
			if swap {
				next := NewServer(c, queue.Config{}, link.Up, draw(1))
				next.Inherit(now, s)
				s.Drain(func(p link.Packet) { next.Adopt(now, p) })
				s = next
			}
		}
		return log.Digest()
	}
	if run(false) != run(true) {
		t.Error("fates differ")
	}
}

func TestCheck(t *testing.T) {
	for _, v := range []struct {
		edit func(*Config)
		want string
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { *c = Config{} }, ""},
		{func(c *Config) { c.Altitude, c.Elevation, c.Gateway = 100, 5, 2000 }, "altitude elevation gateway"},
		{func(c *Config) { c.Period, c.Phase = 100*link.Second, 101*link.Second }, "period phase"},
		{func(c *Config) { c.GroundLeast = link.Second }, "ground_most"},
		{func(c *Config) { c.Spread, c.Burst, c.Loss = 9, 2, math.NaN() }, "spread burst loss"},
		{func(c *Config) { c.Lead = 0 }, "lead"},
		{func(c *Config) { c.BurstLeast, c.BurstMost = 0, 0 }, "burst_most"},
		{func(c *Config) { c.Gap = 15 * link.Second }, "gap"},
	} {
		c := generator
		v.edit(&c)
		var got []string
		c.Check(func(path, text, want string) {
			if text == "" || want == "" {
				t.Errorf("%s: a silent problem", path)
			}
			got = append(got, path)
		})
		if s := strings.Join(got, " "); s != v.want {
			t.Errorf("problems at %q, want %q", s, v.want)
		}
	}
}

func TestProbes(t *testing.T) {
	c := chain(generator, queue.Config{}, link.Down, 1)
	got := map[string]float64{}
	for _, s := range c.Stages() {
		s.(link.Prober).Probes(20*second, func(p link.Probe) { got[p.Name] = p.Value })
	}
	if got["epoch"] != 1 || got["rate_bps"] < 18e6 || got["rate_bps"] > 600e6 || got["elevation_degrees"] < 25 || got["delay_ms"] < 9 {
		t.Errorf("probes %v", got)
	}
}

func BenchmarkLEO(b *testing.B) {
	linktest.Benchmark(b, chain(generator, queue.Config{}, link.Down, 1), 100*link.Microsecond)
}
