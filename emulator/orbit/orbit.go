// Package orbit is the geometry of satellites over a spherical earth: how far
// they are, how high they stand, how long light takes, how they pass.
//
// Units: km, degrees (longitude East positive), nanoseconds. Heights of
// stations are ignored.
package orbit

import (
	"math"

	"farlink/emulator/link"
)

const (
	lightSpeed  = 299792.458 // km/s, exact by definition of the metre
	earthRadius = 6378.137   // km, WGS-84 equatorial radius
	geoRadius   = 42164.17   // km, radius of the geostationary orbit
)

// degree is one degree in radians.
const degree = math.Pi / 180

// MinElevation is the least elevation, in degrees, at which a service is
// planned; below it Check reports a problem. The satellite itself is above
// the horizon from 0.
const MinElevation = 5.0

// Site is a place on the ground; height is ignored, the earth is a sphere.
type Site struct {
	Lat float64 `toml:"lat"` // degrees North, -90..90
	Lon float64 `toml:"lon"` // degrees East, -180..180
}

// Look returns how site sees a geostationary satellite above longitude
// satellite: slant range in km and elevation in degrees, negative below the
// horizon.
func Look(site Site, satellite float64) (km, elevation float64) {
	cos := math.Cos(site.Lat*degree) * math.Cos((site.Lon-satellite)*degree)
	sin := math.Sqrt(max(0, 1-cos*cos))
	km = math.Sqrt(earthRadius*earthRadius + geoRadius*geoRadius - 2*earthRadius*geoRadius*cos)
	return km, math.Atan2(cos-earthRadius/geoRadius, sin) / degree
}

// SlantRange returns the distance in km to a satellite at an altitude in km
// that is seen at an elevation in degrees.
func SlantRange(altitude, elevation float64) float64 {
	r, s := earthRadius+altitude, math.Sin(elevation*degree)
	c := earthRadius * math.Cos(elevation*degree)
	return math.Sqrt(r*r-c*c) - earthRadius*s
}

// Altitude is the height of the geostationary orbit above the equator, km.
const Altitude = geoRadius - earthRadius

// Flight returns how long light takes for a distance in km.
func Flight(km float64) link.Duration {
	return link.Duration(math.Round(km / lightSpeed * 1e9))
}
