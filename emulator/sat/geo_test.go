package sat

import (
	"math"
	"strings"
	"testing"

	"farlink/emulator/link"
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

var (
	seoul   = Site{37.5665, 126.978}
	daejeon = Site{36.3504, 127.3845}
	jeju    = Site{33.4996, 126.5312}
)

func TestDelay(t *testing.T) {
	ms := func(d link.Duration) float64 { return d.Milliseconds() }
	pair := Geo{Satellite: 116, Terminal: seoul, Gateway: daejeon}
	near(t, "Seoul-Daejeon one way ms", ms(pair.Delay()), 249.340, 0.005)
	near(t, "Seoul-Daejeon RTT ms", 2*ms(pair.Delay()), 498.679, 0.005)
	european := Geo{Satellite: 7.2, Terminal: Site{49.5897, 11.0040}, Gateway: Site{48.6439, 1.8340}}
	near(t, "European pair RTT ms", 2*ms(european.Delay()), 511.15, 0.01)

	pair.TerminalProcessing, pair.GatewayProcessing = 10*link.Millisecond, 15*link.Millisecond
	near(t, "with processing", ms(pair.Delay()), 249.340+25, 0.005)
	near(t, "hop is flight alone", ms(pair.Hop()), 249.340, 0.005)

	// Legs: Seoul 124.807, Daejeon 124.533 twice, Jeju 123.803; two
	// terminals and one pass of the gateway.
	far := pair
	far.Peer, far.Topology = jeju, StarToStar
	near(t, "star to star", ms(far.Delay()), 124.807+2*124.533+123.803+2*10+15, 0.01)
	// One hop, the satellite instead of the gateway.
	far.Topology, far.OnboardProcessing = Mesh, 5*link.Millisecond
	near(t, "mesh", ms(far.Delay()), 124.807+123.803+2*10+5, 0.01)
	near(t, "mesh hop", ms(far.Hop()), 2*124.807, 0.01)
}

// problems returns "path: got" of each problem.
func problems(check func(link.Report)) string {
	var all []string
	check(func(path, got, want string) {
		if got == "" || want == "" {
			got = "(silent)"
		}
		all = append(all, path)
	})
	return strings.Join(all, " ")
}

func TestGeoCheck(t *testing.T) {
	good := Geo{Satellite: 116, Terminal: seoul, Gateway: daejeon}
	for _, v := range []struct {
		name string
		edit func(*Geo)
		want string
	}{
		{"good", func(g *Geo) {}, ""},
		{"mesh needs no gateway", func(g *Geo) { g.Topology, g.Peer, g.Gateway = Mesh, jeju, Site{0, -60} }, ""},
		{"below the horizon", func(g *Geo) { g.Gateway = Site{0, -60} }, "gateway"},
		{"everything at once", func(g *Geo) {
			g.Satellite, g.Terminal.Lat, g.Gateway.Lon, g.TerminalProcessing = 181, 91, math.NaN(), 2*link.Second
		}, "satellite terminal.lat gateway.lon terminal_processing"},
		{"topology", func(g *Geo) { g.Topology = "ring" }, "topology"},
		{"peer", func(g *Geo) { g.Topology, g.Peer = StarToStar, Site{0, -10} }, "peer"},
		{"on board", func(g *Geo) { g.OnboardProcessing = 1 }, "onboard_processing"},
	} {
		g := good
		v.edit(&g)
		if got := problems(g.Check); got != v.want {
			t.Errorf("%s: problems at %q, want %q", v.name, got, v.want)
		}
	}
}
