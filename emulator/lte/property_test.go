package lte

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/lte/radio"
)

// rough is a configuration in which everything varies.
func rough() Config {
	r := radio.Config{SINR: 9, Shadowing: 6, Speed: 30, Fading: "rayleigh"}
	return Config{
		PRB: 25, Layers: 1, Carriers: 2, Scheduler: "proportional_fair", Down: r, Up: r,
		Background: Background{UEs: 5, Activity: 0.4},
		HARQ:       HARQ{Model: "sinr"},
		RLC:        RLC{Buffer: 100000, Discard: 300 * link.Millisecond},
		DRX:        DRX{OnDuration: 10 * link.Millisecond, Inactivity: 50 * link.Millisecond, LongCycle: 80 * link.Millisecond},
		RRC:        RRC{Inactivity: link.Second},
		Mobility:   Mobility{HandoverEvery: 700 * link.Millisecond},
	}
}

// TestIndependent: the fates do not depend on how often the cell is looked at,
// either way, in every mode.
func TestIndependent(t *testing.T) {
	um := rough()
	um.RLC.Mode, um.HARQ.Transmissions = "um", 1
	sps := rough()
	sps.Access.Grants, sps.Scheduler = "semi_persistent", "max_ci"
	for name, cfg := range map[string]Config{"default": {}, "rough": rough(), "um": um, "semi-persistent": sps} {
		for _, w := range link.Ways {
			t.Run(name+" "+w.String(), func(t *testing.T) {
				build := func() link.Stage { return lone(cfg, w) }
				log := linktest.Independent(t, build, linktest.Arrivals(4, 3000, 900*link.Microsecond), 60*second)
				linktest.Ordered(t, log)
				if len(log.Fates) != 3000 {
					t.Errorf("%d of 3000 packets met their fate", len(log.Fates))
				}
			})
		}
	}
}

// TestStationsIndependent: several stations on one cell, looked at in another
// order and rhythm, meet the same fates.
func TestStationsIndependent(t *testing.T) {
	run := func(step link.Duration, backwards bool) []uint64 {
		cell := NewCell(rough(), link.NewDraw(7, "lte"))
		var bearers []*Bearer
		for i := range 4 {
			bearers = append(bearers, cell.UE(1+i).Bearer(link.Ways[i%2]))
		}
		logs := make([]linktest.Log, len(bearers))
		look := func(now link.Time) {
			for i := range bearers {
				if backwards {
					i = len(bearers) - 1 - i
				}
				bearers[i].Run(now, &logs[i])
			}
		}
		next := link.Time(0)
		for _, p := range linktest.Arrivals(5, 4000, 500*link.Microsecond) {
			for ; next < p.When; next = next.Add(step) {
				look(next)
			}
			i := p.Seq % uint64(len(bearers))
			bearers[i].Put(p, &logs[i])
		}
		look(60 * second)
		var digests []uint64
		for i := range logs {
			digests = append(digests, logs[i].Digest())
		}
		return digests
	}
	want := run(link.Microsecond*50, false)
	for _, step := range []link.Duration{3 * link.Millisecond, 10 * link.Second} {
		if got := run(step, true); !slices.Equal(got, want) {
			t.Errorf("looked at each %v, backwards: other fates", step)
		}
	}
}

// TestWeights: two saturated stations share by weight within 5 %, under both
// fair schedulers.
func TestWeights(t *testing.T) {
	for _, scheduler := range []string{"round_robin", "proportional_fair"} {
		cell := NewCell(Config{Scheduler: scheduler, Down: steady(12)}, link.NewDraw(1, "lte"))
		one, three := cell.UE(1).Bearer(link.Down), cell.UE(3).Bearer(link.Down)
		var a, b linktest.Log
		for seq, now := uint64(0), link.Time(0); now < 5*second; seq, now = seq+1, now.Add(300*link.Microsecond) {
			one.Put(link.Packet{When: now, Seq: seq, Body: link.Body{Size: 1514}}, &a)
			three.Put(link.Packet{When: now, Seq: seq, Body: link.Body{Size: 1514}}, &b)
		}
		ratio := float64(len(b.Delivered())) / float64(len(a.Delivered()))
		if math.Abs(ratio/3-1) > 0.05 {
			t.Errorf("%s: weights 3 and 1 share %.3f to 1", scheduler, ratio)
		}
	}
}

// TestBackground: with n full buffers beside it a station gets 1/(n+1).
func TestBackground(t *testing.T) {
	alone := saturate(t, lone(Config{Down: steady(12), HARQ: perfect}, link.Down), 150*link.Microsecond, 6*second)
	for _, scheduler := range []string{"round_robin", "proportional_fair"} {
		cfg := Config{Scheduler: scheduler, Down: steady(12), HARQ: perfect, Background: Background{UEs: 4, Activity: 1}}
		got := saturate(t, lone(cfg, link.Down), 150*link.Microsecond, 6*second)
		if share := got / alone; math.Abs(share-0.2) > 0.02 {
			t.Errorf("%s: share %.3f beside four full buffers, want 0.2", scheduler, share)
		}
	}
}

// TestUplinkRate: a saturated uplink with dynamic grants carries what the
// blocks carry: the request only costs the start.
func TestUplinkRate(t *testing.T) {
	cfg := Config{PRB: 50, Up: steady(10.5), HARQ: perfect}
	want := float64(radio.TBS(radio.Index(link.Up, radio.MCS(9)), 50)) * 1000
	for _, grants := range []string{"dynamic", "prescheduled"} {
		cfg.Access.Grants = grants
		got := saturate(t, lone(cfg, link.Up), 500*link.Microsecond, 6*second)
		if math.Abs(got/want-1) > 0.01 {
			t.Errorf("%s: %.3f Mbit/s, want %.3f", grants, got/1e6, want/1e6)
		}
	}
}

// TestAdopt: a swap of the cell under load loses and reorders nothing.
func TestAdopt(t *testing.T) {
	old, log := lone(rough(), link.Up), &linktest.Log{}
	packets := linktest.Arrivals(3, 500, 200*link.Microsecond)
	for _, p := range packets {
		old.Put(p, log)
	}
	told := len(log.Fates)
	now := packets[len(packets)-1].When
	next := lone(Config{}, link.Up)
	next.Run(now, log)
	old.Drain(func(p link.Packet) { next.Adopt(now, p) })
	if n, _ := old.Held(); n != 0 {
		t.Errorf("%d packets left behind", n)
	}
	next.Run(now.Add(20*link.Second), log)
	linktest.Ordered(t, log)
	if len(log.Fates) != 500 || told == 0 {
		t.Errorf("%d of 500 fates, %d before the swap", len(log.Fates), told)
	}
}

// TestDiscard: PDCP drops what waited longer than its timer, no earlier.
func TestDiscard(t *testing.T) {
	cfg := Config{PRB: 6, Down: steady(3), HARQ: perfect, RLC: RLC{Discard: 100 * link.Millisecond, Buffer: 1 << 20}}
	b, log := lone(cfg, link.Down), &linktest.Log{}
	sent := map[uint64]link.Time{}
	for i := range uint64(400) {
		now := link.Time(i) * link.Time(link.Millisecond)
		sent[i] = now
		b.Put(link.Packet{When: now, Seq: i, Body: link.Body{Size: 1514}}, log)
	}
	b.Run(5*second, log)
	for _, f := range log.Fates {
		if f.Cause.Reason == link.TimedOut && f.Packet.When.Sub(sent[f.Packet.Seq]) != 100*link.Millisecond {
			t.Fatalf("packet %d discarded after %v", f.Packet.Seq, f.Packet.When.Sub(sent[f.Packet.Seq]))
		}
	}
	if n := log.Lost(link.TimedOut); n < 200 {
		t.Errorf("%d of 400 packets discarded at 0.8 Mbit/s of 12, want most", n)
	}
}

// TestChannelIgnoresTraffic: with other traffic a station meets the same
// channel.
func TestChannelIgnoresTraffic(t *testing.T) {
	quiet, loaded := lone(rough(), link.Down), lone(rough(), link.Down)
	log := &linktest.Log{}
	for tti := range int64(20000) {
		loaded.Put(link.Packet{When: link.Time(tti * ms), Seq: uint64(tti), Body: link.Body{Size: 1514}}, log)
		if a, b := quiet.channel.SINR(tti), loaded.channel.SINR(tti); a != b {
			t.Fatalf("TTI %d: %v dB quiet, %v dB loaded", tti, a, b)
		}
	}
}

// TestCheck: every problem of a bad configuration is reported, none of a good
// one.
func TestCheck(t *testing.T) {
	problems := func(c Config) (paths []string) {
		c.Check(func(path, got, want string) { paths = append(paths, path) })
		return paths
	}
	for _, good := range []Config{{}, rough()} {
		if p := problems(good); p != nil {
			t.Errorf("good configuration has problems: %v", p)
		}
	}
	bad := Config{PRB: 101, Layers: 3, Scheduler: "best", Down: radio.Config{SINR: 99, Fading: "deep"}, HARQ: HARQ{BLER: 1},
		RLC: RLC{Buffer: 1, Discard: link.Second}, Access: Access{SRPeriod: 3 * link.Millisecond},
		DRX: DRX{LongCycle: 40 * link.Millisecond, OnDuration: 80 * link.Millisecond, Inactivity: link.Millisecond}}
	want := []string{"prb", "layers", "scheduler", "down.sinr_db", "down.fading", "harq.bler", "rlc.buffer", "rlc.discard", "access.sr_period", "drx.on_duration"}
	if got := problems(bad); !slices.Equal(got, want) {
		t.Errorf("problems at %v, want %v", got, want)
	}
}

func TestNoAllocs(t *testing.T) {
	for _, w := range link.Ways {
		linktest.NoAllocs(t, lone(rough(), w), 2*link.Millisecond)
	}
}

func BenchmarkBearer(b *testing.B) {
	linktest.Benchmark(b, lone(Config{Down: steady(20)}, link.Down), 300*link.Microsecond)
}

// BenchmarkCell is one simulated second of 100 UEs, ten of them saturated.
func BenchmarkCell(b *testing.B) {
	for _, scheduler := range []string{"round_robin", "proportional_fair"} {
		b.Run(scheduler, func(b *testing.B) {
			cell := NewCell(Config{Scheduler: scheduler, Down: radio.Config{SINR: 15, Shadowing: 6}}, link.NewDraw(1, "lte"))
			var bearers []*Bearer
			for range 100 {
				bearers = append(bearers, cell.UE(1).Bearer(link.Down))
			}
			var log linktest.Log
			seq, now := uint64(0), link.Time(0)
			for b.Loop() {
				for end := now.Add(link.Second); now < end; now = now.Add(link.Millisecond) {
					for i := range 4 {
						seq++
						bearers[(int(seq)*10+i)%100].Put(link.Packet{When: now, Seq: seq, Body: link.Body{Size: 1514}}, &log)
					}
				}
				for _, x := range bearers {
					x.Run(now, &log)
				}
				log.Fates = log.Fates[:0]
			}
		})
	}
}

func Example() {
	cell := NewCell(Config{PRB: 50, Down: radio.Config{SINR: 12}}, link.NewDraw(1, "lte"))
	b := cell.UE(1).Bearer(link.Down)
	fmt.Println(b.Capacity(0).Mode, b.Capacity(0).Rate)
	// Output: CQI 10 MCS 18 16.416Mbit/s
}
