package orbit

import (
	"math"

	"farlink/emulator/link"
)

// gravity is the earth's standard gravitational parameter, km³/s² (WGS-84).
const gravity = 398600.4418

// Pass is a satellite on a circular orbit that goes over a terminal. The
// plane is that of the terminal: along is the angle, seen from the centre of
// the earth, by which the satellite is past the point nearest to the
// terminal, across the angle by which it misses it. The earth's rotation, a
// fifteenth of the satellite's at 550 km, is left out.
type Pass struct {
	radius float64 // of the orbit, km
	speed  float64 // radians a second
	along  float64 // at its begin
	across float64
}

// reach returns the greatest angle between terminal and sub-satellite point
// at which a satellite at an altitude stands at elevation or higher.
func reach(altitude, elevation float64) float64 {
	e := elevation * degree
	return math.Acos(earthRadius/(earthRadius+altitude)*math.Cos(e)) - e
}

// NewPass returns the pass of a satellite that stays above elevation
// (degrees) for the whole of a dwell, as far as the dwell allows it. u and v,
// 0..1, choose among all such passes: how far aside, and how early.
func NewPass(altitude, elevation float64, dwell link.Duration, u, v float64) Pass {
	radius := earthRadius + altitude
	p := Pass{radius: radius, speed: math.Sqrt(gravity / (radius * radius * radius))}
	way := p.speed * dwell.Seconds()
	far := math.Cos(reach(altitude, elevation))
	// Aside at most so far that the chord over the terminal's view is as
	// long as the way of a dwell.
	p.across = (2*u - 1) * math.Acos(min(1, far/math.Cos(way/2)))
	half := math.Acos(min(1, far/math.Cos(p.across)))
	p.along = -half + v*max(0, 2*half-way)
	return p
}

// Look returns slant range (km) and elevation (degrees) of the satellite,
// since after the begin of the pass, for a station that stands an angle east
// (along the track) and north (across it) of the terminal, in radians.
func (p Pass) Look(since link.Duration, east, north float64) (km, elevation float64) {
	cos := math.Cos(p.along+p.speed*since.Seconds()-east) * math.Cos(p.across-north)
	sin := math.Sqrt(max(0, 1-cos*cos))
	km = math.Sqrt(earthRadius*earthRadius + p.radius*p.radius - 2*earthRadius*p.radius*cos)
	return km, math.Atan2(cos-earthRadius/p.radius, sin) / degree
}

// Angle returns the angle, seen from the centre of the earth, of a distance
// in km on the ground.
func Angle(km float64) float64 { return km / earthRadius }
