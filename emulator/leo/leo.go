// Package leo models a link over satellites in low orbit. Every 15 s the
// network gives each terminal a satellite anew, everywhere at once; for that
// long the path walks with the satellite, the rate stays, and the change
// itself is felt:
//
//	epoch  │◀──────────────── 15 s ───────────────▶│
//	delay  ▁▇▁▁▁▂▂▂▂▃▃▃▃▃▃▃▃▂▂▂▂▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▆▁▇▁▁  flight + ground, spikes at the change
//	rate   ▁▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▁▃▃▃  log-normal per epoch, none in the gap
//	loss   ▂█▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂  background, bursts at some changes
//
// All that an epoch is stands in the draw and its number; so both ways, and
// every stage, see the same one. Sources: the 15 s grid and the spikes, "A
// Multifaceted Look at Starlink Performance" and "Statistical
// Characterization and Prediction of E2E Latency over LEO Satellite
// Networks" (abstracts); loss bursts, "A browser-side view of starlink
// connectivity" (abstract). The distributions are this project's.
package leo

import (
	"math"

	"farlink/emulator/link"
	"farlink/emulator/orbit"
)

// Config is the table [leo] of a profile. What is left out is none, except
// where a default is named.
type Config struct {
	// Altitude of the shell, km, 300..2000; 550 when 0.
	Altitude float64 `toml:"altitude,omitempty"`
	// Elevation is the least at which a terminal is served, degrees,
	// 10..85; 25 when 0.
	Elevation float64 `toml:"elevation,omitempty"`
	// Gateway is the distance from terminal to gateway on the ground, km,
	// 0..1500.
	Gateway float64 `toml:"gateway,omitempty"`
	// Period of reconfiguration, 1s..60s; 15s when 0.
	Period link.Duration `toml:"period,omitempty"`
	// Phase is when the first change comes, within a period; 12s when 0:
	// the changes are at :12 :27 :42 :57 of a run's minutes.
	Phase link.Duration `toml:"phase,omitempty"`
	// GroundLeast and GroundMost bound what the ground adds to the flight,
	// one way: access, backhaul, queues not modelled; drawn per epoch.
	GroundLeast link.Duration `toml:"ground_least,omitempty"`
	GroundMost  link.Duration `toml:"ground_most,omitempty"`
	// Down and Up are the median rates, Spread the factor of one standard
	// deviation of their log-normal law per epoch, 1..4; 1 when 0. Rates
	// keep within an eighth and four times the median.
	Down   link.Rate `toml:"down,omitempty"`
	Up     link.Rate `toml:"up,omitempty"`
	Spread float64   `toml:"spread,omitempty"`
	// SpikeLeast and SpikeMost bound what the delay rises by around a
	// change, for Lead after it and Tail before it.
	SpikeLeast link.Duration `toml:"spike_least,omitempty"`
	SpikeMost  link.Duration `toml:"spike_most,omitempty"`
	Lead       link.Duration `toml:"lead,omitempty"`
	Tail       link.Duration `toml:"tail,omitempty"`
	// Gap is how long nothing is served after a change.
	Gap link.Duration `toml:"gap,omitempty"`
	// Burst is the probability that a change loses packets, of which a
	// share from BurstLossLeast to 1, for a time from BurstLeast to
	// BurstMost.
	Burst          float64       `toml:"burst,omitempty"`
	BurstLeast     link.Duration `toml:"burst_least,omitempty"`
	BurstMost      link.Duration `toml:"burst_most,omitempty"`
	BurstLossLeast float64       `toml:"burst_loss_least,omitempty"`
	// Loss is the probability that a packet is lost at any time.
	Loss float64 `toml:"loss,omitempty"`
}

// complete returns c with its defaults in place.
func (c Config) complete() Config {
	if c.Altitude == 0 {
		c.Altitude = 550
	}
	if c.Elevation == 0 {
		c.Elevation = 25
	}
	if c.Period == 0 {
		c.Period = 15 * link.Second
	}
	if c.Phase == 0 {
		c.Phase = 12 * link.Second
	}
	if c.Spread == 0 {
		c.Spread = 1
	}
	return c
}

// Rate returns the median rate of way w.
func (c Config) Rate(w link.Way) link.Rate {
	if w == link.Down {
		return c.Down
	}
	return c.Up
}

// MeanLoss returns the loss in the long run, bursts included: what a
// measurement over hours finds when the load is even.
func (c Config) MeanLoss() float64 {
	c = c.complete()
	burst := (c.BurstLeast + c.BurstMost).Seconds() / 2 / c.Period.Seconds()
	return c.Loss + (1-c.Loss)*c.Burst*burst*(1+c.BurstLossLeast)/2
}

// Delays returns bounds of the one-way delay outside spikes.
func (c Config) Delays() (least, most link.Duration) {
	c = c.complete()
	least = 2*orbit.Flight(c.Altitude) + c.GroundLeast
	// The gateway is no farther from the satellite than the terminal is
	// from both.
	most = 2*orbit.Flight(orbit.SlantRange(c.Altitude, c.Elevation)) + orbit.Flight(c.Gateway) + c.GroundMost
	return least, most
}

// epoch is the state of the network between two changes.
type epoch struct {
	number     int64 // 0 before the first change
	begin, end link.Time
	pass       orbit.Pass
	east       float64 // of the gateway, radians along the satellite's track
	north      float64
	ground     link.Duration
	spike      link.Duration
	rate       int64 // bit/s
	burstEnd   link.Time
	burstLoss  float64
}

// network yields the epochs of one way of a link.
type network struct {
	c    Config
	way  link.Way
	draw link.Draw
	now  epoch
}

func newNetwork(c Config, w link.Way, draw link.Draw) network {
	n := network{c: c.complete(), way: w, draw: draw}
	n.enter(0)
	return n
}

// at returns the epoch of an instant.
func (n *network) at(t link.Time) *epoch {
	if t < n.now.begin || t >= n.now.end {
		number := int64(0)
		if since := t.Sub(link.Time(n.c.Phase)); since >= 0 {
			number = int64(since/n.c.Period) + 1
		}
		n.enter(number)
	}
	return &n.now
}

// enter makes the epoch of a number. Each figure has its own draw, so that a
// change of one parameter leaves the others as they were.
func (n *network) enter(number int64) {
	c, i := n.c, uint64(number)
	float := func(name string) float64 { return n.draw.Sub(name).Float(i) }
	between := func(name string, least, most link.Duration) link.Duration {
		return least + link.Duration(float(name)*float64(most-least))
	}
	begin := link.Time(c.Phase) + link.Time(number-1)*link.Time(c.Period)
	direction, distance := 2*math.Pi*float("direction"), orbit.Angle(c.Gateway)
	n.now = epoch{
		number: number, begin: begin, end: begin.Add(c.Period),
		pass: orbit.NewPass(c.Altitude, c.Elevation, c.Period, float("across"), float("along")),
		east: distance * math.Cos(direction), north: distance * math.Sin(direction),
		ground: between("ground", c.GroundLeast, c.GroundMost),
		spike:  between("spike", c.SpikeLeast, c.SpikeMost),
		rate:   n.rate(i), burstEnd: begin,
	}
	if float("burst") < c.Burst && number > 0 {
		n.now.burstEnd = begin.Add(between("burst length", c.BurstLeast, c.BurstMost))
		n.now.burstLoss = c.BurstLossLeast + float("burst loss")*(1-c.BurstLossLeast)
	}
	if number == 0 {
		n.now.begin = math.MinInt64
	}
}

func (n *network) rate(i uint64) int64 {
	median := n.c.Rate(n.way)
	if median == 0 {
		return 0
	}
	x := math.Pow(n.c.Spread, n.draw.Sub("rate "+n.way.String()).Normal(i))
	return max(1, int64(float64(median)*max(1.0/8, min(4, x))))
}

// delay returns the one-way delay at an instant of the epoch.
func (n *network) delay(t link.Time) link.Duration {
	e := n.at(t)
	since := t.Sub(n.begin())
	up, _ := e.pass.Look(since, 0, 0)
	down, _ := e.pass.Look(since, e.east, e.north)
	d := orbit.Flight(up+down) + e.ground
	if e.number > 0 && t.Sub(e.begin) < n.c.Lead || e.end.Sub(t) <= n.c.Tail {
		d += e.spike
	}
	return d
}

// begin returns when the epoch's pass began, for the one before the first
// change too.
func (n *network) begin() link.Time { return n.now.end - link.Time(n.c.Period) }
