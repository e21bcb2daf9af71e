package orbit

import (
	"testing"

	"farlink/emulator/link"
)

// Section 6.1, LEO-1, 3, 4: slant range, leg, and RTT over a bent pipe (four
// legs) at altitude and elevation.
func TestLowOrbits(t *testing.T) {
	for _, v := range []struct{ altitude, elevation, km, leg, rtt float64 }{
		{550, 90, 550.0, 1.835, 7.34}, {550, 40, 812.1, 2.709, 10.84}, {550, 25, 1123.4, 3.747, 14.99},
		{1200, 90, 1200, 4.003, 16.01}, {1200, 40, 1692.9, 5.647, 22.59}, {1200, 25, 2204.8, 7.355, 29.42},
		{8062, 90, 8062, 26.892, 107.57}, {8062, 25, 10537, 35.148, 140.59},
	} {
		km := SlantRange(v.altitude, v.elevation)
		near(t, "km", km, v.km, 0.6)
		near(t, "leg ms", Flight(km).Milliseconds(), v.leg, 0.002)
		near(t, "RTT ms", 4*Flight(km).Milliseconds(), v.rtt, 0.01)
	}
}

// Every pass stays above its least elevation for its dwell; the extremes
// touch it, and the middle one goes overhead.
func TestPassStaysUp(t *testing.T) {
	const dwell = 15 * link.Second
	for u := 0.0; u <= 1; u += 0.125 {
		for v := 0.0; v <= 1; v += 0.125 {
			p := NewPass(550, 25, dwell, u, v)
			for s := link.Duration(0); s <= dwell; s += link.Second {
				km, e := p.Look(s, 0, 0)
				if e < 25-1e-6 || e > 90 {
					t.Fatalf("u %v v %v after %v: %v degrees", u, v, s, e)
				}
				near(t, "range agrees with elevation", km, SlantRange(550, e), 1e-6)
			}
		}
	}
	_, begin := NewPass(550, 25, dwell, 0.5, 0).Look(0, 0, 0)
	_, end := NewPass(550, 25, dwell, 0.5, 1).Look(dwell, 0, 0)
	_, top := NewPass(550, 25, dwell, 0.5, 0.5).Look(dwell/2, 0, 0)
	near(t, "rises at", begin, 25, 1e-6)
	near(t, "sets at", end, 25, 1e-6)
	near(t, "overhead", top, 90, 1e-4)
}

// At 550 km a satellite goes 7.585 km/s, sqrt(398600.44/6928.137); the point
// below it 6.983. Straight towards the terminal at 25 degrees the range
// falls by v·cos(angle between): by 7.585·cos(33.45°) = 6.329 km/s, where
// 33.45° is acos(6378.137/6928.137·cos 25°).
func TestPassSpeed(t *testing.T) {
	p := NewPass(550, 25, 15*link.Second, 0.5, 0)
	a, _ := p.Look(0, 0, 0)
	b, _ := p.Look(link.Second/10, 0, 0)
	near(t, "range rate km/s", (a-b)*10, 6.329, 0.01)
	// A gateway 300 km ahead is nearer by almost 300·cos 25 km.
	c, _ := p.Look(0, -Angle(300), 0)
	near(t, "to a gateway 300 km behind its begin", a-c, 265, 12)
}

// A dwell longer than any pass still gives the middle one.
func TestPassTooLong(t *testing.T) {
	p := NewPass(550, 60, 1000*link.Second, 0.9, 0.3)
	if _, e := p.Look(500*link.Second, 0, 0); e != e {
		t.Error("not a number")
	}
}
