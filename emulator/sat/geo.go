package sat

import (
	"fmt"
	"math"

	"farlink/emulator/link"
	"farlink/emulator/orbit"
)

// Site is a place on the ground.
type Site = orbit.Site

// Topologies of a Geo.
const (
	// Star: terminal to gateway through a transparent satellite, one hop.
	Star = "star"
	// StarToStar: terminal to terminal by way of the gateway, two hops.
	StarToStar = "star_to_star"
	// Mesh: terminal to terminal by way of a satellite that switches on
	// board, one hop.
	Mesh = "mesh"
)

// Geo is the table [geo] of a profile: it gives the propagation delay of
// both ways from where the stations stand. What is left out is none.
type Geo struct {
	// Satellite is the longitude of the satellite, degrees East, -180..180.
	Satellite float64 `toml:"satellite"`
	// Terminal is the station on the device side.
	Terminal Site `toml:"terminal"`
	// Gateway is the hub; unused in a mesh.
	Gateway Site `toml:"gateway"`
	// Peer is the far terminal of star_to_star and mesh.
	Peer Site `toml:"peer"`
	// Topology is star (the default), star_to_star or mesh.
	Topology string `toml:"topology"`
	// TerminalProcessing is spent in each terminal passed, each way: modem
	// framing, encryption. 10ms is typical.
	TerminalProcessing link.Duration `toml:"terminal_processing"`
	// GatewayProcessing is spent at each pass of the gateway; 15ms is
	// typical.
	GatewayProcessing link.Duration `toml:"gateway_processing"`
	// OnboardProcessing is spent in the satellite of a mesh, 1..20ms.
	OnboardProcessing link.Duration `toml:"onboard_processing"`
}

// Delay returns the one-way delay: the legs flown and the processing passed.
// It is the same both ways.
func (g Geo) Delay() link.Duration {
	terminal, gateway, peer := g.leg(g.Terminal), g.leg(g.Gateway), g.leg(g.Peer)
	switch g.Topology {
	case StarToStar:
		return terminal + 2*gateway + peer + 2*g.TerminalProcessing + g.GatewayProcessing
	case Mesh:
		return terminal + peer + 2*g.TerminalProcessing + g.OnboardProcessing
	}
	return terminal + gateway + g.TerminalProcessing + g.GatewayProcessing
}

// Hop returns the flight from terminal to gateway by way of the satellite:
// what a report or a request needs to reach the hub.
func (g Geo) Hop() link.Duration {
	if g.Topology == Mesh {
		return 2 * g.leg(g.Terminal) // to the satellite and back
	}
	return g.leg(g.Terminal) + g.leg(g.Gateway)
}

func (g Geo) leg(s Site) link.Duration {
	km, _ := orbit.Look(s, g.Satellite)
	return orbit.Flight(km)
}

// Check reports every problem of the table.
func (g Geo) Check(report link.Report) {
	if !(math.Abs(g.Satellite) <= 180) {
		report("satellite", number(g.Satellite), "a longitude in degrees East, -180 to 180")
	}
	g.checkSite(report, "terminal", g.Terminal)
	switch g.Topology {
	case "", Star:
		g.checkSite(report, "gateway", g.Gateway)
	case StarToStar:
		g.checkSite(report, "gateway", g.Gateway)
		g.checkSite(report, "peer", g.Peer)
	case Mesh:
		g.checkSite(report, "peer", g.Peer)
	default:
		report("topology", fmt.Sprintf("%q", g.Topology), `"star", "star_to_star" or "mesh"`)
	}
	checkProcessing(report, "terminal_processing", g.TerminalProcessing)
	checkProcessing(report, "gateway_processing", g.GatewayProcessing)
	checkProcessing(report, "onboard_processing", g.OnboardProcessing)
	if g.OnboardProcessing != 0 && g.Topology != Mesh {
		report("onboard_processing", g.OnboardProcessing.String(), `none: only the satellite of topology "mesh" processes`)
	}
}

func (g Geo) checkSite(report link.Report, path string, s Site) {
	if !(math.Abs(s.Lat) <= 90) {
		report(path+".lat", number(s.Lat), "a latitude in degrees North, -90 to 90")
		return
	}
	if !(math.Abs(s.Lon) <= 180) {
		report(path+".lon", number(s.Lon), "a longitude in degrees East, -180 to 180")
		return
	}
	if _, e := orbit.Look(s, g.Satellite); e < orbit.MinElevation {
		report(path, fmt.Sprintf("the satellite at %.1f degrees", e),
			"it at least 5 degrees above the horizon: move the station or the satellite")
	}
}

func checkProcessing(report link.Report, path string, d link.Duration) {
	if d > link.Second {
		report(path, d.String(), "a processing delay of at most 1s")
	}
}

func number(f float64) string { return fmt.Sprintf("%g", f) }
