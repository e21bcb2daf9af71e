package link

import "math"

// Draw is a source of randomness without state: its value is a function of
// (seed, name, n), where n is the packet's Seq for draws per packet and the
// slot number for processes in time. Two stages with different names draw
// independently; adding a stage shifts nobody's draws; the channel of a run
// is the same whatever traffic meets it.
type Draw struct{ key uint64 }

// NewDraw returns the draws of the thing called name under seed.
func NewDraw(seed uint64, name string) Draw {
	// FNV-1a over the name, then mixed with the seed, so that neither near
	// seeds nor near names give related keys.
	h := uint64(14695981039346656037)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return Draw{mix(h ^ mix(seed))}
}

// Sub returns the draws of a part of the thing, independent of the thing's
// own.
func (d Draw) Sub(name string) Draw { return NewDraw(d.key, name) }

// golden is 2^64 over the golden ratio, SplitMix64's increment (Steele, Lea,
// Flood: Fast splittable pseudorandom number generators, 2014).
const golden = 0x9E3779B97F4A7C15

// mix is SplitMix64's finaliser: a bijection in which every input bit moves
// every output bit with probability near 1/2.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Uint64 returns 64 uniform bits for n.
func (d Draw) Uint64(n uint64) uint64 { return mix(d.key + (n+1)*golden) }

// Float returns a uniform number in [0, 1) with 53 bits.
func (d Draw) Float(n uint64) float64 { return float64(d.Uint64(n)>>11) * 0x1p-53 }

// Chance reports true with probability p (0 never, 1 always).
func (d Draw) Chance(n uint64, p float64) bool { return d.Float(n) < p }

// Exponential returns a draw of the exponential distribution with mean 1.
func (d Draw) Exponential(n uint64) float64 { return -math.Log1p(-d.Float(n)) }
