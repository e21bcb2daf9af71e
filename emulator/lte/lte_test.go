package lte

import (
	"math"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/lte/radio"
)

const second = link.Time(link.Second)

// lone returns the bearer of the only UE of a cell.
func lone(cfg Config, w link.Way) *Bearer {
	return NewCell(cfg, link.NewDraw(1, "lte")).UE(1).Bearer(w)
}

// steady is a channel of an SINR.
func steady(sinr float64) radio.Config { return radio.Config{SINR: sinr} }

// perfect is HARQ without an error.
var perfect = HARQ{BLER: -1}

// saturate offers 1514-byte packets faster than any carrier takes them for d
// and returns what was delivered in bits per second of IP.
func saturate(t *testing.T, b *Bearer, gap link.Duration, d link.Time) float64 {
	t.Helper()
	log := &linktest.Log{}
	var bits float64
	for now, seq := link.Time(0), uint64(0); now < d; now, seq = now.Add(gap), seq+1 {
		b.Put(link.Packet{When: now, Seq: seq, Body: link.Body{Size: 1514}}, log)
	}
	b.Run(d, log)
	for _, p := range log.Delivered() {
		if p.When >= second && p.When < d {
			bits += float64(p.Size-ethernetHeader) * 8
		}
	}
	return bits / (d - second).Seconds()
}

// TestSaturatedRate is vectors LTE-1 and LTE-2. The payload is the block less
// 40 bits, and each 1500-byte packet costs 16 bits more: 15,264 → 15,224 ·
// 12000/12016 = 15.204 Mbit/s of IP.
func TestSaturatedRate(t *testing.T) {
	cases := []struct {
		name string
		cfg  Config
		want float64 // Mbit/s of blocks
		tol  float64
	}{
		{"CQI 9, 50 PRB", Config{PRB: 50, Down: steady(10.5), HARQ: perfect}, 15.264, 0.005},
		{"CQI 9, 50 PRB, BLER 10 %", Config{PRB: 50, Down: steady(10.5)}, 13.738, 0.012},
		{"CQI 15, 100 PRB", Config{Down: steady(25), HARQ: perfect}, 75.376, 0.005},
		{"CQI 15, 100 PRB, 2 layers", Config{Layers: 2, Down: steady(25), HARQ: perfect}, 150.752, 0.005},
		{"two component carriers", Config{PRB: 50, Carriers: 2, Down: steady(10.5), HARQ: perfect}, 2 * 15.264, 0.005},
		{"three component carriers", Config{PRB: 50, Carriers: 3, Down: steady(10.5), HARQ: perfect}, 3 * 15.264, 0.005},
		{"four component carriers", Config{PRB: 50, Carriers: 4, Down: steady(10.5), HARQ: perfect}, 4 * 15.264, 0.005},
		{"five component carriers", Config{PRB: 50, Carriers: 5, Down: steady(10.5), HARQ: perfect}, 5 * 15.264, 0.005},
		{"half the cell taken", Config{PRB: 50, Down: steady(10.5), HARQ: perfect, Background: Background{DownShare: 0.5}}, 7.632, 0.04},
	}
	for _, c := range cases {
		got := saturate(t, lone(c.cfg, link.Down), 60*link.Microsecond, 40*second) / 1e6
		if math.Abs(got/c.want-1) > c.tol {
			t.Errorf("%s: %.3f Mbit/s, want %.3f within %.1f %%", c.name, got, c.want, c.tol*100)
		}
	}
}

// TestHARQ is vector LTE-5: residual 1e-4 and the law of extra delay with
// in-order delivery (linkfacts 3.3): none for 0.396, mean 3.74 ms, beyond 8 ms
// 0.084, beyond 16 ms 0.0077.
func TestHARQ(t *testing.T) {
	b := lone(Config{}, link.Down)
	const n = 400000
	var release, sum int64
	none, over8, over16, residual := 0, 0, 0, 0
	for tti := range int64(n) {
		attempts, ok := b.attempts(b.harq[0], uint64(tti)<<6, tti, 9)
		if !ok {
			residual++
		}
		own := tti + int64(attempts-1)*harqRTT
		release = max(release, own)
		extra := release - tti
		sum += extra
		if extra == 0 {
			none++
		}
		if extra > 8 {
			over8++
		}
		if extra > 16 {
			over16++
		}
	}
	near := func(what string, got, want, tol float64) {
		if math.Abs(got-want) > tol {
			t.Errorf("%s = %.5f, want %.5f ± %.5f", what, got, want, tol)
		}
	}
	near("residual", float64(residual)/n, 1e-4, 6e-5)
	near("no extra delay", float64(none)/n, 0.396, 0.008)
	near("mean extra ms", float64(sum)/n, 3.74, 0.08)
	near("beyond 8 ms", float64(over8)/n, 0.084, 0.004)
	near("beyond 16 ms", float64(over16)/n, 0.0077, 0.001)
}

// delays puts one small packet each gap (plus a drawn fraction of 1 s) into an
// otherwise idle bearer and returns the delays in ms.
func delays(b *Bearer, gap link.Duration, n int) []float64 {
	draw, log := link.NewDraw(9, "gap"), &linktest.Log{}
	sent := map[uint64]link.Time{}
	now := link.Time(0)
	for i := range uint64(n) {
		now = now.Add(gap + link.Duration(draw.Float(i)*1e9))
		sent[i] = now
		b.Put(link.Packet{When: now, Seq: i, Body: link.Body{Size: 100}}, log)
	}
	b.Run(now.Add(10*link.Second), log)
	var out []float64
	for _, p := range log.Delivered() {
		out = append(out, p.When.Sub(sent[p.Seq]).Milliseconds())
	}
	return out
}

func stats(v []float64) (mean, lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, x := range v {
		mean += x / float64(len(v))
		lo, hi = min(lo, x), max(hi, x)
	}
	return mean, lo, hi
}

// TestIdleDelay: vectors LTE-6 (scheduling request of 10 ms: 17.0 ms mean,
// uniform 12..22), its table for other periods, the downlink's 7.5 ms and the
// prescheduled uplink's 7 ms + half a TTI, LTE-7 (DRX 320/10: 150.2 ms more on
// average, 310 at most) and a promotion from idle.
func TestIdleDelay(t *testing.T) {
	drx := DRX{OnDuration: 10 * link.Millisecond, Inactivity: 200 * link.Millisecond, LongCycle: 320 * link.Millisecond}
	cases := []struct {
		name         string
		cfg          Config
		way          link.Way
		mean, lo, hi float64
		tol          float64
	}{
		{"downlink", Config{HARQ: perfect}, link.Down, 7.5, 7, 8, 0.05},
		{"SR 10 ms", Config{HARQ: perfect}, link.Up, 17, 12, 22, 0.3},
		{"SR 1 ms", Config{HARQ: perfect, Access: Access{SRPeriod: 1 * link.Millisecond}}, link.Up, 12.5, 12, 13, 0.05},
		{"SR 5 ms", Config{HARQ: perfect, Access: Access{SRPeriod: 5 * link.Millisecond}}, link.Up, 14.5, 12, 17, 0.2},
		{"SR 20 ms", Config{HARQ: perfect, Access: Access{SRPeriod: 20 * link.Millisecond}}, link.Up, 22, 12, 32, 0.6},
		{"SR 40 ms", Config{HARQ: perfect, Access: Access{SRPeriod: 40 * link.Millisecond}}, link.Up, 32, 12, 52, 1.2},
		{"SR 80 ms", Config{HARQ: perfect, Access: Access{SRPeriod: 80 * link.Millisecond}}, link.Up, 52, 12, 92, 2.4},
		{"prescheduled", Config{HARQ: perfect, Access: Access{Grants: "prescheduled"}}, link.Up, 7.5, 7, 8, 0.05},
		{"DRX 320/10", Config{HARQ: perfect, DRX: drx}, link.Down, 7.5 + 150.2, 7, 7 + 311, 8},
		{"DRX 160/10", Config{HARQ: perfect, DRX: cycle(drx, 160, 10)}, link.Down, 7.5 + 70.31, 7, 7 + 151, 4},
		{"DRX 80/10", Config{HARQ: perfect, DRX: cycle(drx, 80, 10)}, link.Down, 7.5 + 30.63, 7, 7 + 71, 2},
		{"DRX 40/2", Config{HARQ: perfect, DRX: cycle(drx, 40, 2)}, link.Down, 7.5 + 18.05, 7, 7 + 39, 1},
		{"promotion, uplink", Config{HARQ: perfect, RRC: RRC{Inactivity: link.Second}}, link.Up, 260 + 4.5, 263, 266, 3},
		{"promotion, downlink", Config{HARQ: perfect, RRC: RRC{Inactivity: link.Second}}, link.Down, 640 + 260 + 4, 263, 1546, 45},
		{"BLER 10 %", Config{}, link.Down, 7.5 + 0.886, 7, 200, 0.2},
	}
	for _, c := range cases {
		mean, lo, hi := stats(delays(lone(c.cfg, c.way), 4*link.Second, 1500))
		if math.Abs(mean-c.mean) > c.tol || lo < c.lo-1e-9 || hi > c.hi+1e-9 {
			t.Errorf("%s: mean %.2f in [%.2f, %.2f] ms, want %.2f ± %.2f in [%.0f, %.0f]", c.name, mean, lo, hi, c.mean, c.tol, c.lo, c.hi)
		}
	}
}

// cycle is d with another long cycle and time on, in ms.
func cycle(d DRX, long, on link.Duration) DRX {
	d.LongCycle, d.OnDuration = long*link.Millisecond, on*link.Millisecond
	return d
}

// TestHandover is vector LTE-8: 50 ms at 20 Mbit/s queue 125,000 bytes, none
// lost, the spike is the interruption; seamless loses what is in flight.
func TestHandover(t *testing.T) {
	run := func(lossless bool) (*linktest.Log, float64) {
		u := NewCell(Config{Down: steady(25), HARQ: perfect}, link.NewDraw(1, "lte")).UE(1)
		b, log := u.Bearer(link.Down), &linktest.Log{}
		sent := map[uint64]link.Time{}
		for i := range uint64(2000) { // 1250 B each 0.5 ms = 20 Mbit/s
			now := link.Time(i) * link.Time(500*link.Microsecond)
			if i == 1000 {
				u.Handover(now, 50*link.Millisecond, lossless)
			}
			if i == 1100 { // 50 ms of arrivals
				if n := b.waiting.Bytes(); math.Abs(float64(n)-132500) > 2600 && lossless {
					t.Errorf("%d bytes queued by the handover, want 125,000 and 3 ms (7,500) in processing, ± a TTI", n)
				}
			}
			sent[i] = now
			b.Put(link.Packet{When: now, Seq: i, Body: link.Body{Size: 1250}}, log)
		}
		b.Run(3*second, log)
		worst := 0.0
		for _, p := range log.Delivered() {
			worst = max(worst, p.When.Sub(sent[p.Seq]).Milliseconds())
		}
		return log, worst
	}
	log, worst := run(true)
	linktest.Ordered(t, log)
	if n := len(log.Delivered()); n != 2000 || math.Abs(worst-57) > 3 {
		t.Errorf("lossless: %d delivered, worst delay %.1f ms, want 2000 and 57 ± 3", n, worst)
	}
	if log, _ = run(false); log.Lost(link.Handover) < 5 || log.Lost(link.Handover) > 20 {
		t.Errorf("seamless: %d lost, want the 4 ms in flight, about 8", log.Lost(link.Handover))
	}
}

// TestBuffer is vector LTE-9: 1 MiB at 10 Mbit/s is 838.9 ms of queue. CQI 6
// at 50 PRB gives 7.992 Mbit/s: 1,048,576·8/7.992e6 = 1049.6 ms plus the radio.
func TestBuffer(t *testing.T) {
	b, log := lone(Config{PRB: 50, Down: steady(4.5), HARQ: perfect}, link.Down), &linktest.Log{}
	sent := map[uint64]link.Time{}
	for i := range uint64(6000) {
		now := link.Time(i) * link.Time(600*link.Microsecond)
		sent[i] = now
		b.Put(link.Packet{When: now, Seq: i, Body: link.Body{Size: 1514}}, log)
	}
	b.Run(10*second, log)
	worst := 0.0
	for _, p := range log.Delivered() {
		worst = max(worst, p.When.Sub(sent[p.Seq]).Milliseconds())
	}
	if math.Abs(worst-1049.6) > 15 || log.Lost(link.QueueFull) == 0 {
		t.Errorf("worst delay %.1f ms, want 1049.6 ± 15; %d lost to the full buffer", worst, log.Lost(link.QueueFull))
	}
}
