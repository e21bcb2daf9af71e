package lte

import (
	"math"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/lte/radio"
)

// paced sends 400 bytes each 2 ms for d and returns the fates, the rate of IP
// and the longest delay, ms.
func paced(t *testing.T, b *Bearer, d link.Time) (log *linktest.Log, rate, worst float64) {
	t.Helper()
	log = &linktest.Log{}
	for now, seq := link.Time(0), uint64(0); now < d; now, seq = now.Add(2*link.Millisecond), seq+1 {
		b.Put(link.Packet{When: now, Seq: seq, Body: link.Body{Size: 400}}, log)
	}
	b.Run(d+10*second, log)
	linktest.Ordered(t, log)
	for _, p := range log.Delivered() {
		rate += float64(p.Size-ethernetHeader) * 8 / d.Seconds()
		worst = max(worst, p.When.Sub(link.Time(p.Seq)*link.Time(2*link.Millisecond)).Milliseconds())
	}
	return log, rate, worst
}

// Radio link failures come by themselves and last as long as they were given:
// 3 s hold nothing back, 4 s have one of 800 ms in them, and packets wait it
// out. So do handovers.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		mobility Mobility
		outage   float64
	}{
		{Mobility{}, 0},
		{Mobility{FailureEvery: 3 * link.Second, FailureOutage: 800 * link.Millisecond}, 800},
		{Mobility{HandoverEvery: 2 * link.Second, Interruption: 80 * link.Millisecond}, 80},
	} {
		log, _, worst := paced(t, lone(Config{Down: steady(20), HARQ: perfect, Mobility: c.mobility}, link.Down), 5*second)
		if n := len(log.Delivered()); n != 2500 || math.Abs(worst-c.outage-7.5) > 4 {
			t.Errorf("%+v: %d of 2500 delivered, the longest delay %.1f ms, want %.0f + 7.5", c.mobility, n, worst, c.outage)
		}
	}
}

// A packet that fits a standing grant waits for the next one, none to 20 ms,
// uniformly, and 3 + 1 + 3 ms of preparing, air and decoding.
func TestSemiPersistentDelay(t *testing.T) {
	b := lone(Config{Up: steady(22), HARQ: perfect, Access: Access{Grants: "semi_persistent", Period: 20 * link.Millisecond, Block: 300}}, link.Up)
	log := &linktest.Log{}
	const gap = 1007 * link.Millisecond
	for i := range uint64(400) {
		b.Put(link.Packet{When: link.Time(i) * link.Time(gap), Seq: i, Body: link.Body{Size: 200}}, log)
	}
	b.Run(500*second, log)
	sum, least, most := 0.0, 1e9, 0.0
	for _, p := range log.Delivered() {
		d := p.When.Sub(link.Time(p.Seq) * link.Time(gap)).Milliseconds()
		sum, least, most = sum+d, min(least, d), max(most, d)
	}
	if n := len(log.Delivered()); n != 400 || math.Abs(sum/400-17) > 1.5 || least < 6 || most > 28 {
		t.Errorf("%d of 400 delivered, %.1f ms in the mean, %.1f to %.1f, want 17, 7 to 27", n, sum/400, least, most)
	}
}

// The scheduler of the greatest CQI serves the better UE alone, where others
// give both their turn. A UE's SINR is its own by shadowing.
func TestMaxCI(t *testing.T) {
	shares := func(scheduler string) float64 {
		cell := NewCell(Config{PRB: 25, Scheduler: scheduler, Down: radio.Config{SINR: 12, Shadowing: 8, Speed: 1}, HARQ: perfect}, link.NewDraw(4, "lte"))
		bearers := [2]*Bearer{cell.UE(1).Bearer(link.Down), cell.UE(1).Bearer(link.Down)}
		var through [2]float64
		for i := range uint64(4000) {
			now := link.Time(i) * link.Time(link.Millisecond)
			for k, b := range bearers {
				log := &linktest.Log{}
				for range 2 {
					b.Put(link.Packet{When: now, Seq: i, Body: link.Body{Size: 1514}}, log)
				}
				through[k] += float64(len(log.Delivered()))
			}
		}
		return max(through[0], through[1]) / (through[0] + through[1])
	}
	if best, turns := shares("max_ci"), shares("round_robin"); best < 0.9 || turns > 0.8 {
		t.Errorf("the better of two UEs has %.2f of all by max_ci, %.2f by turns", best, turns)
	}
}
