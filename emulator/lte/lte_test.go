package lte

import (
	"math"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

const second = link.Time(link.Second)

// lone returns the bearer of the only UE of a cell.
func lone(cfg Config, w link.Way) *Bearer {
	return NewCell(cfg, link.NewDraw(1, "lte")).UE(1).Bearer(w)
}

// radio is a steady channel of an SINR.
func radio(sinr float64) Radio { return Radio{SINR: sinr} }

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

// TestTables holds CQI, MCS, TBS index and block sizes against linkfacts 3.1,
// row by row (TS 36.213 tables 7.2.3-1, 7.1.7.1-1, 7.1.7.2.1-1).
func TestTables(t *testing.T) {
	rows := [15][5]int{ // MCS, I_TBS, bits per ms at 25, 50, 100 PRB
		{0, 0, 680, 1384, 2792}, {2, 2, 1096, 2216, 4584}, {4, 4, 1800, 3624, 7224}, {6, 6, 2600, 5160, 10296},
		{8, 8, 3496, 6968, 14112}, {10, 9, 4008, 7992, 15840}, {12, 11, 4968, 9912, 19848}, {14, 13, 6456, 12960, 25456},
		{16, 15, 7736, 15264, 30576}, {18, 16, 7992, 16416, 32856}, {20, 18, 9912, 19848, 39232}, {22, 20, 11448, 22920, 46888},
		{24, 22, 13536, 27376, 55056}, {26, 24, 15264, 30576, 61664}, {28, 26, 18336, 36696, 75376},
	}
	for i, r := range rows {
		cqi := i + 1
		itbs := int(downITBS[MCS(cqi)])
		got := [5]int{MCS(cqi), itbs, TBS(itbs, 25), TBS(itbs, 50), TBS(itbs, 100)}
		if got != r {
			t.Errorf("CQI %d: %v, want %v", cqi, got, r)
		}
	}
	// LTE-3: uplink MCS 20 at 100 PRB is I_TBS 19, 43,816 bits.
	if i := upITBS[20]; i != 19 || TBS(int(i), 100) != 43816 {
		t.Errorf("uplink MCS 20: I_TBS %d, %d bits", i, TBS(int(i), 100))
	}
	// Between columns: 40 PRB at I_TBS 0 is 680 + 704·15/25 = 1102.
	if got := TBS(0, 40); got != 1102 {
		t.Errorf("TBS(0, 40) = %d, want 1102", got)
	}
}

// TestCQI is vector LTE-4.
func TestCQI(t *testing.T) {
	for sinr, want := range map[float64]int{-7: 0, 0: 3, 6: 7, 12: 10, 25: 15} {
		if got := CQI(sinr); got != want {
			t.Errorf("CQI(%v dB) = %d, want %d", sinr, got, want)
		}
	}
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
		{"CQI 9, 50 PRB", Config{PRB: 50, Down: radio(10.5), HARQ: perfect}, 15.264, 0.005},
		{"CQI 9, 50 PRB, BLER 10 %", Config{PRB: 50, Down: radio(10.5)}, 13.738, 0.012},
		{"CQI 15, 100 PRB", Config{Down: radio(25), HARQ: perfect}, 75.376, 0.005},
		{"CQI 15, 100 PRB, 2 layers", Config{Layers: 2, Down: radio(25), HARQ: perfect}, 150.752, 0.005},
		{"two component carriers", Config{PRB: 50, Carriers: 2, Down: radio(10.5), HARQ: perfect}, 2 * 15.264, 0.005},
		{"half the cell taken", Config{PRB: 50, Down: radio(10.5), HARQ: perfect, Background: Background{DownShare: 0.5}}, 7.632, 0.04},
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
		u := NewCell(Config{Down: radio(25), HARQ: perfect}, link.NewDraw(1, "lte")).UE(1)
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
	b, log := lone(Config{PRB: 50, Down: radio(4.5), HARQ: perfect}, link.Down), &linktest.Log{}
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

// TestShadowing is vector LTE-10: 60 km/h, 0.1 s, sd 8 ± 0.3 dB, lag-1
// correlation 0.967 ± 0.003.
func TestShadowing(t *testing.T) {
	c := newChannel(Radio{SINR: 10, Shadowing: 8, Speed: 60}.withDefaults(), link.NewDraw(3, "x"))
	const n = 100000
	var sum, square, product, last float64
	for k := range int64(n) {
		v := c.sinr(k*shadowSlot) - 10
		sum, square, product = sum+v, square+v*v, product+v*last
		last = v
	}
	variance := square/n - sum/n*sum/n
	if sd := math.Sqrt(variance); math.Abs(sd-8) > 0.3 {
		t.Errorf("sd %.2f dB, want 8 ± 0.3", sd)
	}
	if r := (product/n - sum/n*sum/n) / variance; math.Abs(r-0.967) > 0.003 {
		t.Errorf("lag-1 correlation %.4f, want 0.967 ± 0.003", r)
	}
}

// Section 3.8 of the reference sheet: correlation of a step and deviation of
// the innovation at 8 dB and 50 m. Steps here are 0.1 s; those of 1 s are ten.
func TestShadowingTable(t *testing.T) {
	for _, v := range []struct{ kmh, seconds, rho, sd float64 }{
		{3, 1, 0.98347, 1.4485}, {30, 0.1, 0.98347, 1.4485}, {60, 0.1, 0.96722, 2.0316}, {60, 1, 0.71653, 5.5804}, {120, 1, 0.51342, 6.8651},
	} {
		c := newChannel(Radio{Shadowing: 8, Speed: v.kmh}.withDefaults(), link.NewDraw(3, "x"))
		rho := math.Pow(c.rho, v.seconds/0.1)
		if sd := 8 * math.Sqrt(1-rho*rho); math.Abs(rho-v.rho) > 1e-5 || math.Abs(sd-v.sd) > 1e-3 {
			t.Errorf("%v km/h, %v s: rho %.5f, innovation %.4f dB, want %.5f and %.4f", v.kmh, v.seconds, rho, sd, v.rho, v.sd)
		}
	}
}

// TestFading: the power of Rayleigh fading is exponential with mean 1, so it
// lies 10 dB or more below its mean in 1-exp(-0.1) = 9.5 % of the blocks.
func TestFading(t *testing.T) {
	c := newChannel(Radio{SINR: 0.0001, Fading: "rayleigh", Speed: 30}.withDefaults(), link.NewDraw(3, "x"))
	const n = 200000
	var power float64
	deep := 0
	for k := range int64(n) {
		db := c.fading(k * 7)
		power += math.Pow(10, db/10) / n
		if db < -10 {
			deep++
		}
	}
	if math.Abs(power-1) > 0.02 || math.Abs(float64(deep)/n-0.0952) > 0.005 {
		t.Errorf("mean power %.3f, %.4f of blocks 10 dB down; want 1 and 0.0952", power, float64(deep)/n)
	}
}
