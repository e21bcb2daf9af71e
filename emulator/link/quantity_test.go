package link

import (
	"encoding"
	"math"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	rate := func(s string) (int64, error) { r, err := ParseRate(s); return int64(r), err }
	size := func(s string) (int64, error) { r, err := ParseSize(s); return int64(r), err }
	duration := func(s string) (int64, error) { r, err := ParseDuration(s); return int64(r), err }
	for _, c := range []struct {
		read func(string) (int64, error)
		text string
		want int64
	}{
		{rate, "8Mbit/s", 8e6}, {rate, "64 kbit/s", 64e3}, {rate, "1.5Gbit/s", 15e8}, {rate, "1bit/s", 1},
		{rate, "0.064Mbit/s", 64e3}, {rate, "unlimited", 0}, {rate, "0bit/s", 0}, {rate, "9223372036.854775807Gbit/s", math.MaxInt64},
		{size, "1500B", 1500}, {size, "2MB", 2e6}, {size, "2MiB", 2 << 20}, {size, "1.5KiB", 1536}, {size, "0.25GiB", 1 << 28},
		{duration, "250ms", 250e6}, {duration, "1.5s", 15e8}, {duration, "20us", 20e3}, {duration, "20µs", 20e3}, {duration, "7ns", 7},
		{duration, "0.1ms", 1e5}, {duration, "0.000001ms", 1}, {duration, "2m", 120e9}, {duration, "1h", 3600e9}, {duration, "0", 0},
		{duration, "1.000000000s", 1e9}, {duration, "0.1m", 6e9}, {duration, "7.0ns", 7},
	} {
		if got, err := c.read(c.text); err != nil || got != c.want {
			t.Errorf("%q: %d, %v, want %d", c.text, got, err, c.want)
		}
	}
	for _, c := range []struct {
		read func(string) (int64, error)
		text string
		want string // what the error says
	}{
		{rate, "8", "no unit"}, {rate, "8Mb", `unknown unit "Mb"`}, {rate, "8Mbits", `unknown unit "Mbits"`}, {rate, "-1bit/s", "not a non-negative decimal number"},
		{rate, "1e6bit/s", "not a non-negative decimal number"}, {rate, "", "no unit"}, {rate, "bit/s", "not a non-negative decimal number"}, {rate, "9999999999Gbit/s", "too large"},
		{rate, "9223372036.854775808Gbit/s", "too large"}, {rate, "8.5bit/s", "finer"},
		{size, "1.B", "not a non-negative"}, {size, ".5kB", "not a non-negative"}, {size, "1.5B", "finer"}, {size, "0.0001KiB", "not a whole number of bytes"}, {size, "1 2B", "not a non-negative"},
		{duration, "1.5ns", "finer"}, {duration, "1d", `unknown unit "d"`}, {duration, "0.0000000001s", "finer"}, {duration, "99999999999999999999s", "too large"},
	} {
		if got, err := c.read(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %d, %v, want an error that says %q", c.text, got, err, c.want)
		}
	}
}

func TestQuantityText(t *testing.T) {
	for _, c := range []struct {
		q    interface{ String() string }
		want string
	}{
		{Rate(0), "unlimited"}, {Rate(8e6), "8Mbit/s"}, {Rate(1500), "1.5kbit/s"}, {Rate(1234), "1.234kbit/s"},
		{Rate(1_234_567), "1234.567kbit/s"}, {Rate(1_000_000_001), "1000000.001kbit/s"}, {Rate(5), "5bit/s"},
		{Size(0), "0B"}, {Size(31_250_000), "31.25MB"}, {Size(1514), "1.514kB"}, {Size(math.MaxInt64), "9223372036854775.807kB"},
		{Size(9223372036854775000), "9223372036854.775MB"},
		{Duration(0), "0ns"}, {250 * Millisecond, "250ms"}, {Duration(1), "1ns"}, {90 * Second, "90s"}, {Duration(1_001_001), "1001.001us"},
		{-1500 * Millisecond, "-1.5s"}, {-Duration(5), "-5ns"},
	} {
		if got := c.q.String(); got != c.want {
			t.Errorf("%#v: %q, want %q", c.q, got, c.want)
		}
	}
}

// FuzzQuantities: what one of the three readers takes, it writes so that it
// reads the same; and none takes what has no digits.
func FuzzQuantities(f *testing.F) {
	for _, s := range []string{"8Mbit/s", "unlimited", "2MiB", "250ms", "1.5", "0", "µs", "9223372036854775807ns", "0.1KiB", "9223372036854775.807kB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var r, r2 Rate
		var z, z2 Size
		var d, d2 Duration
		for _, q := range []struct {
			name      string
			into      encoding.TextUnmarshaler
			text      encoding.TextMarshaler
			again     encoding.TextUnmarshaler
			unchanged func() bool
		}{
			{"rate", &r, &r, &r2, func() bool { return r == r2 && r >= 0 }},
			{"size", &z, &z, &z2, func() bool { return z == z2 && z >= 0 }},
			{"duration", &d, &d, &d2, func() bool { return d == d2 && d >= 0 }},
		} {
			if q.into.UnmarshalText([]byte(s)) != nil {
				continue
			}
			if !strings.ContainsAny(s, "0123456789") && s != "unlimited" {
				t.Errorf("%s %q was taken", q.name, s)
			}
			b, err := q.text.MarshalText()
			if err != nil || q.again.UnmarshalText(b) != nil || !q.unchanged() {
				t.Errorf("%s %q written %q, %v, does not read the same", q.name, s, b, err)
			}
		}
	})
}

// TestRateArithmetic: 1000 B at 8 Mbit/s are 1 ms; at 7 Mbit/s 1,142,857 and
// 1/7 ns. 4 GB at 1 kbit/s take 32,000,000 s: 3.2e16 ns, past where a product
// in 64 bits would end. A rate without limit takes no time.
func TestRateArithmetic(t *testing.T) {
	for _, c := range []struct {
		rate Rate
		size int
		want Duration
	}{
		{8e6, 1000, Millisecond}, {7e6, 1000, 1_142_857}, {0, 1000, 0}, {1000, 4e9, 32_000_000 * Second}, {1, math.MaxInt64, math.MaxInt64},
	} {
		if got := c.rate.Time(c.size); got != c.want {
			t.Errorf("%d B at %v: %d ns, want %d", c.size, c.rate, got, c.want)
		}
	}
	for _, c := range []struct {
		rate Rate
		d    Duration
		want Size
	}{
		{8e6, 500 * Millisecond, 500_000}, {1e9, 250 * Millisecond, 31_250_000}, {80_000, 100 * Millisecond, 1000},
		{0, Second, 0}, {7, Second, 0}, {400e9, 3600 * Second, 180_000_000_000_000}, {math.MaxInt64, math.MaxInt64, math.MaxInt64},
	} {
		if got := c.rate.Bytes(c.d); got != c.want {
			t.Errorf("%v in %v: %d B, want %d", c.rate, c.d, got, c.want)
		}
	}
}
