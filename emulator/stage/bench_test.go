package stage

import (
	"fmt"
	"testing"

	"farlink/emulator/air"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// geo is the pipeline of a GEO link: 100 Mbit/s, 0.1 % loss, 250 ms with
// jitter if asked for.
func geo(jitter *JitterConfig) *link.Chain {
	draw := link.NewDraw(1, "geo")
	return link.NewChain(
		NewGate(GateConfig{MTU: 1500}),
		NewQueue(QueueConfig{Rate: 100 * link.MegabitPerSecond, Limit: Limit{Bytes: 3e6}}, draw.Sub("queue")),
		air.NewLoss(air.LossConfig{Probability: 0.001}, draw.Sub("loss")),
		NewPath(PathConfig{Delay: 250 * link.Millisecond, Jitter: jitter}, draw.Sub("path")))
}

// BenchmarkGEOPipeline is the cost of one packet through a GEO link, which
// holds some 3,000 packets then. Target: 150 ns, no allocation.
func BenchmarkGEOPipeline(b *testing.B) {
	b.Run("constant", func(b *testing.B) { linktest.Benchmark(b, geo(nil), 81*link.Microsecond) })
	for _, d := range []string{"uniform", "normal"} {
		b.Run(d, func(b *testing.B) {
			linktest.Benchmark(b, geo(&JitterConfig{Distribution: d, Spread: link.Millisecond}), 81*link.Microsecond)
		})
	}
	b.Run("correlated", func(b *testing.B) {
		linktest.Benchmark(b, geo(&JitterConfig{Distribution: "normal", Spread: link.Millisecond, HalfLife: link.Second}), 81*link.Microsecond)
	})
}

// BenchmarkHeld is the cost of one packet through a GEO link that holds so
// many at every instant. Target: flat within 1.5 times.
func BenchmarkHeld(b *testing.B) {
	for _, held := range []int{1, 1000, 100_000, 4_500_000} {
		b.Run(fmt.Sprint(held), func(b *testing.B) {
			gap := link.Microsecond
			draw := link.NewDraw(1, "held")
			chain := link.NewChain(
				NewGate(GateConfig{}),
				NewQueue(QueueConfig{Rate: 100 * link.GigabitPerSecond}, draw.Sub("queue")),
				air.NewLoss(air.LossConfig{Probability: 0.001}, draw.Sub("loss")),
				NewPath(PathConfig{Delay: link.Duration(held) * gap}, draw.Sub("path")))
			sink := &linktest.Counter{}
			p := link.Packet{Body: link.Body{Size: 1000}}
			step := func() {
				p.When = p.When.Add(gap)
				p.Seq++
				chain.Put(p, sink)
				if chain.Next() <= p.When {
					chain.Run(p.When, sink)
				}
			}
			for range 2 * held {
				step()
			}
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
			n, _ := chain.Held()
			b.ReportMetric(float64(n), "held")
		})
	}
}
