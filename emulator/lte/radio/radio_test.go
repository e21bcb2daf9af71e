package radio

import (
	"math"
	"testing"

	"farlink/emulator/link"
)

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
		itbs := Index(link.Down, MCS(cqi))
		got := [5]int{MCS(cqi), itbs, TBS(itbs, 25), TBS(itbs, 50), TBS(itbs, 100)}
		if got != r {
			t.Errorf("CQI %d: %v, want %v", cqi, got, r)
		}
	}
	// LTE-3: uplink MCS 20 at 100 PRB is I_TBS 19, 43,816 bits.
	if i := Index(link.Up, 20); i != 19 || TBS(i, 100) != 43816 {
		t.Errorf("uplink MCS 20: I_TBS %d, %d bits", i, TBS(i, 100))
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

// TestShadowing is vector LTE-10: 60 km/h, 0.1 s, sd 8 ± 0.3 dB, lag-1
// correlation 0.967 ± 0.003.
func TestShadowing(t *testing.T) {
	c := NewChannel(Config{SINR: 10, Shadowing: 8, Speed: 60}.Complete(), link.NewDraw(3, "x"))
	const n = 100000
	var sum, square, product, last float64
	for k := range int64(n) {
		v := c.SINR(k*shadowSlot) - 10
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
		c := NewChannel(Config{Shadowing: 8, Speed: v.kmh}.Complete(), link.NewDraw(3, "x"))
		rho := math.Pow(c.rho, v.seconds/0.1)
		if sd := 8 * math.Sqrt(1-rho*rho); math.Abs(rho-v.rho) > 1e-5 || math.Abs(sd-v.sd) > 1e-3 {
			t.Errorf("%v km/h, %v s: rho %.5f, innovation %.4f dB, want %.5f and %.4f", v.kmh, v.seconds, rho, sd, v.rho, v.sd)
		}
	}
}

// TestFading: the power of Rayleigh fading is exponential with mean 1, so it
// lies 10 dB or more below its mean in 1-exp(-0.1) = 9.5 % of the blocks.
func TestFading(t *testing.T) {
	c := NewChannel(Config{SINR: 0.0001, Fading: "rayleigh", Speed: 30}.Complete(), link.NewDraw(3, "x"))
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

// TestRician compares the power with the law of Rice: with K the power of the
// line of sight over that of the scattered part, its mean is 1, its variance
// (2K+1)/(K+1)² (Simon and Alouini, Digital Communication over Fading
// Channels, 2.2.1.2), so 3/4 at 0 dB, 8.962/24.81 at 6 dB and 21/121 at 10 dB.
// At 500 km/h and 1800 MHz the Doppler shift is 834 Hz and a block a TTI: each
// is independent. At 3 km/h one lasts 84 TTIs, and those between two borders of
// blocks, which are interpolated, have the same law; of some 4760 blocks the
// mean strays by 0.014.
func TestRician(t *testing.T) {
	for _, c := range []struct {
		fading             string
		k, speed           float64
		variance, tol, off float64 // off: tolerance of the mean
	}{
		{"rician", 0.001, 500, 0.75, 0.02, 0.01}, // 0 is "not said"
		{"rician", 0, 500, 0.3612, 0.01, 0.01},   // default 6 dB
		{"rician", 10, 500, 0.1736, 0.005, 0.01},
		{"rayleigh", 10, 500, 1, 0.03, 0.01}, // no line of sight, whatever K
		{"rician", 6, 3, 0.3612, 0.03, 0.045},
	} {
		x := NewChannel(Config{SINR: 10, Fading: c.fading, RiceK: c.k, Speed: c.speed}.Complete(), link.NewDraw(1, "rice"))
		const n = 400000
		var sum, squares float64
		for i := range int64(n) {
			power := math.Pow(10, (x.SINR(i)-10)/10)
			sum += power
			squares += power * power
		}
		mean := sum / n
		variance := squares/n - mean*mean
		if math.Abs(mean-1) > c.off || math.Abs(variance-c.variance) > c.tol {
			t.Errorf("%s, K %g dB, %g km/h: mean %.4f, variance %.4f; want 1 and %.4f ± %.3f", c.fading, c.k, c.speed, mean, variance, c.variance, c.tol)
		}
	}
}

// A trace of SINRs is followed step by step, again and again: CQI 7, 15 and 3
// of 6, 25 and 0 dB (LTE-4), a second each.
func TestTraceOfSINR(t *testing.T) {
	r := Config{Trace: []float64{6, 25, 0}, TraceStep: link.Second}
	c := NewChannel(r.Complete(), link.NewDraw(1, "x"))
	for second, want := range []float64{6, 25, 0, 6, 25} {
		if got := c.SINR(int64(second)*1000 + 500); got != want {
			t.Errorf("second %d: %v dB, want %v", second, got, want)
		}
	}
}

// Path loss of TS 36.942, 128.1 + 37.6 lg(km): ten times as far is 37.6 dB
// less, twice as far 11.32.
func TestPathLoss(t *testing.T) {
	for _, c := range []struct{ near, far, less float64 }{{100, 1000, 37.6}, {500, 1000, 11.3188}, {1000, 2000, 11.3188}} {
		if got := pathSINR(c.near) - pathSINR(c.far); math.Abs(got-c.less) > 1e-3 {
			t.Errorf("from %v to %v m %.4f dB less, want %.4f", c.near, c.far, got, c.less)
		}
	}
}
