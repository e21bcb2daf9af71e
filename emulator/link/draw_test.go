package link

import (
	"math"
	"math/bits"
	"slices"
	"testing"
)

// TestSplitMix: the draw is SplitMix64 with random access; these are the
// first outputs of that generator for the state 1234567, as published with
// implementations of it.
func TestSplitMix(t *testing.T) {
	d := Draw{1234567}
	for n, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := d.Uint64(uint64(n)); got != want {
			t.Errorf("draw %d: %d, want %d", n, got, want)
		}
	}
}

// sources are draws that a fault would make alike: near seeds, near names,
// parts of each other.
func sources() []Draw {
	return []Draw{NewDraw(0, ""), NewDraw(1, ""), NewDraw(2, ""), NewDraw(1, "loss"), NewDraw(1, "lost"), NewDraw(1<<63, "loss"),
		NewDraw(1, "loss").Sub("a"), NewDraw(1, "loss").Sub("b"), NewDraw(1, "loss").Sub("")}
}

// TestUniform: a million numbers of each source fall evenly into 256 bins; so
// do pairs of neighbours into 16 by 16, and pairs of the same number of two
// sources. Chi-square with 255 degrees of freedom passes 330.5 once in 1000.
func TestUniform(t *testing.T) {
	const n = 1_000_000
	all := sources()
	for i, d := range all {
		other := all[(i+1)%len(all)]
		var single, pairs, across [256]int
		for k := range uint64(n) {
			u := d.Float(k)
			if u < 0 || u >= 1 {
				t.Fatalf("source %d: %v", i, u)
			}
			single[int(u*256)]++
			pairs[int(u*16)<<4|int(d.Float(k+1)*16)]++
			across[int(u*16)<<4|int(other.Float(k)*16)]++
		}
		for name, bins := range map[string][256]int{"alone": single, "in pairs": pairs, "with another": across} {
			x := 0.0
			for _, b := range bins {
				x += (float64(b) - n/256.0) * (float64(b) - n/256.0) / (n / 256.0)
			}
			if x > 330.5 {
				t.Errorf("source %d %s: chi-square %.1f, want below 330.5", i, name, x)
			}
		}
	}
}

// TestAvalanche: a bit flipped in the seed, in the number, or in the name
// flips each bit of the value half of the time.
func TestAvalanche(t *testing.T) {
	const n = 4000
	for name, flip := range map[string]func(k uint64, bit int) (a, b uint64){
		"seed": func(k uint64, bit int) (a, b uint64) {
			return NewDraw(k, "x").Uint64(7), NewDraw(k^1<<bit, "x").Uint64(7)
		},
		"number": func(k uint64, bit int) (a, b uint64) {
			return NewDraw(1, "x").Uint64(k), NewDraw(1, "x").Uint64(k ^ 1<<bit)
		},
		"name": func(k uint64, bit int) (a, b uint64) {
			s := []byte("namename")
			a = NewDraw(k, string(s)).Uint64(7)
			s[bit/8] ^= 1 << (bit % 8)
			return a, NewDraw(k, string(s)).Uint64(7)
		},
	} {
		for bit := range 64 {
			var flips [64]int
			total := 0
			for k := range uint64(n) {
				a, b := flip(k, bit)
				total += bits.OnesCount64(a ^ b)
				for out := range flips {
					flips[out] += int((a ^ b) >> out & 1)
				}
			}
			// 256,000 and 4000 tosses: 5 and 6 deviations.
			if math.Abs(float64(total)/(64*n)-0.5) > 5*0.5/math.Sqrt(64*n) {
				t.Errorf("bit %d of the %s flips %.4f of the bits", bit, name, float64(total)/(64*n))
			}
			for out, f := range flips {
				if math.Abs(float64(f)/n-0.5) > 6*0.5/math.Sqrt(n) {
					t.Errorf("bit %d of the %s flips bit %d with %.3f", bit, name, out, float64(f)/n)
				}
			}
		}
	}
}

// TestLaws: normal and exponential draws against their distributions, by
// Kolmogorov and Smirnov: 1.628/sqrt(n) is passed once in a hundred times.
func TestLaws(t *testing.T) {
	const n = 100_000
	d := NewDraw(3, "laws")
	for name, c := range map[string]struct {
		draw func(uint64) float64
		law  func(float64) float64
	}{
		"normal":      {d.Normal, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }},
		"exponential": {d.Exponential, func(x float64) float64 { return -math.Expm1(-x) }},
	} {
		values := make([]float64, n)
		for i := range values {
			values[i] = c.draw(uint64(i))
		}
		slices.Sort(values)
		most := 0.0
		for i, v := range values {
			most = max(most, c.law(v)-float64(i)/n, float64(i+1)/n-c.law(v))
		}
		if most*math.Sqrt(n) > 1.628 {
			t.Errorf("%s: Kolmogorov-Smirnov %.3f, want below 1.628", name, most*math.Sqrt(n))
		}
	}
}

func TestChance(t *testing.T) {
	d, hits := NewDraw(1, "chance"), 0
	for n := range uint64(100_000) {
		if d.Chance(n, 0) || !d.Chance(n, 1) {
			t.Fatal("0 is never and 1 is always")
		}
		if d.Chance(n, 0.01) {
			hits++
		}
	}
	if hits < 874 || hits > 1126 { // 1000 ± 4·31.5
		t.Errorf("%d of 100000 at 0.01", hits)
	}
}

// TestQuantile has tabled values of the normal distribution, and the way back
// through erfc, over both of its branches and far into the tails.
func TestQuantile(t *testing.T) {
	for p, want := range map[float64]float64{
		0.5: 0, 0.75: 0.6744897501960817, 0.9: 1.2815515655446004, 0.975: 1.959963984540054, 0.99: 2.3263478740408408,
		0.025: -1.959963984540054, 0.001: -3.090232306167813, 1e-10: -6.361340902404056, 1e-300: -37.0471, // the last by its table to 6 digits
	} {
		if got := Quantile(p); math.Abs(got-want) > 1e-4 || p > 1e-200 && math.Abs(got-want) > 1e-14*max(1, math.Abs(want)) {
			t.Errorf("quantile of %g: %.17g, want %.17g", p, got, want)
		}
	}
	for p := 1e-15; p < 1; p = p*1.37 + 1e-16 {
		if back := math.Erfc(-Quantile(p)/math.Sqrt2) / 2; math.Abs(back/p-1) > 1e-13 {
			t.Errorf("quantile of %g leads back to %g", p, back)
		}
	}
}

// TestNormal holds the table against the exact quantile: in every cell, at
// both ends and in the middle, on both sides, and over a whole sweep, along
// which it never goes back.
func TestNormal(t *testing.T) {
	const steps = 1 << 20
	worst, last := 0.0, math.Inf(-1)
	for i := range uint64(steps) {
		bits := i<<44 | i*golden>>20
		got := normal(bits)
		worst = max(worst, math.Abs(got-Quantile((float64(bits>>11)+0.5)*0x1p-53)))
		if got < last {
			t.Fatalf("%#x: %v after %v", bits, got, last)
		}
		last = got
		if back := normal(^bits); back != -got {
			t.Fatalf("%#x: %v, its mirror %v", bits, got, back)
		}
	}
	if worst > 1.1e-5 || worst < 1e-6 {
		t.Errorf("at most %.3g off, want 1.1e-5, and not nothing", worst)
	}
	for bits, want := range map[uint64]float64{
		0: Quantile(0x1p-54), math.MaxUint64: -Quantile(0x1p-54), 1 << 62: Quantile(0.25), 1 << 63: 0,
	} {
		if got := normal(bits); math.Abs(got-want) > 1e-12 {
			t.Errorf("%#x: %v, want %v", bits, got, want)
		}
	}
}

func BenchmarkNormal(b *testing.B) {
	d, sum := NewDraw(1, "b"), 0.0
	for n := uint64(0); b.Loop(); n++ {
		sum += d.Normal(n)
	}
	_ = sum
}
