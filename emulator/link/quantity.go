package link

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Rate is a data rate in bits per second; as text "8Mbit/s". Zero is
// "unlimited".
type Rate int64

// Size is a number of bytes; as text "2MB" (10^6) or "2MiB" (2^20).
type Size int64

// Duration is a length of time in nanoseconds; as text "250ms".
type Duration int64

// Units of duration and rate.
const (
	Nanosecond  Duration = 1
	Microsecond          = 1000 * Nanosecond
	Millisecond          = 1000 * Microsecond
	Second               = 1000 * Millisecond

	BitPerSecond     Rate = 1
	KilobitPerSecond      = 1000 * BitPerSecond
	MegabitPerSecond      = 1000 * KilobitPerSecond
	GigabitPerSecond      = 1000 * MegabitPerSecond
)

// unit is a name and what it multiplies by. Lists stand largest first; the
// first spelling of a factor is the one that is written.
type unit struct {
	name   string
	factor int64
}

var (
	rateUnits     = []unit{{"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}, {"bit/s", 1}}
	sizeUnits     = []unit{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
	durationUnits = []unit{{"h", 3600e9}, {"m", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1}}
)

// Seconds returns d in seconds.
func (d Duration) Seconds() float64 { return float64(d) / 1e9 }

// Milliseconds returns d in milliseconds.
func (d Duration) Milliseconds() float64 { return float64(d) / 1e6 }

// Time returns how long size bytes take at rate r, rounded down; 0 when r is
// unlimited.
func (r Rate) Time(size int) Duration {
	if r <= 0 || size <= 0 {
		return 0
	}
	return Duration(Ratio(uint64(size), 8e9, uint64(r)))
}

// Bytes returns how many bytes rate r carries in d, rounded down.
func (r Rate) Bytes(d Duration) Size {
	if r <= 0 || d <= 0 {
		return 0
	}
	return Size(Ratio(uint64(r), uint64(d), 8e9))
}

// Ratio returns a·b/c rounded down, by way of 128 bits; at most the largest
// int64.
func Ratio(a, b, c uint64) int64 {
	high, low := bits.Mul64(a, b)
	if high >= c {
		return math.MaxInt64
	}
	q, _ := bits.Div64(high, low, c)
	return int64(min(q, math.MaxInt64))
}

func (r Rate) String() string {
	if r == 0 {
		return "unlimited"
	}
	return format(int64(r), rateUnits)
}
func (s Size) String() string     { return format(int64(s), sizeUnits) }
func (d Duration) String() string { return format(int64(d), durationUnits[2:]) }

// ParseRate reads "8Mbit/s", "64 kbit/s", "unlimited".
func ParseRate(text string) (Rate, error) {
	if text == "unlimited" {
		return 0, nil
	}
	n, err := parse(text, "rate", rateUnits, `"8Mbit/s" (bit/s, kbit/s, Mbit/s, Gbit/s) or "unlimited"`)
	return Rate(n), err
}

// ParseSize reads "1500B", "2MB", "64KiB".
func ParseSize(text string) (Size, error) {
	n, err := parse(text, "size", sizeUnits, `"2MB" (B, kB, MB, GB, KiB, MiB, GiB)`)
	return Size(n), err
}

// ParseDuration reads "250ms", "1.5s", "20us", "0".
func ParseDuration(text string) (Duration, error) {
	if text == "0" {
		return 0, nil
	}
	n, err := parse(text, "duration", durationUnits, `"250ms" (ns, us, ms, s, m, h)`)
	return Duration(n), err
}

// MarshalText and UnmarshalText make quantities text in documents.
func (r Rate) MarshalText() ([]byte, error)     { return []byte(r.String()), nil }
func (s Size) MarshalText() ([]byte, error)     { return []byte(s.String()), nil }
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (r *Rate) UnmarshalText(b []byte) (err error)     { *r, err = ParseRate(string(b)); return }
func (s *Size) UnmarshalText(b []byte) (err error)     { *s, err = ParseSize(string(b)); return }
func (d *Duration) UnmarshalText(b []byte) (err error) { *d, err = ParseDuration(string(b)); return }

// parse reads a non-negative decimal number and a unit, exactly: "0.1ms" is
// 100,000 ns, and what is finer than the base unit is refused.
func parse(text, kind string, units []unit, want string) (int64, error) {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/µ")
	name := text[len(number):]
	number = strings.TrimSpace(number)
	for _, u := range units {
		if u.name == name {
			n, err := scale(number, u.factor)
			if err != nil {
				return 0, fmt.Errorf("%s %q: %w; want %s", kind, text, err, want)
			}
			return n, nil
		}
	}
	if name == "" {
		return 0, fmt.Errorf("%s %q has no unit; want %s", kind, text, want)
	}
	return 0, fmt.Errorf("%s %q: unknown unit %q; want %s", kind, text, name, want)
}

// scale returns the decimal number times factor as an exact integer.
func scale(number string, factor int64) (int64, error) {
	whole, frac, dot := strings.Cut(number, ".")
	if whole == "" || dot && frac == "" || strings.Trim(whole+frac, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a non-negative decimal number", number)
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is too large", number)
	}
	n *= factor
	for _, digit := range frac {
		switch {
		case factor%10 == 0:
		case factor > 1: // binary units: 1.5KiB
			return scaleBinary(number, factor)
		case digit != '0':
			return 0, fmt.Errorf("%q is finer than the smallest unit", number)
		default:
			continue
		}
		factor /= 10
		if n > math.MaxInt64-int64(digit-'0')*factor {
			return 0, fmt.Errorf("%q is too large", number)
		}
		n += int64(digit-'0') * factor
	}
	return n, nil
}

// scaleBinary is scale for factors that are not decimal.
func scaleBinary(number string, factor int64) (int64, error) {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f*float64(factor) != math.Trunc(f*float64(factor)) {
		return 0, fmt.Errorf("%q is not a whole number of bytes", number)
	}
	return int64(f * float64(factor)), nil
}

// format writes n in the largest decimal unit that needs at most three
// decimals, else in the base unit.
func format(n int64, units []unit) string {
	base := units[len(units)-1].name
	for _, u := range units {
		if u.factor%10 != 0 || n == 0 || n > -u.factor && n < u.factor {
			continue
		}
		step := max(u.factor/1000, 1)
		if n%step != 0 {
			continue
		}
		text := strconv.FormatInt(n/u.factor, 10)
		if part := n % u.factor / step; part != 0 {
			digits := strconv.FormatInt(1000+max(part, -part), 10)[1:]
			text += "." + strings.TrimRight(digits, "0")
		}
		return text + u.name
	}
	return strconv.FormatInt(n, 10) + base
}
