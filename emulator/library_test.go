package emulator_test

import (
	"math"
	"testing"

	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/emulator/sim"
	"farlink/profiles"
)

// Every shipped profile keeps what it promises: idle round trip, saturated
// rate and loss each way, measured in virtual time as `farlink sim` does.
func TestLibrary(t *testing.T) {
	all, err := profiles.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			got, err := sim.Measure(func() (sim.Emulator, error) {
				return emulator.New(emulator.Spec{Links: []emulator.LinkSpec{{Name: "main", Profile: s.Profile, Seed: 1}}})
			}, effort(s.Profile))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, s.Profile, got)
		})
	}
}

// effort is long enough for 20,000 full frames of the slower way, for 1,500
// if the faster would take more than 60,000 meanwhile, or for the bursts of a
// channel in time, and no longer.
func effort(p *profiles.Profile) sim.Effort {
	if shadowed(p) {
		return sim.Effort{Idle: 60 * link.Second, Warm: 5 * link.Second, Saturated: 100 * link.Second}
	}
	slow, fast := p.Rate(link.Down), p.Rate(link.Up)
	if slow == 0 || fast > 0 && fast < slow {
		slow, fast = fast, slow
	}
	length := min(slow.Time(20000*1514), max(max(fast, slow).Time(60000*1514), slow.Time(1500*1514)))
	if p.Down.Loss.GilbertTime != nil {
		length = 400 * link.Second
	}
	if p.LEO != nil && p.LEO.Burst > 0 {
		length = min(120*link.Second, p.LEO.Down.Time(700_000*1514)) // four to eight changes
	}
	length = min(max(length, 300*link.Millisecond), 400*link.Second)
	idle := 60 * link.Second
	if p.LEO != nil {
		idle = 10 * link.Second // of one epoch
	}
	return sim.Effort{Idle: idle, Warm: 4*p.RTT() + 1200*link.Millisecond, Saturated: length}
}

// shadowed reports whether a cell's rate moves with shadows that last for
// seconds: what is promised then is the mean of minutes and seeds.
func shadowed(p *profiles.Profile) bool { return p.LTE != nil && p.LTE.Down.Shadowing > 0 }

func compare(t *testing.T, p *profiles.Profile, got sim.Figures) {
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got-want) > tolerance {
			t.Errorf("%s: got %.6g, want %.6g ± %.2g", what, got, want, tolerance)
		}
	}
	e := p.Expect
	rtt := got.IdleRTT.P50
	tolerance := 0.01*e.RTT.Milliseconds() + 0.1
	if j := p.Down.Path.Jitter; j != nil {
		tolerance += j.Spread.Milliseconds() // of the median of ten
	}
	spread := 0.02 // of rates
	if l := p.LEO; l != nil {
		// One epoch's delay, a few epochs' rates, of a whole law.
		least, most := l.Delays()
		tolerance += (most - least).Milliseconds()
		spread += max(1, l.Spread)*max(1, l.Spread) - 1
	}
	if shadowed(p) {
		spread, tolerance = 0.6, tolerance+3
	}
	near("idle round trip, ms", rtt, e.RTT.Milliseconds(), tolerance)
	if e.Down > 0 {
		near("rate down", got.DownRate, float64(e.Down)*(1-e.LossDown), spread*float64(e.Down))
	}
	if e.Up > 0 {
		near("rate up", got.UpRate, float64(e.Up)*(1-e.LossUp), spread*float64(e.Up))
	}
	near("loss down", got.DownLoss, e.LossDown, lossTolerance(e.LossDown))
	near("loss up", got.UpLoss, e.LossUp, lossTolerance(e.LossUp))
}

// lossTolerance is four deviations of a share of 10,000 independent packets,
// and a quarter for losses that come in bursts.
func lossTolerance(p float64) float64 {
	return 4*math.Sqrt(p*(1-p)/10000) + p/4
}
