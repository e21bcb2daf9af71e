package modcod

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.6g, want %.6g ± %.2g", what, got, want, tolerance)
	}
}

// Section 1.8: efficiencies of every S2 MODCOD: normal without and with
// pilots, short without.
func TestS2Efficiency(t *testing.T) {
	want := [][3]float64{
		{0.490243, 0.4786, 0.3653}, {0.656448, 0.6408, 0.6291}, {0.789412, 0.7706, 0.7609}, {0.988858, 0.9653, 0.8488},
		{1.188304, 1.1600, 1.1565}, {1.322253, 1.2908, 1.2884}, {1.487473, 1.4521, 1.4203}, {1.587196, 1.5494, 1.5082},
		{1.654663, 1.6153, 1.5961}, {1.766451, 1.7244, 1.7280}, {1.788612, 1.7460, 0}, {1.779991, 1.7396, 1.7253},
		{1.980636, 1.9357, 1.9220}, {2.228124, 2.1775, 2.1188}, {2.478562, 2.4223, 2.3811}, {2.646012, 2.5859, 2.5778},
		{2.679207, 2.6184, 0}, {2.637201, 2.5746, 2.5488}, {2.966728, 2.8963, 2.8097}, {3.165623, 3.0905, 2.9836},
		{3.300184, 3.2219, 3.1575}, {3.523143, 3.4395, 3.4184}, {3.567342, 3.4827, 0}, {3.703295, 3.6233, 3.4931},
		{3.951571, 3.8662, 3.7093}, {4.119540, 4.0306, 3.9255}, {4.397854, 4.3029, 4.2498}, {4.453027, 4.3569, 0},
	}
	if len(S2) != len(want) {
		t.Fatalf("%d MODCODs, want %d", len(S2), len(want))
	}
	for i, m := range S2 {
		near(t, m.Name, Framing{}.Efficiency(m), want[i][0], 1e-6)
		near(t, m.Name+" pilots", Framing{Pilots: true}.Efficiency(m), want[i][1], 6e-5)
		near(t, m.Name+" short", Framing{Short: true}.Efficiency(m), want[i][2], 6e-5)
	}
}

// Section 1.9. Where the sheet prints two values, the formula decides: 32APSK
// 2/3-L 3.289502, 64APSK 5/6 4.936639.
func TestS2XEfficiency(t *testing.T) {
	want := []float64{0.434841, 0.567805, 0.889135, 1.088581, 1.647211, 1.713601, 1.896173, 2.062148, 2.145136,
		1.972253, 2.104850, 2.193247, 2.281645, 2.370043, 2.370043, 2.458441, 2.524739, 2.635236, 2.745734, 2.856231,
		3.077225, 3.386618, 3.289502, 3.510192, 3.620536, 3.841226, 4.206428, 4.338659, 4.603122, 4.735354, 4.936639,
		5.163248, 5.355556, 5.065690, 5.241514, 5.417338, 5.593162, 5.768987, 5.900855}
	if len(S2X) != len(want) {
		t.Fatalf("%d MODCODs, want %d", len(S2X), len(want))
	}
	for i, m := range S2X {
		near(t, m.Name, Framing{}.Efficiency(m), want[i], 1e-6)
		if e := (Framing{Short: true}).Efficiency(m); e != 0 {
			t.Errorf("%s: a short frame of efficiency %v; its sizes are not known", m.Name, e)
		}
	}
}

func TestFrameSymbols(t *testing.T) {
	for _, v := range []struct {
		bits                               int
		normal, pilots, short, shortPilots int
	}{
		{2, 32490, 33282, 8190, 8370}, {3, 21690, 22194, 5490, 5598}, {4, 16290, 16686, 4140, 4212}, {5, 13050, 13338, 3330, 3402},
	} {
		m := Modcod{Bits: v.bits}
		for f, want := range map[Framing]int{{}: v.normal, {Pilots: true}: v.pilots, {Short: true}: v.short, {true, true}: v.shortPilots} {
			if got := f.Symbols(m); got != want {
				t.Errorf("%d bits, %+v: %d symbols, want %d", v.bits, f, got, want)
			}
		}
	}
}

// ACM-1..5: the best MODCOD at margins of 0, 0.5 and 1 dB.
func TestBest(t *testing.T) {
	ladder := Ladder(S2, Framing{}, 0)
	for _, v := range []struct {
		esN0 float64
		want [3]string
	}{
		{0.0, [3]string{"QPSK 2/5", "QPSK 1/3", "QPSK 1/3"}},
		{6.3, [3]string{"8PSK 3/5", "8PSK 3/5", "QPSK 5/6"}},
		{10.0, [3]string{"16APSK 2/3", "16APSK 2/3", "16APSK 2/3"}},
		{14.18, [3]string{"32APSK 4/5", "32APSK 4/5", "32APSK 3/4"}},
		{-3.0, [3]string{"none", "none", "none"}},
		{40, [3]string{"32APSK 9/10", "32APSK 9/10", "32APSK 9/10"}},
	} {
		for i, margin := range []float64{0, 0.5, 1} {
			got := "none"
			if m := Best(ladder, v.esN0-margin); m != None {
				got = ladder[m].Modcod.Name
			}
			if got != v.want[i] {
				t.Errorf("Es/N0 %v, margin %v: %s, want %s", v.esN0, margin, got, v.want[i])
			}
		}
	}
}

// A ladder rises in both, and leaves out what the sheet calls dominated.
func TestLadder(t *testing.T) {
	for _, list := range [][]Modcod{S2, S2X} {
		ladder := Ladder(list, Framing{}, 0)
		for i := 1; i < len(ladder); i++ {
			if a, b := ladder[i-1], ladder[i]; a.Efficiency >= b.Efficiency || a.Need >= b.Need {
				t.Errorf("%s before %s", a.Modcod.Name, b.Modcod.Name)
			}
		}
		for e := -4.0; e < 21; e += 0.01 { // the ladder loses nothing
			whole, cut := 0.0, 0.0
			for _, m := range list {
				if m.EsN0 <= e {
					whole = max(whole, Framing{}.Efficiency(m))
				}
			}
			if i := Best(ladder, e); i != None {
				cut = ladder[i].Efficiency
			}
			if whole != cut {
				t.Fatalf("at %v dB the ladder carries %v of %v", e, cut, whole)
			}
		}
	}
	dominated := map[int]bool{10: true, 15: true, 16: true, 17: true, 22: true, 23: true}
	for _, r := range Ladder(S2, Framing{}, 0) {
		if dominated[r.Number] {
			t.Errorf("%s stands in the ladder", r.Modcod.Name)
		}
	}
	near(t, "QPSK 1/4 with 1.5 dB of loss", Ladder(S2, Framing{}, 1.5)[0].Need, -0.85, 1e-9)
}

// S2-1..4 and the frame times of the sheet.
func TestCarrierRates(t *testing.T) {
	rate := func(mbaud float64, number int) float64 { return mbaud * Framing{}.Efficiency(S2[number-1]) }
	near(t, "S2-1 Mbit/s", rate(30, 14), 66.844, 5e-4)
	near(t, "S2-1 ms", float64(Framing{}.Symbols(S2[13]))/30e3, 0.723, 5e-4)
	near(t, "S2-2 QPSK 1/2", rate(40, 4), 39.554, 5e-4)
	near(t, "S2-2 32APSK 9/10", rate(27.5, 28), 122.458, 5e-4)
	near(t, "S2-3", float64(Framing{}.Symbols(S2[0]))/30e3, 1.0830, 5e-5)
	near(t, "S2-3 pilots", float64(Framing{Pilots: true}.Symbols(S2[0]))/30e3, 1.1094, 5e-5)
	near(t, "S2-3 1 MBd", float64(Framing{}.Symbols(S2[0]))/1e3, 32.49, 5e-3)
	near(t, "S2-4 16APSK 5/6", rate(30, 21), 99.006, 5e-4)
	near(t, "S2-4 16APSK 2/3", rate(30, 18), 79.116, 5e-4)
	near(t, "S2-4 QPSK 1/2", rate(30, 4), 29.666, 5e-4)
}
