package nr

import (
	"math"
	"strings"
	"testing"

	"farlink/emulator/drift"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/queue"
)

const (
	second = link.Time(link.Second)
	ms     = link.Time(link.Millisecond)
	us     = link.Time(link.Microsecond)
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.6g, want %.6g ± %.2g", what, got, want, tolerance)
	}
}

// hundred is 100 MHz at 30 kHz, DDDSU.
func hundred() Config {
	return Config{Numerology: 1, PRB: 273, Pattern: "DDDSU",
		Down: Radio{Layers: 4, Table: "256qam", SINR: 35, Overhead: 0.14},
		Up:   Radio{Layers: 1, SINR: 25, Overhead: 0.08}}
}

// NR-1..3: peak rates of TS 38.306, and times the share of TDD.
func TestPeak(t *testing.T) {
	tdd := hundred()
	fdd := tdd
	fdd.Pattern = ""
	near(t, "NR-1", float64(fdd.Peak(link.Down))/1e6, 2337.0, 0.06)
	near(t, "NR-1 DDDSU", float64(tdd.Peak(link.Down))/1e6, 1736, 0.5)
	near(t, "NR-2", float64(fdd.Peak(link.Up))/1e6, 468.8, 0.06)
	near(t, "NR-2 DDDSU", float64(tdd.Peak(link.Up))/1e6, 107.1, 0.1)
	small := Config{PRB: 106, Down: Radio{Layers: 2, SINR: 30, Overhead: 0.14}}
	near(t, "NR-3", float64(small.Peak(link.Down))/1e6, 170.14, 0.01)
	if tdd.Rate(link.Down) != tdd.Peak(link.Down) {
		t.Error("35 dB do not give the peak")
	}
}

// NR-4: the slot; and the shares of DDDSU with S = 10:2:2, 52/70 and 16/70.
func TestSlots(t *testing.T) {
	for mu, want := range []link.Duration{1000, 500, 250, 125} {
		if got := (Config{Numerology: mu}).Slot(); got != want*link.Microsecond {
			t.Errorf("numerology %d: %v", mu, got)
		}
	}
	for w, want := range map[link.Way]float64{link.Down: 0.7429, link.Up: 0.2286} {
		n := 0
		for _, s := range hundred().complete().roles(w) {
			n += s
		}
		near(t, "share of symbols", float64(n)/70, want, 5e-5)
	}
}

// The efficiencies of 38.214's tables rise, and so does what they need; the
// 256QAM table ends with 6.2266, 6.9141, 7.4063 (36.213 Table 7.2.3-2).
func TestTables(t *testing.T) {
	for _, table := range [][]cqi{table64, table256} {
		if len(table) != 15 {
			t.Errorf("%d rows", len(table))
		}
		for i := 1; i < len(table); i++ {
			if table[i].efficiency() <= table[i-1].efficiency() || table[i].sinr <= table[i-1].sinr {
				t.Errorf("row %d does not rise", i+1)
			}
		}
	}
	for i, want := range map[int]float64{0: 0.1523, 1: 0.3770, 11: 5.5547, 12: 6.2266, 13: 6.9141, 14: 7.4063} {
		near(t, "efficiency", table256[i].efficiency(), want, 5e-5)
	}
	for sinr, want := range map[float64]int{-7: 0, -6.7: 1, 8: 7, 22.69: 14, 40: 15} {
		if _, got := (Radio{}).best(sinr); got != want {
			t.Errorf("%v dB: CQI %d, want %d", sinr, got, want)
		}
	}
}

func TestServerProperties(t *testing.T) {
	rough := hundred()
	rough.PRB, rough.Share = 24, 0.2
	rough.Down = Radio{SINR: 9, Shadowing: 6, ShadowingTime: link.Second, BLER: 0.3}
	rough.Up = Radio{SINR: 5, Shadowing: 8, ShadowingTime: link.Second, BLER: 0.1}
	rough.Request, rough.HandoverEvery, rough.Interruption = 10*link.Millisecond, 2*link.Second, 100*link.Millisecond
	for name, v := range map[string]struct {
		c Config
		q queue.Config
		w link.Way
	}{
		"peak down":  {hundred(), queue.Config{}, link.Down},
		"rough down": {rough, queue.Config{Limit: queue.Limit{Bytes: 50000}}, link.Down},
		"rough up":   {rough, queue.Config{Limit: queue.Limit{Bytes: 50000}}, link.Up},
		"pie up":     {rough, queue.Config{Discipline: "pie"}, link.Up},
	} {
		t.Run(name, func(t *testing.T) {
			build := func() link.Stage { return NewServer(v.c, v.q, v.w, link.NewDraw(3, "nr")) }
			log := linktest.Independent(t, build, linktest.Arrivals(4, 6000, 2*link.Millisecond), 60*second)
			linktest.Ordered(t, log)
			if len(log.Delivered()) < 1000 {
				t.Errorf("%d delivered", len(log.Delivered()))
			}
		})
	}
	linktest.NoAllocs(t, NewServer(hundred(), queue.Config{}, link.Down, link.Draw{}), 20*link.Microsecond)
	linktest.NoAllocs(t, NewServer(rough, queue.Config{}, link.Up, link.Draw{}), 20*link.Microsecond)
}

// Latency by hand, DDDSU at 0.5 ms: slot 3 is S, slot 4 U.
func TestLatency(t *testing.T) {
	conf := hundred()
	for _, v := range []struct {
		name    string
		way     link.Way
		request link.Duration
		at      link.Time
		want    link.Time
	}{
		// 0.1 + 0.5 of processing: slot 2, from 1.0 to 1.5, and 0.5 more.
		{"down", link.Down, 0, 100 * us, 2 * ms},
		// 1.6 + 0.5: slot 5, the next D (3 has down symbols, 4 none): 2.1
		// is past 3 at 1.5 and 4 at 2.0, so from 2.5 to 3.0.
		{"down before U", link.Down, 0, 1600 * us, 3500 * us},
		// Granted beforehand: 0.1 + 0.5, the next slot with up symbols is
		// the S of 1.5.
		{"up granted", link.Up, 0, 100 * us, 2500 * us},
		// Request at 5 ms, grant 2.5 later: 7.5, slot 15 = D, 18 is S at
		// 9.0; through at 9.5 + 0.5.
		{"up asked", link.Up, 5 * link.Millisecond, 100 * us, 10 * ms},
	} {
		conf.Request = v.request
		s, log := NewServer(conf, queue.Config{}, v.way, link.Draw{}), &linktest.Log{}
		s.Put(link.Packet{When: v.at, Body: link.Body{Size: 100}}, log)
		s.Run(second, log)
		if got := log.Delivered(); len(got) != 1 || got[0].When != v.want {
			t.Errorf("%s: %+v, want %v", v.name, got, v.want)
		}
	}
}

// saturate measures the rate of a way over a second.
func saturate(c Config, w link.Way, gap link.Duration) float64 {
	s, log := NewServer(c, queue.Config{Limit: queue.Limit{Bytes: 4_000_000}}, w, link.NewDraw(5, "nr")), &linktest.Log{}
	for i := range uint64(2 * second / link.Time(gap)) {
		s.Put(link.Packet{When: link.Time(i) * link.Time(gap), Seq: i, Body: link.Body{Size: 1514}}, log)
	}
	bits := 0.0
	for _, p := range log.Delivered() {
		if p.When > second && p.When <= 2*second {
			bits += 8 * 1514
		}
	}
	return bits
}

// A saturated carrier carries what the formula says, of which blocks that
// fail and are sent again take their share.
func TestRate(t *testing.T) {
	c := hundred()
	near(t, "down", saturate(c, link.Down, 6*link.Microsecond)/1e6, 1736, 4)
	near(t, "up", saturate(c, link.Up, 100*link.Microsecond)/1e6, 107.1, 0.5)
	c.Down.BLER, c.Share = 0.1, 0.1
	// Sent 1/(1-p) times each: 173.6·0.9; a slot of random over 1,600.
	near(t, "down with HARQ", saturate(c, link.Down, 60*link.Microsecond)/1e6, 156.2, 6)
	near(t, "as promised", float64(c.Rate(link.Down))/1e6, 156.2, 0.1)
}

// HARQ: one block in ten comes a round later, one in a hundred two; RLC
// repairs what fails four times. Packets lie so far apart that none holds
// back another.
func TestHARQ(t *testing.T) {
	c := Config{PRB: 50, Down: Radio{SINR: 20, BLER: 0.1}, HARQRound: 8 * link.Millisecond}
	s, log := NewServer(c, queue.Config{}, link.Down, link.NewDraw(8, "nr")), &linktest.Log{}
	const n = 100000
	for i := range uint64(n) {
		s.Put(link.Packet{When: link.Time(i) * 100 * ms, Seq: i, Body: link.Body{Size: 500}}, log)
	}
	s.Run(n*100*ms+second, log)
	rounds := map[link.Time]float64{}
	for i, p := range log.Delivered() {
		// 1 ms of processing, 1 ms on the air, 1 ms of processing.
		rounds[(p.When-link.Time(i)*100*ms-3*ms)/ms]++
	}
	for extra, want := range map[link.Time]float64{0: 0.9, 8: 0.09, 16: 0.009, 24: 0.0009, 64: 0.0001} {
		near(t, "share", rounds[extra]/n, want, 4*math.Sqrt(want*(1-want)/n))
	}
	if len(rounds) > 5 {
		t.Errorf("extra delays %v", rounds)
	}
}

// A handover stops both ways for its time: the packet of 1.02 s, in the
// interruption of 1.0 to 1.1, leaves after it; slot 2,200 at 1.1 s is D.
func TestHandover(t *testing.T) {
	c := hundred()
	c.HandoverEvery, c.Interruption = link.Second, 100*link.Millisecond
	s, log := NewServer(c, queue.Config{}, link.Down, link.Draw{}), &linktest.Log{}
	s.Put(link.Packet{When: 1020 * ms, Body: link.Body{Size: 100}}, log)
	s.Run(2*second, log)
	if got := log.Delivered(); len(got) != 1 || got[0].When != 1101*ms {
		t.Errorf("%+v", got)
	}
}

// An interruption from outside, from 1.0 to 1.1 s, stops what is due in it,
// what comes in it, and over a swap too; before and after it changes nothing.
func TestInterrupt(t *testing.T) {
	s, log := NewServer(hundred(), queue.Config{}, link.Down, link.Draw{}), &linktest.Log{}
	put := func(at link.Time) { s.Put(link.Packet{When: at, Seq: uint64(at), Body: link.Body{Size: 100}}, log) }
	put(990 * ms)
	put(999900 * us) // its slot would be that of 1000.5
	s.Interrupt(1000*ms, 100*link.Millisecond)
	put(1050 * ms)
	next := NewServer(hundred(), queue.Config{}, link.Down, link.Draw{})
	next.Inherit(1050*ms, s)
	s.Drain(func(p link.Packet) { next.Adopt(1050*ms, p) })
	s = next
	put(1060 * ms)
	s.Run(1150*ms, log)
	put(1200 * ms)
	s.Run(2*second, log)
	// 990 + 0.5 of processing, slot 1981 is D, to 991.0, and 0.5 more.
	want := []link.Time{991500 * us, 1101 * ms, 1101 * ms, 1101 * ms, 1201500 * us}
	for i, p := range log.Delivered() {
		if i >= len(want) || p.When != want[i] {
			t.Errorf("packet of %v left at %v, want %v", link.Time(p.Seq).Seconds(), p.When.Seconds(), want)
		}
	}
	if len(log.Delivered()) != len(want) {
		t.Errorf("%d delivered", len(log.Delivered()))
	}
}

// Shadowing moves the CQI; the rate follows, and out of reach packets wait.
func TestShadowing(t *testing.T) {
	c := Config{PRB: 50, Down: Radio{SINR: -5, Shadowing: 4, ShadowingTime: link.Second}}
	s, log := NewServer(c, queue.Config{}, link.Down, link.NewDraw(2, "nr")), &linktest.Log{}
	walk := drift.New(shadowSlot, link.Second, link.NewDraw(2, "nr").Sub("shadowing"))
	for i := range uint64(600) {
		s.Put(link.Packet{When: link.Time(i) * 100 * ms, Seq: i, Body: link.Body{Size: 60}}, log)
	}
	s.Run(100*second, log)
	waited := 0
	for _, p := range log.Delivered() {
		if p.When > link.Time(p.Seq)*100*ms+50*ms {
			waited++
		}
		sent := (p.When - ms - 1) / ms * ms // begin of its slot, at the latest
		if sinr := -5 + 4*walk.At(uint64((sent-ms)/link.Time(shadowSlot))); sinr < -6.7-1 {
			t.Errorf("packet %d sent at %v dB", p.Seq, sinr)
		}
	}
	// P(X < -1.7/4) = 33 %.
	if waited < 60 || waited > 400 || len(log.Delivered()) != 600 {
		t.Errorf("%d of %d waited", waited, len(log.Delivered()))
	}
	got := map[string]float64{}
	s.Probes(0, func(p link.Probe) { got[p.Name] = p.Value })
	near(t, "sinr_db", got["sinr_db"], -5+4*walk.At(0), 1e-9)
	if cap := s.Capacity(0); float64(cap.Rate) != got["rate_bps"] {
		t.Errorf("capacity %+v, probes %v", cap, got)
	}
}

// A swap keeps packets and order: those that wait, and those on the air.
func TestSwap(t *testing.T) {
	c := hundred()
	c.PRB, c.Share = 24, 0.1
	c.Down.BLER = 0.4
	old, next, log := NewServer(c, queue.Config{}, link.Down, link.NewDraw(1, "nr")), NewServer(hundred(), queue.Config{}, link.Down, link.NewDraw(1, "nr")), &linktest.Log{}
	for i := range uint64(200) {
		old.Put(link.Packet{When: 10 * ms, Seq: i, Body: link.Body{Size: 1000}}, log)
	}
	now := 20 * ms
	old.Run(now, log)
	old.Drain(func(p link.Packet) { next.Adopt(now, p) })
	next.Run(second, log)
	linktest.Conserved(t, log, 200, next)
	linktest.Ordered(t, log)
}

// Swaps every 300 us change no fate, with blocks that fail and packets of
// several slots.
func TestManySwaps(t *testing.T) {
	c := hundred()
	c.PRB, c.Request, c.Up.BLER = 24, 5*link.Millisecond, 0.3
	run := func(swap bool) uint64 {
		s, log := NewServer(c, queue.Config{}, link.Up, link.NewDraw(1, "nr")), &linktest.Log{}
		for i := range uint64(100) {
			s.Put(link.Packet{When: 1 * ms, Seq: i, Body: link.Body{Size: 1500}}, log)
		}
		for now := ms; now < 2*second; now += 300 * us {
			s.Run(now, log)
			if swap {
				next := NewServer(c, queue.Config{}, link.Up, link.NewDraw(1, "nr"))
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
		{func(c *Config) { c.Pattern = "" }, ""},
		{func(c *Config) { c.Numerology, c.PRB, c.Share = 4, 300, 2 }, "numerology prb share"},
		{func(c *Config) { c.Pattern = "DXU" }, "pattern"},
		{func(c *Config) { c.Pattern = "DDD" }, "pattern"},
		{func(c *Config) { c.SpecialDown, c.SpecialUp = 12, 4 }, "special_up"},
		{func(c *Config) { c.Down.Layers, c.Down.Table, c.Down.BLER = 9, "qpsk", 0.6 }, "down.layers down.table down.bler"},
		{func(c *Config) { c.Up.SINR = -8 }, "up.sinr"},
		{func(c *Config) { c.Up.SINR, c.Up.Shadowing = math.NaN(), 99 }, "up.sinr up.shadowing"},
		{func(c *Config) { c.Interruption = 1 }, "interruption"},
		{func(c *Config) { c.HandoverEvery, c.Interruption = 5, 5 }, "interruption"},
		{func(c *Config) { c.Grant = 2 * link.Second }, "grant"},
	} {
		c := hundred()
		v.edit(&c)
		var got []string
		c.Check(func(path, text, want string) {
			if want == "" {
				t.Errorf("%s: a silent problem", path)
			}
			got = append(got, path)
		})
		if s := strings.Join(got, " "); s != v.want {
			t.Errorf("problems at %q, want %q", s, v.want)
		}
	}
}

func BenchmarkNR(b *testing.B) {
	linktest.Benchmark(b, NewServer(hundred(), queue.Config{}, link.Down, link.Draw{}), 20*link.Microsecond)
}
