package orbit

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

// GEO-1..8: site, satellite longitude, slant range, elevation, leg.
func TestLook(t *testing.T) {
	for _, v := range []struct {
		id            string
		site          Site
		sat           float64
		km, elev, leg float64
	}{
		{"GEO-1", Site{0, 0}, 0, 35786.0, 90.00, 119.369},
		{"GEO-2 Seoul", Site{37.5665, 126.978}, 116, 37416.2, 44.94, 124.807},
		{"GEO-3 Daejeon", Site{36.3504, 127.3845}, 116, 37334.0, 46.13, 124.533},
		{"GEO-4 Jeju", Site{33.4996, 126.5312}, 116, 37115.2, 49.42, 123.803},
		{"GEO-5 Frankfurt", Site{50.1109, 8.6821}, 7.0, 38389.0, 32.54, 128.052},
		{"GEO-6 London", Site{51.5074, -0.1278}, 28.2, 39036.1, 25.37, 130.210},
		{"GEO-7 Denver", Site{39.7392, -104.9903}, -111.1, 37513.4, 43.58, 125.131},
		{"GEO-8 Tromso", Site{69.6492, 18.9553}, 7.0, 40441.4, 11.36, 134.898},
	} {
		km, elev := Look(v.site, v.sat)
		near(t, v.id+" km", km, v.km, 1)
		near(t, v.id+" elevation", elev, v.elev, 0.01)
		near(t, v.id+" leg ms", Flight(km).Milliseconds(), v.leg, 0.005)
	}
	if _, elev := Look(Site{0, 81.31}, 0); elev >= 0 {
		t.Errorf("beyond 81.2995 degrees the satellite is seen at %v", elev)
	}
}

// The table of elevations: range, leg, hop and RTT; the hop is twice the leg.
func TestSlantRange(t *testing.T) {
	for _, v := range []struct{ elev, km, leg, rtt float64 }{
		{90, 35786.0, 119.369, 477.48}, {60, 36519.8, 121.817, 487.27}, {50, 37078.4, 123.680, 494.72},
		{40, 37780.3, 126.022, 504.09}, {30, 38611.7, 128.795, 515.18}, {20, 39554.6, 131.940, 527.76},
		{10, 40586.1, 135.381, 541.52}, {5, 41126.8, 137.184, 548.74}, {0, 41679.0, 139.026, 556.10},
	} {
		km := SlantRange(Altitude, v.elev)
		near(t, "km", km, v.km, 0.06)
		near(t, "leg ms", Flight(km).Milliseconds(), v.leg, 0.001)
		near(t, "RTT ms", 4*Flight(km).Milliseconds(), v.rtt, 0.01)
	}
}
