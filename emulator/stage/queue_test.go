package stage

import (
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

const ms = link.Time(link.Millisecond)

// burst returns n packets of size bytes that come at when.
func burst(n int, size uint16, when link.Time) []link.Packet {
	out := make([]link.Packet, n)
	for i := range out {
		out[i] = link.Packet{When: when, Seq: uint64(i), Size: size}
	}
	return out
}

// 30 packets of 1000 B are 240,000 bits: 480 ms at 500 kbit/s, 16 ms each;
// and no less after 10 s of idleness (tcconfig#193: a token bucket with a
// second of credit passes such a probe at line rate).
func TestCase06BurstAt500k(t *testing.T) {
	for _, when := range []link.Time{0, 10000 * ms} {
		q := NewQueue(QueueConfig{Rate: 500 * link.KilobitPerSecond, Limit: Limit{Bytes: 40000}}, link.NewDraw(1, "q"))
		var log linktest.Log
		for _, p := range burst(30, 1000, when) {
			q.Put(p, &log)
		}
		q.Run(when+1000*ms, &log)
		got := log.Delivered()
		if len(got) != 30 {
			t.Fatalf("%d of 30 delivered", len(got))
		}
		for i, p := range got {
			if want := when + link.Time(i+1)*16*ms; p.When != want {
				t.Errorf("packet %d left at %d, want %d", i, p.When, want)
			}
		}
	}
}
