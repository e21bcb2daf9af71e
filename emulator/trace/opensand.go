package trace

import (
	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/trace/lines"
)

// OpenSANDDelay reads a delay file of OpenSAND: lines of "second value_ms",
// blank or comma between them. Each delay holds until the next.
func OpenSANDDelay(f lines.File) (Way, error) {
	c := &course.Config{}
	err := pairs(f, "delay", lines.MaxDelay*1000, func(at link.Duration, ms float64) {
		c.Steps = append(c.Steps, course.Step{At: at, Delay: of(link.Duration(ms * 1e6))})
	})
	if err != nil {
		return Way{}, err
	}
	return Way{Trace: c}, nil
}

// Attenuation is the attenuation of a satellite link at an instant.
type Attenuation struct {
	At link.Duration
	DB float64
}

// OpenSANDAttenuation reads an attenuation file of OpenSAND: lines of "second
// value_dB". Between two the attenuation is interpolated.
func OpenSANDAttenuation(f lines.File) ([]Attenuation, error) {
	var out []Attenuation
	err := pairs(f, "attenuation", 200, func(at link.Duration, db float64) {
		out = append(out, Attenuation{at, db})
	})
	return out, err
}

// pairs reads lines of a time in seconds and a value from 0 to most.
func pairs(f lines.File, what string, most float64, yield func(at link.Duration, value float64)) error {
	l := lines.New(f)
	before := link.Duration(-1)
	for l.Next() {
		if l.Skippable() {
			continue
		}
		fields := l.Words()
		if len(fields) == 1 {
			fields = l.Split(',')
		}
		if len(fields) != 2 {
			return l.Fault(0, "%d fields, want a time in seconds and the %s", len(fields), what)
		}
		fields[0].Text = trimComma(fields[0].Text)
		at, err := l.Seconds(fields[0], "time", 1, lines.MaxSeconds)
		if err != nil {
			return err
		}
		if at <= before {
			return l.Fault(fields[0].Column, "time %s: not monotonic", fields[0].Text)
		}
		value, err := l.Decimal(fields[1], what, most)
		if err != nil {
			return err
		}
		before = at
		yield(at, value)
	}
	if l.Err == nil && before < 0 {
		return l.Whole("no lines, want a time and the %s", what)
	}
	return l.Err
}

// trimComma takes a comma from the end: "1, 250".
func trimComma(s string) string {
	if n := len(s); n > 0 && s[n-1] == ',' {
		return s[:n-1]
	}
	return s
}
