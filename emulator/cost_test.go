package emulator

import (
	"testing"

	"farlink/emulator/frame/frametest"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// BenchmarkGEO is the cost of a frame through a whole satellite link that
// holds some 500: classification, queue, loss, delay, and jitter drawn anew
// or with a half-life.
func BenchmarkGEO(b *testing.B) {
	for name, more := range map[string]string{"fresh": "", "correlated": "half_life = \"1s\"\n"} {
		e := one(b, parse(b, "[up.queue]\nrate = \"20Mbit/s\"\n[up.loss]\nprobability = 0.001\n[up.path]\ndelay = \"250ms\"\n"+
			"[up.path.jitter]\ndistribution = \"normal\"\nspread = \"2ms\"\n"+more), 1)
		frame := frametest.Of(frametest.Type4, frametest.IPv4(0, 17, 0, "10.0.0.1", "10.0.0.2", append(frametest.Ports, make([]byte, 958)...)...))
		var sink linktest.Counter
		now := link.Time(0)
		step := func() {
			now = now.Add(500 * link.Microsecond)
			e.Arrive(link.Up, now, 0, frame, &sink)
			if e.Next(link.Up) <= now {
				e.Run(link.Up, now, &sink)
			}
		}
		for range 10_000 {
			step()
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}
