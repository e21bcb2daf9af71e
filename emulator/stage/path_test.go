package stage

import (
	"math"
	"slices"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// delays returns how long each of n packets, gap apart, was on the way, ms.
func delays(c PathConfig, n int, gap link.Duration) []float64 {
	return delaysOf(NewPath(c, draw("p")), n, gap)
}

func delaysOf(s link.Stage, n int, gap link.Duration) []float64 {
	sink := &delaySink{gap: link.Time(gap), ms: make([]float64, n)}
	p := link.Packet{Body: link.Body{Size: 100}}
	for range n {
		s.Put(p, sink)
		s.Run(p.When, sink)
		p.Seq++
		p.When += link.Time(gap)
	}
	s.Run(link.Never-1, sink)
	return sink.ms
}

type delaySink struct {
	linktest.Counter
	gap link.Time
	ms  []float64
}

func (s *delaySink) Deliver(p link.Packet) {
	s.ms[p.Seq] = float64(p.When-link.Time(p.Seq)*s.gap) / 1e6
}

// laws are distributions with a mean of 20 ms, and what they should be.
var laws = []struct {
	name   string
	config JitterConfig
	sd     float64
	law    func(ms float64) float64
}{
	{"uniform", JitterConfig{Distribution: "uniform", Spread: 15 * link.Millisecond}, 15 / math.Sqrt(3),
		func(x float64) float64 { return (x - 5) / 30 }},
	{"normal", JitterConfig{Distribution: "normal", Spread: 4 * link.Millisecond}, 4,
		func(x float64) float64 { return math.Erfc(-(x-20)/4/math.Sqrt2) / 2 }},
	// Shape 3, deviation 4: scale 4·2·sqrt(1/3) = 4.6188; the least value,
	// the scale, stands scale/2 below the mean: x is 17.6906 and more.
	{"pareto", JitterConfig{Distribution: "pareto", Spread: 4 * link.Millisecond}, 4,
		func(x float64) float64 { return 1 - math.Pow(4.6188021535/(x-20+1.5*4.6188021535), 3) }},
	// Quantiles 0, 2, 3 and 31 ms beyond 11 ms: a third of the packets in
	// each span. Mean 11 + (1+2.5+17)/3 = 17.8333; mean square of the rest
	// (4/3 + 19/3 + 1063/3)/3 = 120.667, less 6.8333²: deviation 8.6006.
	{"table", JitterConfig{Distribution: "table", Table: []link.Duration{0, 2e6, 3e6, 31e6}}, 8.600387,
		func(x float64) float64 {
			switch x -= 11; {
			case x < 2:
				return x / 6
			case x < 3:
				return 1.0/3 + (x-2)/3
			}
			return 2.0/3 + (x-3)/84
		}},
}

func meanOf(name string) (delay link.Duration, ms float64) {
	if name == "table" {
		return 11 * link.Millisecond, 17.8333
	}
	return 20 * link.Millisecond, 20
}

// The man page says "normal" where the code is uniform, and a rate turns
// netem's reordering off. Here the distribution named is the one realised
// (Kolmogorov and Smirnov, p > 0.01 at 1e5 packets, mean within 0.5 %), and a
// queue with a rate before the path changes no delay of any packet.
func TestCase04NamedDistribution(t *testing.T) {
	for _, l := range laws {
		delay, want := meanOf(l.name)
		config := PathConfig{Delay: delay, Jitter: &l.config}
		got := delays(config, 100_000, 10*link.Second) // sparse: nothing is clamped
		again := delaysOf(link.NewChain(
			NewQueue(QueueConfig{Rate: 8 * mbit}, draw("q")), NewPath(config, draw("p"))), 100_000, 10*link.Second)
		for i := range got {
			if math.Abs(again[i]-got[i]-0.1) > 1e-9 { // 100 B of service
				t.Fatalf("%s: packet %d took %v ms, with a rate %v", l.name, i, got[i], again[i])
			}
		}
		mean, sd := linktest.MeanSD(got)
		if math.Abs(mean/want-1) > 0.005 {
			t.Errorf("%s: mean %.4f ms, want %.4f", l.name, mean, want)
		}
		if math.Abs(sd/l.sd-1) > 0.05 {
			t.Errorf("%s: deviation %.4f ms, want %.4f", l.name, sd, l.sd)
		}
		if d := linktest.Kolmogorov(got, l.law); d > 1.628 {
			t.Errorf("%s: Kolmogorov-Smirnov %.3f, want below 1.628", l.name, d)
		}
	}
}

// Correlation changes what follows what, not the distribution: seen once in
// ten half-lives, it is the one named; seen after one half-life, half of a
// deviation is left.
func TestCorrelatedJitter(t *testing.T) {
	for _, l := range laws {
		delay, _ := meanOf(l.name)
		l.config.HalfLife = link.Second
		got := delays(PathConfig{Delay: delay, Jitter: &l.config}, 100_000, 10*link.Second)
		if d := linktest.Kolmogorov(got, l.law); d > 1.628 {
			t.Errorf("%s: Kolmogorov-Smirnov %.3f, want below 1.628", l.name, d)
		}
	}
	for _, c := range []struct {
		name   string
		config JitterConfig
		gap    link.Duration
		want   float64
	}{
		{"one half-life", JitterConfig{HalfLife: link.Second}, link.Second, 0.5},
		{"two half-lives", JitterConfig{HalfLife: link.Second}, 2 * link.Second, 0.25},
		{"per packet", JitterConfig{Correlation: 0.8}, 3 * link.Second, 0.8},
		{"none", JitterConfig{}, link.Second, 0},
	} {
		c.config.Distribution, c.config.Spread = "normal", link.Millisecond
		x := delays(PathConfig{Delay: 20 * link.Millisecond, Jitter: &c.config}, 100_000, c.gap)
		mean, sd := linktest.MeanSD(x)
		sum := 0.0
		for i := 1; i < len(x); i++ {
			sum += (x[i] - mean) * (x[i-1] - mean)
		}
		if got := sum / float64(len(x)-1) / (sd * sd); math.Abs(got-c.want) > 0.02 {
			t.Errorf("%s: correlation of neighbours %.4f, want %.2f", c.name, got, c.want)
		}
	}
}

// Jitter of 1 ms that keeps order shrinks beyond 1000 packets a second, or
// the mean creeps up, and nobody tells. Here, at 100,000 a second: with a
// half-life the mean is within 1 % and order is kept; without, the mean does
// creep up, and the probes say so.
func TestCase05OrderedJitterAt100kpps(t *testing.T) {
	const n = 2_000_000
	jitter := JitterConfig{Distribution: "normal", Spread: link.Millisecond, HalfLife: 20 * link.Millisecond}
	path := NewPath(PathConfig{Delay: 20 * link.Millisecond, Jitter: &jitter}, draw("p"))
	sink := &orderSink{}
	p := link.Packet{Body: link.Body{Size: 100}}
	for range n {
		path.Put(p, sink)
		p.Seq++
		p.When += 10_000
	}
	path.Run(link.Never-1, sink)
	if sink.inversions != 0 {
		t.Errorf("%d inversions", sink.inversions)
	}
	got := probes(path)
	if got["delay_asked_ms"] != 20 || math.Abs(got["delay_mean_ms"]/20-1) > 0.01 {
		t.Errorf("mean %.3f ms for %.3f asked", got["delay_mean_ms"], got["delay_asked_ms"])
	}
	if got["jitter_asked_ms"] != 1 || math.Abs(got["jitter_ms"]-1) > 0.1 {
		t.Errorf("deviation %.3f ms for %.3f asked", got["jitter_ms"], got["jitter_asked_ms"])
	}
	jitter.HalfLife = 0
	path = NewPath(PathConfig{Delay: 20 * link.Millisecond, Jitter: &jitter}, draw("p"))
	d := delaysOf(path, 100_000, 10*link.Microsecond)
	mean, sd := linktest.MeanSD(d)
	got = probes(path)
	if math.Abs(got["delay_mean_ms"]-mean) > 1e-6 || math.Abs(got["jitter_ms"]-sd) > 1e-6 {
		t.Errorf("probes %.6f ± %.6f ms, realised %.6f ± %.6f", got["delay_mean_ms"], got["jitter_ms"], mean, sd)
	}
	if mean < 21 || sd > 0.7 {
		t.Errorf("realised %.3f ± %.3f ms: want what dense packets make of it, more and less", mean, sd)
	}
}

func probes(p link.Prober) map[string]float64 {
	got := map[string]float64{}
	p.Probes(0, func(p link.Probe) { got[p.Name] = p.Value })
	return got
}

// TestPathKeepsDues: packets at 0 and 1 ms are due at 20 and 21. The delay
// becomes 5 ms at 2 ms, and 50 ms at 30: no due changes, and the newcomer at
// 3 ms is not there before those it follows.
func TestPathKeepsDues(t *testing.T) {
	var log linktest.Log
	path := NewPath(PathConfig{Delay: 20 * link.Millisecond}, draw("p"))
	swap := func(delay link.Duration, now link.Time) {
		path.Run(now, &log)
		next := NewPath(PathConfig{Delay: delay}, draw("p"))
		linktest.Succeed(next, path, now)
		path = next
	}
	put := func(seq uint64, when link.Time) {
		path.Put(link.Packet{Seq: seq, When: when, Body: link.Body{Size: 100}}, &log)
	}
	put(0, 0)
	put(1, 1*ms)
	swap(5*link.Millisecond, 2*ms)
	put(2, 3*ms)  // due at 8, waits for 21
	put(3, 20*ms) // due at 25
	swap(50*link.Millisecond, 22*ms)
	put(4, 23*ms) // due at 73
	path.Run(100*ms, &log)
	if got, want := log.Whens(), []link.Time{20 * ms, 21 * ms, 21 * ms, 25 * ms, 73 * ms}; !slices.Equal(got, want) {
		t.Errorf("arrived at %v, want %v", got, want)
	}
	linktest.Ordered(t, &log)
}

// TestPathAdoptsInOrder: what is adopted is never there before what was
// adopted first, nor before the instant of the swap.
func TestPathAdoptsInOrder(t *testing.T) {
	path := NewPath(PathConfig{}, draw("p"))
	for i, due := range []link.Time{50 * ms, 40 * ms, 60 * ms} {
		path.Adopt(0, link.Packet{Seq: uint64(i), When: due})
	}
	path.Adopt(70*ms, link.Packet{Seq: 3, When: 65 * ms})
	var log linktest.Log
	path.Run(100*ms, &log)
	if got, want := log.Whens(), []link.Time{50 * ms, 50 * ms, 60 * ms, 70 * ms}; !slices.Equal(got, want) {
		t.Errorf("arrived at %v, want %v", got, want)
	}
}

// TestPathInheritsDeviation: a correlated deviation goes on over a swap.
func TestPathInheritsDeviation(t *testing.T) {
	config := PathConfig{Delay: 20 * link.Millisecond,
		Jitter: &JitterConfig{Distribution: "normal", Spread: link.Millisecond, HalfLife: 3600 * link.Second}}
	old, next := NewPath(config, draw("p")), NewPath(config, link.NewDraw(99, "other"))
	a := delaysOf(old, 1, link.Second)[0]
	next.Inherit(0, old)
	next.last = -link.Never // as if long ago
	if b := delaysOf(next, 1, link.Second)[0]; math.Abs(a-b) > 1e-6 {
		t.Errorf("deviation %.4f ms before the swap and %.4f right after", a-20, b-20)
	}
}
