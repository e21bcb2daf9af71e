package air

import (
	"math"
	"slices"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// lostOf returns which of n packets of 1000 B, a millisecond apart, are lost.
func lostOf(c LossConfig, seed uint64, n int) []bool {
	l := NewLoss(c, link.NewDraw(seed, "loss"))
	sink := &lossSink{lost: make([]bool, n)}
	for i := range n {
		l.Put(link.Packet{When: link.Time(i) * ms, Seq: uint64(i), Body: link.Body{Size: 1000}}, sink)
	}
	return sink.lost
}

type lossSink struct {
	linktest.Counter
	lost []bool
}

func (s *lossSink) Lose(p link.Packet, _ link.Cause) { s.lost[p.Seq] = true }

func count(lost []bool) int {
	n := 0
	for _, l := range lost {
		if l {
			n++
		}
	}
	return n
}

func share(lost []bool) float64 { return float64(count(lost)) / float64(len(lost)) }

// TestIndependentLossCoverage: of 100 seeds, the 95 % interval about what
// was lost must hold what was asked in 94 or more.
func TestIndependentLossCoverage(t *testing.T) {
	for _, p := range []float64{0.0001, 0.001, 0.01, 0.1, 0.5} {
		covered := 0
		for seed := range uint64(100) {
			lost := lostOf(LossConfig{Probability: p}, seed, 20_000)
			if linktest.Covers(count(lost), len(lost), p) {
				covered++
			}
		}
		if covered < 94 {
			t.Errorf("loss %v: the interval covers it for %d of 100 seeds", p, covered)
		}
	}
}

// A segmenting NIC makes bursts of what netem loses one by one. Here, at 1 %,
// the run lengths of losses and the gaps between them are geometric.
func TestCase13LossRunsAreGeometric(t *testing.T) {
	for _, p := range []float64{0.01, 0.2} {
		of, between := linktest.Runs(lostOf(LossConfig{Probability: p}, 1, 1_000_000))
		if x, most := linktest.Geometric(of, p); x > most {
			t.Errorf("loss %v: runs of losses: chi-square %.1f, want below %.1f", p, x, most)
		}
		if x, most := linktest.Geometric(between, 1-p); x > most {
			t.Errorf("loss %v: runs between losses: chi-square %.1f, want below %.1f", p, x, most)
		}
	}
}

// TestBitErrors compares with 1-(1-BER)^(8L), as tabled from the formula
// with 50 digits; the probability itself must be right to its fourth digit,
// and what is lost within four standard deviations.
func TestBitErrors(t *testing.T) {
	for _, c := range []struct {
		ber  float64
		size uint16
		want float64
	}{
		{1e-10, 40, 3.2000e-08}, {1e-10, 1514, 1.2112e-06},
		{1e-9, 576, 4.6080e-06}, {1e-8, 1500, 1.1999e-04},
		{1e-7, 1000, 7.9968e-04}, {1e-7, 1514, 1.2105e-03},
		{1e-6, 52, 4.1591e-04}, {1e-6, 1514, 1.2039e-02},
		{1e-5, 576, 4.5035e-02}, {1e-5, 1514, 1.1407e-01},
		{1e-4, 40, 3.1495e-02}, {1e-4, 1514, 7.0218e-01},
	} {
		b := newBitErrors(c.ber, 0, draw("b"))
		b.loses(link.Packet{Body: link.Body{Size: c.size}})
		if math.Abs(b.lost/c.want-1) > 5e-5 {
			t.Errorf("BER %g, %d B: probability %.5g, want %.5g", c.ber, c.size, b.lost, c.want)
		}
	}
	const n = 200_000
	want := 0.076884 // 1000 B at 1e-5
	if got := share(lostOf(LossConfig{BER: 1e-5}, 1, n)); math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/n) {
		t.Errorf("BER 1e-5: lost %.5f, want %.5f", got, want)
	}
	want = 0.113082 // as of 1500 B, whatever the size
	if got := share(lostOf(LossConfig{BER: 1e-5, BERSize: 1500}, 1, n)); math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/n) {
		t.Errorf("BER 1e-5 as of 1500 B: lost %.5f, want %.5f", got, want)
	}
}

// TestGilbert: loss piB·badLoss + piG·goodLoss with piB = p/(p+r), within
// four standard deviations of a two-state chain; bursts of the simple model
// are geometric with mean 1/r. GE-1 to GE-4 of the reference sheet.
func TestGilbert(t *testing.T) {
	for _, c := range []struct {
		config      GilbertConfig
		p, r        float64
		loss, burst float64
	}{
		{GilbertConfig{P: .01, R: .25}, .01, .25, .03846, 4},
		{GilbertConfig{P: .001, R: .1}, .001, .1, .009901, 10},
		{GilbertConfig{P: .005, R: .5, BadLoss: .5}, .005, .5, .00495, 0},
		{GilbertConfig{Loss: .02, Burst: 5}, .0040816, .2, .02, 5},
		{GilbertConfig{P: .01, R: .25, BadLoss: .4, GoodLoss: .001}, .01, .25, .03846*.4 + .96154*.001, 0},
	} {
		if p, r := c.config.rates(); math.Abs(p-c.p) > 1e-6 || math.Abs(r-c.r) > 1e-6 {
			t.Errorf("%+v: p %v, r %v, want %v, %v", c.config, p, r, c.p, c.r)
		}
		const n = 1_000_000
		lost := lostOf(LossConfig{Gilbert: &c.config}, 1, n)
		bad, l := c.p/(c.p+c.r), 1-c.p-c.r
		sd := math.Sqrt(bad * (1 - bad) / n * (1 + l) / (1 - l))
		if got := share(lost); math.Abs(got-c.loss) > 4*sd {
			t.Errorf("%+v: lost %.5f, want %.5f ± %.5f", c.config, got, c.loss, 4*sd)
		}
		if c.burst == 0 {
			continue
		}
		of, between := linktest.Runs(lost)
		if x, most := linktest.Geometric(of, 1-c.r); x > most {
			t.Errorf("%+v: bursts: chi-square %.1f, want below %.1f", c.config, x, most)
		}
		if x, most := linktest.Geometric(between, 1-c.p); x > most {
			t.Errorf("%+v: gaps: chi-square %.1f, want below %.1f", c.config, x, most)
		}
	}
}

// TestFourState: GI-1 to GI-3; loss (w3+w4)/(w1+w2+w3+w4) with w1 = 1,
// w2 = p13·p32/(p23·p31), w3 = p13/p31, w4 = p14.
func TestFourState(t *testing.T) {
	for _, c := range []struct {
		config FourStateConfig
		loss   float64
		single bool // every loss stands alone
	}{
		{FourStateConfig{P13: .01, P31: .25, P23: 1}, .03846, false},
		{FourStateConfig{P13: .01, P31: .25, P32: .1, P23: .5, P14: .002}, .04000, false},
		{FourStateConfig{P14: .02}, .01961, true},
		{FourStateConfig{P13: .05}, .05, false}, // p31 = 1-p13: independent
	} {
		lost := lostOf(LossConfig{FourState: &c.config}, 1, 1_000_000)
		if got := share(lost); math.Abs(got-c.loss) > 0.025*c.loss {
			t.Errorf("%+v: lost %.5f, want %.5f", c.config, got, c.loss)
		}
		of, _ := linktest.Runs(lost)
		for _, length := range of {
			if c.single && length != 1 {
				t.Fatalf("%+v: a run of %d", c.config, length)
			}
		}
	}
}

// Users want a loss that goes by time: 2.56 % of it, 16.7 ms in the mean,
// 43 ms at most. From the seed alone, within 2 %, over some nine hours.
func TestCase25LossByTime(t *testing.T) {
	config := GilbertTimeConfig{Bad: 16700 * link.Microsecond, Share: 0.0256, Longest: 43 * link.Millisecond}
	for seed := range uint64(5) {
		g := newGilbertTime(config, link.NewDraw(seed, "g"))
		const cycles = 50_000
		var bad, longest link.Time
		for range cycles {
			g.loses(link.Packet{When: g.bad.End}) // on to the next
			length := g.bad.End - g.bad.Start
			bad += length
			longest = max(longest, length)
		}
		near := func(what string, got, want float64) {
			if math.Abs(got/want-1) > 0.02 {
				t.Errorf("seed %d: %s %.5g, want %.5g within 2%%", seed, what, got, want)
			}
		}
		near("share", float64(bad)/float64(g.bad.End), 0.0256)
		near("mean ms", float64(bad)/cycles/1e6, 16.7)
		near("longest ms", float64(longest)/1e6, 43)
	}
}

// TestLossByTimeMeetsAllTraffic: the bad times are the same for packets each
// 100 us and for others each 7 ms; what falls into them is lost, nothing else.
func TestLossByTimeMeetsAllTraffic(t *testing.T) {
	config := LossConfig{GilbertTime: &GilbertTimeConfig{Bad: 20 * link.Millisecond, Good: 180 * link.Millisecond}}
	often := linktest.Through(NewLoss(config, draw("l")), linktest.Paced(300_000, 100, 0, 100*link.Microsecond))
	seldom := linktest.Through(NewLoss(config, draw("l")), linktest.Paced(4_000, 1514, 0, 7*link.Millisecond))
	lost := map[link.Time]bool{}
	for _, f := range often.Fates {
		lost[f.Packet.When] = f.Lost()
	}
	n := 0
	for _, f := range seldom.Fates {
		if f.Lost() != lost[f.Packet.When] {
			t.Fatalf("at %d: lost %v and %v for two kinds of traffic", f.Packet.When, f.Lost(), lost[f.Packet.When])
		}
		if f.Lost() {
			n++
		}
	}
	// 28 s are some 140 cycles of 200 ms: 10 % of the time, give or take.
	if n < 250 || n > 560 {
		t.Errorf("%d of 4000 lost, want about 400", n)
	}
}

// TestLossByTimeLate: a packet that is heard of after the channel has moved
// on meets the state of its own time, one cycle back.
func TestLossByTimeLate(t *testing.T) {
	g := newGilbertTime(GilbertTimeConfig{Bad: 20 * link.Millisecond, Good: 180 * link.Millisecond}, draw("g"))
	bad := g.bad
	g.loses(link.Packet{When: bad.End})
	if g.bad == bad {
		t.Fatal("the channel did not move on")
	}
	for when, want := range map[link.Time]link.Reason{
		bad.Start - 1: link.None, bad.Start: link.Random, bad.End - 1: link.Random, bad.End: link.None,
	} {
		if got := g.loses(link.Packet{When: when}); got != want {
			t.Errorf("late packet of %d: %v, want %v (bad from %d to %d)", when, got, want, bad.Start, bad.End)
		}
	}
}

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		config PatternConfig
		want   []int
	}{
		{PatternConfig{Packets: []uint64{0, 3, 11}}, []int{0, 3, 11}},
		{PatternConfig{Packets: []uint64{1}, Repeat: 4}, []int{1, 5, 9, 13}},
		{PatternConfig{Bitmap: "0110"}, []int{1, 2}},
		{PatternConfig{Bitmap: "001", Repeat: 3}, []int{2, 5, 8, 11, 14}},
		{PatternConfig{Bitmap: "1", Repeat: 6}, []int{0, 6, 12}},
	} {
		checkLost(t, LossConfig{Pattern: &c.config}, 15, c.want)
	}
	// 3 of 8, even: after packets 3, 6 and 8 a whole loss is due.
	checkLost(t, LossConfig{NOfM: &NOfMConfig{Lose: 3, Of: 8}}, 16, []int{2, 5, 7, 10, 13, 15})
	checkLost(t, LossConfig{NOfM: &NOfMConfig{Lose: 0, Of: 3}}, 9, nil)
	checkLost(t, LossConfig{NOfM: &NOfMConfig{Lose: 2, Of: 2}}, 3, []int{0, 1, 2})
}

func checkLost(t *testing.T, c LossConfig, n int, want []int) {
	t.Helper()
	var got []int
	for i, lost := range lostOf(c, 1, n) {
		if lost {
			got = append(got, i)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v: lost %v, want %v", c, got, want)
	}
}

// TestNOfMAtRandom: every lot of 7 loses 2, and each place as often.
func TestNOfMAtRandom(t *testing.T) {
	lost := lostOf(LossConfig{NOfM: &NOfMConfig{Lose: 2, Of: 7, Spread: "random"}}, 1, 70_000)
	places := make([]int, 7)
	want := make([]float64, 7)
	for i := range want {
		want[i] = 10_000 * 2 / 7.0
	}
	for lot := 0; lot < len(lost); lot += 7 {
		if n := count(lost[lot : lot+7]); n != 2 {
			t.Fatalf("lot %d lost %d", lot/7, n)
		}
		for i := range 7 {
			if lost[lot+i] {
				places[i]++
			}
		}
	}
	if x, most := linktest.ChiSquare(places, want); x > most {
		t.Errorf("places %v: chi-square %.1f, want below %.1f", places, x, most)
	}
}

// TestProcessesDoNotDisturb: a process added loses more, and not others.
func TestProcessesDoNotDisturb(t *testing.T) {
	alone := lostOf(LossConfig{Probability: 0.02}, 1, 20_000)
	more := lostOf(LossConfig{Probability: 0.02, BER: 1e-6, Gilbert: &GilbertConfig{P: .001, R: .1}}, 1, 20_000)
	for i := range alone {
		if alone[i] && !more[i] {
			t.Fatalf("packet %d is lost by one process and saved by three", i)
		}
	}
	if count(more) <= count(alone) {
		t.Error("two processes more lose nothing more")
	}
}

// TestLossInherits: a burst goes on over a swap; without the old stage the
// new one would begin where its own seed says.
func TestLossInherits(t *testing.T) {
	for _, c := range []LossConfig{
		{Gilbert: &GilbertConfig{P: 1e-9, R: 1e-9}},
		{FourState: &FourStateConfig{P13: 1e-9, P31: 1e-9}},
	} {
		old, next := NewLoss(c, draw("l")), NewLoss(c, draw("l"))
		switch p := old.processes[0].(type) {
		case *gilbert:
			p.isBad = 1
		case *fourState:
			p.at = 3
		}
		next.Inherit(0, old)
		var log linktest.Log
		next.Put(link.Packet{Body: link.Body{Size: 100}}, &log)
		if log.Lost(link.Random) != 1 {
			t.Errorf("%+v: the burst ended with the old stage", c)
		}
	}
	m := NOfMConfig{Lose: 1, Of: 3}
	old, next := newNOfM(m, draw("m")), newNOfM(m, draw("m"))
	old.loses(link.Packet{})
	old.loses(link.Packet{})
	next.inherit(old)
	if next.loses(link.Packet{}) != link.Pattern {
		t.Error("n of m: the third of three was not lost after a swap")
	}
}

// A sum of faults of netem: probability gaps in the 4-state model; outages
// over 2.1 s overflow; what is reordered escapes the limit; a change of a
// parameter restarts the random stream.
func TestCase11FourStateSumsToOne(t *testing.T) {
	bad := FourStateConfig{P13: 0.7, P14: 0.4, P31: 0.6, P32: 0.5}
	got := map[string]bool{}
	LossConfig{FourState: &bad}.Check(func(path, _, _ string) { got[path] = true })
	if !got["four_state.p14"] || !got["four_state.p32"] || len(got) != 2 {
		t.Errorf("problems %v, want p14 and p32", got)
	}
	// States and losses of a chain that uses every transition: GI-2.
	l := newFourState(FourStateConfig{P13: .01, P31: .25, P32: .1, P23: .5, P14: .002}, draw("f"))
	var visits [5]int
	const n = 2_000_000
	for i := range n {
		l.loses(link.Packet{Seq: uint64(i)})
		visits[l.at]++
	}
	for i, want := range []float64{0, .95238, .00762, .03810, .00190} {
		if share := float64(visits[i]) / n; math.Abs(share-want) > 0.03*want+1e-9 {
			t.Errorf("state %d: share %.5f, want %.5f", i, share, want)
		}
	}
}

func TestCase11ChangeKeepsRandomStream(t *testing.T) {
	packets := linktest.Paced(20_000, 100, 0, link.Millisecond)
	mild, harsh := LossConfig{Probability: 0.01}, LossConfig{Probability: 0.05}
	a, b := &linktest.Log{}, &linktest.Log{}
	steady, changed := NewLoss(harsh, draw("l")), NewLoss(mild, draw("l"))
	for i, p := range packets {
		if i == 10_000 {
			next := NewLoss(harsh, draw("l"))
			next.Inherit(p.When, changed)
			changed = next
		}
		if i >= 10_000 {
			steady.Put(p, a)
			changed.Put(p, b)
		} else {
			changed.Put(p, &linktest.Counter{})
		}
	}
	if a.Digest() != b.Digest() {
		t.Error("after a change, the fates are not those of a link that was so from the start")
	}
}
