package stage

import (
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

func ptr[T any](v T) *T { return &v }

// subject is a stage under test: how it is made, and what it promises.
type subject struct {
	name    string
	build   func() link.Stage
	ordered bool
}

func draw(name string) link.Draw { return link.NewDraw(7, name) }

// course changes rate and delay every 70 ms, with an outage between.
func course() *Trace {
	return NewTrace(TraceConfig{End: "loop", Period: 280 * link.Millisecond, Steps: []StepConfig{
		{At: 0, Rate: ptr(3 * link.MegabitPerSecond), Delay: ptr(30 * link.Millisecond)},
		{At: 70 * link.Millisecond, Rate: ptr(9 * link.MegabitPerSecond), Loss: ptr(0.1)},
		{At: 140 * link.Millisecond, Outage: true, Delay: ptr(10 * link.Millisecond)},
		{At: 210 * link.Millisecond},
	}})
}

func queueOf(discipline string, limit Limit) func() link.Stage {
	return func() link.Stage {
		return NewQueue(QueueConfig{Rate: 5 * link.MegabitPerSecond, Limit: limit, Discipline: discipline}, draw("q"))
	}
}

func pathOf(j *JitterConfig) func() link.Stage {
	return func() link.Stage {
		return NewPath(PathConfig{Delay: 20 * link.Millisecond, Jitter: j}, draw("p"))
	}
}

func lossOf(c LossConfig) func() link.Stage {
	return func() link.Stage { return NewLoss(c, draw("l")) }
}

// subjects is every stage in every shape that decides differently.
func subjects() []subject {
	kB20 := Limit{Bytes: 20000}
	return []subject{
		{"gate", func() link.Stage {
			return NewGate(GateConfig{MTU: 1000, Cut: []CutConfig{{100 * link.Millisecond, 50 * link.Millisecond}},
				Flap: &FlapConfig{Period: 300 * link.Millisecond, Down: 20 * link.Millisecond}})
		}, true},
		{"droptail bytes", queueOf("", kB20), true},
		{"droptail packets", queueOf("droptail", Limit{Packets: 20}), true},
		{"droptail time", queueOf("droptail", Limit{Time: 30 * link.Millisecond}), true},
		{"drophead", queueOf("drophead", kB20), true},
		{"red", queueOf("red", kB20), true},
		{"codel", queueOf("codel", Limit{Bytes: 200000}), true},
		{"pie", queueOf("pie", Limit{Bytes: 200000}), true},
		{"unlimited", func() link.Stage { return NewQueue(QueueConfig{}, draw("q")) }, true},
		{"traced queue", func() link.Stage {
			q := NewQueue(QueueConfig{Rate: 5 * link.MegabitPerSecond, Limit: kB20}, draw("q"))
			q.Follow(course())
			return q
		}, true},
		{"wlan", func() link.Stage {
			return NewWLAN(WLANConfig{QueueConfig: QueueConfig{Rate: 4 * link.MegabitPerSecond, Limit: Limit{Packets: 60}}, Distance: 100}, draw("w"))
		}, true},
		{"delivery", func() link.Stage {
			return NewDelivery(DeliveryConfig{Times: []int64{0, 0, 3, 7, 7, 11}, QueueConfig: QueueConfig{Limit: kB20}}, draw("d"))
		}, true},
		{"train", func() link.Stage { return NewTrain(recorded(), draw("t")) }, true},
		{"loss", lossOf(LossConfig{Probability: 0.1, BER: 1e-5}), true},
		{"gilbert", lossOf(LossConfig{Gilbert: &GilbertConfig{P: 0.01, R: 0.25}}), true},
		{"gilbert in time", lossOf(LossConfig{GilbertTime: &GilbertTimeConfig{Bad: 16700 * link.Microsecond, Share: 0.0256, Longest: 43 * link.Millisecond}}), true},
		{"four states", lossOf(LossConfig{FourState: &FourStateConfig{P13: .01, P31: .25, P32: .1, P23: .5, P14: .002}}), true},
		{"pattern", lossOf(LossConfig{Pattern: &PatternConfig{Packets: []uint64{3, 17}, Repeat: 20}}), true},
		{"n of m", lossOf(LossConfig{NOfM: &NOfMConfig{Lose: 2, Of: 9, Spread: "random"}}), true},
		{"traced loss", func() link.Stage {
			l := NewLoss(LossConfig{}, draw("l"))
			l.Follow(course(), draw("t"))
			return l
		}, true},
		{"corrupt", func() link.Stage { return NewCorrupt(CorruptConfig{Probability: 0.1, BER: 1e-5}, draw("c")) }, true},
		{"path", pathOf(nil), true},
		{"uniform", pathOf(&JitterConfig{Distribution: "uniform", Spread: 15 * link.Millisecond}), true},
		{"normal", pathOf(&JitterConfig{Distribution: "normal", Spread: 4 * link.Millisecond}), true},
		{"pareto", pathOf(&JitterConfig{Distribution: "pareto", Spread: 4 * link.Millisecond}), true},
		{"half-life", pathOf(&JitterConfig{Distribution: "normal", Spread: 4 * link.Millisecond, HalfLife: 50 * link.Millisecond}), true},
		{"correlated", pathOf(&JitterConfig{Distribution: "uniform", Spread: 4 * link.Millisecond, Correlation: 0.9}), true},
		{"table", pathOf(&JitterConfig{Distribution: "table", Table: []link.Duration{0, 1e6, 1e7}}), true},
		{"traced path", func() link.Stage {
			l := NewPath(PathConfig{Delay: 20 * link.Millisecond}, draw("p"))
			l.Follow(course())
			return l
		}, true},
		{"reorder", func() link.Stage {
			return NewReorder(ReorderConfig{Probability: 0.1, Every: 13, Extent: 3, Delay: 10 * link.Millisecond}, draw("r"))
		}, false},
		{"reorder in time", func() link.Stage {
			return NewReorder(ReorderConfig{Probability: 0.3, Delay: 10 * link.Millisecond}, draw("r"))
		}, false},
		{"duplicate", func() link.Stage { return NewDuplicate(DuplicateConfig{Probability: 0.2}, draw("d")) }, true},
		{"duplicate later", func() link.Stage {
			return NewDuplicate(DuplicateConfig{Probability: 0.2, Delay: 10 * link.Millisecond}, draw("d"))
		}, false},
		{"everything", everything, false},
		{"geo", func() link.Stage {
			return geo(&JitterConfig{Distribution: "normal", Spread: link.Millisecond})
		}, true},
	}
}

// everything is a chain with every place filled.
func everything() link.Stage {
	q := NewQueue(QueueConfig{Rate: 5 * link.MegabitPerSecond, Limit: Limit{Bytes: 30000}, Discipline: "pie"}, draw("q"))
	q.Follow(course())
	l := NewLoss(LossConfig{Probability: 0.01, Gilbert: &GilbertConfig{P: .01, R: .3}}, draw("l"))
	l.Follow(course(), draw("t"))
	p := NewPath(PathConfig{Delay: 20 * link.Millisecond, Jitter: &JitterConfig{Distribution: "pareto", Spread: 4 * link.Millisecond}}, draw("p"))
	p.Follow(course())
	return link.NewChain(
		NewGate(GateConfig{MTU: 1400, Flap: &FlapConfig{Period: link.Second, Down: 10 * link.Millisecond}}), q, l,
		NewCorrupt(CorruptConfig{Probability: 0.1}, draw("c")), p,
		NewReorder(ReorderConfig{Probability: 0.1, Extent: 3, Delay: 10 * link.Millisecond}, draw("r")),
		NewDuplicate(DuplicateConfig{Probability: 0.1, Delay: 3 * link.Millisecond}, draw("d")))
}

// TestContract holds every stage to the contract of link.Stage: the fates
// are the driver's business in no way, nothing vanishes, order is kept where
// it is promised, and packets cost no allocation.
func TestContract(t *testing.T) {
	arrivals := linktest.Arrivals(3, 4000, 700*link.Microsecond)
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			log := linktest.Independent(t, s.build, arrivals, 60000*ms)
			if len(log.Fates) != len(arrivals)+log.Copies {
				t.Errorf("%d fates for %d packets and %d copies", len(log.Fates), len(arrivals), log.Copies)
			}
			if s.ordered {
				linktest.Ordered(t, log)
			}
			_, chain := s.build().(*link.Chain) // promises the order of what it delivers alone
			for i, f := range log.Fates[1:] {
				if !chain && f.Packet.When < log.Fates[i].Packet.When {
					t.Fatalf("fate of packet %d at %d told after one at %d", f.Packet.Seq, f.Packet.When, log.Fates[i].Packet.When)
				}
			}
			linktest.NoAllocs(t, s.build(), link.Millisecond)
		})
	}
}

// TestLateArrivals lets a driver look far ahead before it hears of arrivals,
// as a live one does: nothing may be lost to that, or overtaken.
func TestLateArrivals(t *testing.T) {
	arrivals := linktest.Arrivals(4, 2000, link.Millisecond)
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			stage := s.build()
			var log linktest.Log
			for _, p := range arrivals {
				stage.Run(p.When+2*ms, &log)
				stage.Put(p, &log)
			}
			stage.Run(60000*ms, &log)
			linktest.Conserved(t, &log, len(arrivals), stage)
			if s.ordered {
				linktest.Ordered(t, &log)
			}
		})
	}
}

// TestSwap puts an equal stage in the place of one that is full, again and
// again: no packet is lost for that, doubled, or overtaken.
func TestSwap(t *testing.T) {
	arrivals := linktest.Arrivals(5, 3000, 700*link.Microsecond)
	for _, s := range subjects() {
		if _, ok := s.build().(link.Holder); !ok {
			continue
		}
		if _, ok := s.build().(*link.Chain); ok {
			continue // a chain is swapped stage by stage
		}
		t.Run(s.name, func(t *testing.T) {
			var log linktest.Log
			stage := s.build()
			for i, p := range arrivals {
				stage.Put(p, &log)
				if i%50 == 49 {
					old := stage
					stage = s.build()
					before, bytes := old.(link.Holder).Held()
					succeed(stage, old, p.When)
					after, now := stage.(link.Holder).Held()
					if before != after || bytes != now {
						t.Fatalf("at packet %d: held %d (%d B) before the swap, %d (%d B) after", i, before, bytes, after, now)
					}
				}
			}
			stage.Run(60000*ms, &log)
			linktest.Conserved(t, &log, len(arrivals), stage)
			if s.ordered {
				linktest.Ordered(t, &log)
			}
		})
	}
}

// succeed puts next in the place of old, as the emulator does.
func succeed(next, old link.Stage, now link.Time) {
	if h, ok := next.(link.Heir); ok {
		h.Inherit(now, old)
	}
	old.(link.Holder).Drain(func(p link.Packet) { next.(link.Holder).Adopt(now, p) })
}

// TestProbes looks at every figure of every stage: named once, with a unit's
// ending or a plain count, and a number.
func TestProbes(t *testing.T) {
	for _, s := range subjects() {
		stage, ok := s.build().(link.Prober)
		if !ok {
			continue
		}
		seen := map[string]bool{}
		stage.Probes(0, func(p link.Probe) {
			if seen[p.Name] {
				t.Errorf("%s: probe %s twice", s.name, p.Name)
			}
			seen[p.Name] = true
			if p.Value != p.Value {
				t.Errorf("%s: probe %s is not a number", s.name, p.Name)
			}
		})
		if len(seen) == 0 {
			t.Errorf("%s: no probes", s.name)
		}
	}
}
