package rain

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

// P.838-3: the printed table of coefficients, and gamma of horizontal
// polarisation at R = 10, 30, 50 mm/h.
func TestCoefficients(t *testing.T) {
	for _, v := range []struct {
		f, kH, aH, kV, aV, kC, aC float64
		gamma                     [3]float64
	}{
		{10, 0.01217, 1.2571, 0.01129, 1.2156, 0.01173, 1.2371, [3]float64{0.220, 0.875, 1.663}},
		{11, 0.01772, 1.2140, 0.01731, 1.1617, 0.01751, 1.1882, [3]float64{0.290, 1.101, 2.046}},
		{12, 0.02386, 1.1825, 0.02455, 1.1216, 0.02420, 1.1516, [3]float64{0.363, 1.331, 2.436}},
		{13, 0.03041, 1.1586, 0.03266, 1.0901, 0.03153, 1.1231, [3]float64{0.438, 1.565, 2.828}},
		{14, 0.03738, 1.1396, 0.04126, 1.0646, 0.03932, 1.1002, [3]float64{0.515, 1.802, 3.226}},
		{18, 0.07078, 1.0818, 0.07708, 1.0025, 0.07393, 1.0405, [3]float64{0.855, 2.805, 4.874}},
		{19.7, 0.08832, 1.0605, 0.09316, 0.9871, 0.09074, 1.0228, [3]float64{1.015, 3.255, 5.594}},
		{20, 0.09164, 1.0568, 0.09611, 0.9847, 0.09388, 1.0199, [3]float64{1.044, 3.335, 5.722}},
		{25, 0.15709, 0.9991, 0.15327, 0.9491, 0.15518, 0.9744, [3]float64{1.568, 4.699, 7.828}},
		{27.5, 0.19667, 0.9729, 0.18876, 0.9313, 0.19272, 0.9525, [3]float64{1.848, 5.381, 8.845}},
		{29.5, 0.23128, 0.9532, 0.22065, 0.9166, 0.22597, 0.9353, [3]float64{2.077, 5.918, 9.630}},
		{30, 0.24031, 0.9485, 0.22909, 0.9129, 0.23470, 0.9311, [3]float64{2.134, 6.050, 9.821}},
		{40, 0.44306, 0.8673, 0.42738, 0.8421, 0.43522, 0.8549, [3]float64{3.264, 8.464, 13.182}},
	} {
		for _, p := range []struct{ tilt, k, alpha float64 }{{0, v.kH, v.aH}, {90, v.kV, v.aV}, {45, v.kC, v.aC}} {
			k, alpha := Coefficients(v.f, 0, p.tilt)
			near(t, "k", k, p.k, 1e-5)
			near(t, "alpha", alpha, p.alpha, 1e-4)
		}
		for i, rate := range []float64{10, 30, 50} {
			near(t, "gamma", Specific(v.f, 0, 0, rate), v.gamma[i], 1e-3)
		}
	}
}

// R838-1..4: the ITU's validation examples.
func TestSpecific(t *testing.T) {
	for _, v := range []struct {
		id                                      string
		f, elev, tilt, rate, k, alpha, specific float64
	}{
		{"R838-1", 14.25, 31.07699124, 0, 26.48052, 0.03975488, 1.12418043, 1.58130839},
		{"R838-2", 29, 31.07699124, 0, 26.48052, 0.22106804, 0.95320005, 5.02180189},
		{"R838-3", 14.25, 48.24117054, 90, 63.62668149, 0.04226474, 1.07871664, 3.72901264},
		{"R838-4", 29, 85.80459566, 90, 99.13558978, 0.21737148, 0.93950825, 16.3183686},
	} {
		k, alpha := Coefficients(v.f, v.elev, v.tilt)
		near(t, v.id+" k", k, v.k, 1e-4*v.k)
		near(t, v.id+" alpha", alpha, v.alpha, 1e-4*v.alpha)
		near(t, v.id+" gamma", Specific(v.f, v.elev, v.tilt, v.rate), v.specific, 1e-4*v.specific)
	}
}

// london29 is R618-2: the path at 29 GHz of the ITU's validation example.
var london29 = Path{Latitude: 51.5, Elevation: 31.07699124, Height: 0.031382984, RainHeight: 2.452733, Frequency: 29, Rate: 26.48052}

// R618-1..4: geometry and attenuation exceeded 1, 0.1, 0.01, 0.001 %. Where
// the example gives Ls, the rain height follows from it: hr = hs + Ls·sin e.
func TestExceeded(t *testing.T) {
	london14 := london29
	london14.Frequency = 14.25
	above := func(p Path, slant float64) Path {
		p.RainHeight = p.Height + slant*math.Sin(p.Elevation*degree)
		return p
	}
	for _, v := range []struct {
		id   string
		path Path
		want extent
		a    [4]float64
	}{
		{"R618-1", london14, extent{4.6908, 4.0176, 0.87648, 4.1114, 1.04563, 6.7981}, [4]float64{0.4953, 2.1858, 6.7981, 14.8998}},
		{"R618-2", london29, extent{4.6908, 4.0176, 0.78696, 3.6915, 1.26468, 23.4444}, [4]float64{2.2078, 8.5701, 23.4444, 45.1987}},
		{"R618-3", above(Path{Latitude: 22.9, Elevation: 22.27833468, Frequency: 14.25, Rate: 50.639304}, 10.96995451),
			extent{10.9700, 10.1511, 0.54952, 6.0282, 0.94617, 18.9441}, [4]float64{1.7069, 8.2716, 18.9441, 29.9117}},
		{"R618-4", above(Path{Latitude: 25.78, Elevation: 52.67898486, Height: 0.00861728, Frequency: 14.25, Rate: 78.2994993}, 5.735098894),
			extent{5.7351, 3.4771, 0.67035, 3.8445, 0.83549, 16.4298}, [4]float64{1.4373, 6.2972, 16.4298, 29.9309}},
	} {
		x := v.path.extent()
		near(t, v.id+" Ls", x.slant, v.want.slant, 1e-4)
		near(t, v.id+" LG", x.ground, v.want.ground, 1e-4)
		near(t, v.id+" r", x.horizontal, v.want.horizontal, 1e-5)
		near(t, v.id+" LR", x.rain, v.want.rain, 1e-4)
		near(t, v.id+" v", x.vertical, v.want.vertical, 1e-5)
		near(t, v.id+" A0.01", x.a001, v.want.a001, 1e-3)
		for i, percent := range []float64{1, 0.1, 0.01, 0.001} {
			near(t, v.id+" A", v.path.Exceeded(percent), v.a[i], 1e-3)
		}
	}
}

// The illustrative Korean site of the sheet, to its two printed decimals.
func TestKoreanSite(t *testing.T) {
	for _, v := range []struct {
		f float64
		a [5]float64
	}{
		{12.25, [5]float64{0.68, 1.10, 2.94, 4.26, 8.89}},
		{14.25, [5]float64{1.01, 1.61, 4.20, 6.02, 12.28}},
		{20, [5]float64{2.19, 3.42, 8.52, 11.96, 23.31}},
		{30, [5]float64{4.93, 7.53, 17.86, 24.56, 45.59}},
	} {
		p := Path{Latitude: 37.57, Elevation: 45, Height: 0.05, RainHeight: 4.36, Frequency: v.f, Tilt: 45, Rate: 50}
		for i, percent := range []float64{1, 0.5, 0.1, 0.05, 0.01} {
			near(t, "A", p.Exceeded(percent), v.a[i], 0.006)
		}
	}
}

func TestNoRain(t *testing.T) {
	dry := london29
	dry.Rate = 0
	above := london29
	above.Height = 5 // over the clouds
	for _, p := range []Path{dry, above} {
		if a := p.Exceeded(0.01); a != 0 {
			t.Errorf("%+v: %v dB of rain, want none", p, a)
		}
		if a := p.Series(5).Attenuation(4); a != 0 {
			t.Errorf("%+v: the series fades by %v dB, want none", p, a)
		}
	}
}

// R1853-1: the fit to the twelve points below P0; R1853-2: A of X.
func TestSeries(t *testing.T) {
	points := []float64{23.444, 17.966, 15.152, 12.038, 8.570, 5.911, 4.687, 3.446, 2.208, 1.371, 1.022, 0.695}
	for i, a := range points {
		near(t, "A(p)", london29.Exceeded(fitPoints[i]), a, 1e-3)
	}
	s := london29.Series(5.3615)
	near(t, "m", s.Mean, -3.2049, 1e-3)
	near(t, "sigma", s.Deviation, 1.7234, 1e-3)
	near(t, "A_off", s.Offset, 0.6512, 1e-3)
	for _, v := range []struct{ x, a float64 }{{0, 0}, {1, 0}, {2, 0.622}, {3, 6.485}, {3.5, 16.243}} {
		near(t, "A(X)", s.Attenuation(v.x), v.a, 5e-3)
	}
	// R1853-3: the share of time above A, from the quantile of X: X
	// exceeds x with probability 1-Phi(x).
	for _, v := range []struct{ a, percent float64 }{{1, 1.575}, {3, 0.451}, {5, 0.209}, {10, 0.0614}, {20, 0.0149}} {
		x := (math.Log(v.a+s.Offset) - s.Mean) / s.Deviation
		near(t, "P(A>a) %", 50*math.Erfc(x/math.Sqrt2), v.percent, 2e-3*v.percent+5e-5)
	}
}
