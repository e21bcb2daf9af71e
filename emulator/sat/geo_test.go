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

var (
	seoul   = Site{Lat: 37.5665, Lon: 126.978}
	daejeon = Site{Lat: 36.3504, Lon: 127.3845}
	jeju    = Site{Lat: 33.4996, Lon: 126.5312}
)

func TestDelay(t *testing.T) {
	ms := func(d link.Duration) float64 { return d.Milliseconds() }
	pair := Geo{Satellite: 116, Terminal: seoul, Gateway: daejeon}
	near(t, "Seoul-Daejeon one way ms", ms(pair.Delay()), 249.340, 0.005)
	near(t, "Seoul-Daejeon RTT ms", 2*ms(pair.Delay()), 498.679, 0.005)
	european := Geo{Satellite: 7.2, Terminal: Site{Lat: 49.5897, Lon: 11.0040}, Gateway: Site{Lat: 48.6439, Lon: 1.8340}}
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
		{"mesh needs no gateway", func(g *Geo) { g.Topology, g.Peer, g.Gateway = Mesh, jeju, Site{Lat: 0, Lon: -60} }, ""},
		{"below the horizon", func(g *Geo) { g.Gateway = Site{Lat: 0, Lon: -60} }, "gateway"},
		{"everything at once", func(g *Geo) {
			g.Satellite, g.Terminal.Lat, g.Gateway.Lon, g.TerminalProcessing = 181, 91, math.NaN(), 2*link.Second
		}, "satellite terminal.lat gateway.lon terminal_processing"},
		{"topology", func(g *Geo) { g.Topology = "ring" }, "topology"},
		{"peer", func(g *Geo) { g.Topology, g.Peer = StarToStar, Site{Lat: 0, Lon: -10} }, "peer"},
		{"on board", func(g *Geo) { g.OnboardProcessing = 1 }, "onboard_processing"},
	} {
		g := good
		v.edit(&g)
		if got := problems(g.Check); got != v.want {
			t.Errorf("%s: problems at %q, want %q", v.name, got, v.want)
		}
	}
}
