package radio

import (
	"fmt"
	"slices"

	"farlink/emulator/link"
)

// Config is the channel of one way.
type Config struct {
	// SINR in dB, the mean of the process, -10..40. Default 20.
	SINR float64 `toml:"sinr_db" json:"sinr_db,omitempty"`
	// Distance in metres from the site: when set, SINR comes from the
	// macro path loss of TS 36.942 (clause 4.5.2) and SINR is ignored.
	Distance float64 `toml:"distance_m" json:"distance_m,omitempty"`
	// Shadowing is its standard deviation in dB (8 in TS 36.814); 0 is off.
	Shadowing float64 `toml:"shadowing_db" json:"shadowing_db,omitempty"`
	// Decorrelation distance of shadowing in metres. Default 50.
	Decorrelation float64 `toml:"decorrelation_m" json:"decorrelation_m,omitempty"`
	// Speed in km/h moves both shadowing and fading. Default 3.
	Speed float64 `toml:"speed_kmh" json:"speed_kmh,omitempty"`
	// Fading is "none", "rayleigh" or "rician". Default none.
	Fading string `toml:"fading" json:"fading,omitempty"`
	// RiceK is the Rice factor in dB for "rician". Default 6.
	RiceK float64 `toml:"rice_k_db" json:"rice_k_db,omitempty"`
	// Frequency in MHz, for the Doppler shift. Default 1800.
	Frequency float64 `toml:"frequency_mhz" json:"frequency_mhz,omitempty"`
	// CQIPeriod is the distance of reports, whole ms. Default 5ms (srsRAN:
	// 40 ms); CQIDelay is their age when used. Default 6ms.
	CQIPeriod link.Duration `toml:"cqi_period" json:"cqi_period,omitempty"`
	CQIDelay  link.Duration `toml:"cqi_delay" json:"cqi_delay,omitempty"`
	// Trace replaces SINR and Shadowing: values in dB, TraceStep apart,
	// repeated for ever.
	Trace     []float64     `toml:"trace_db" json:"trace_db,omitempty"`
	TraceStep link.Duration `toml:"trace_step" json:"trace_step,omitempty"`
}

// Complete returns r with every unset field at its default.
func (r Config) Complete() Config {
	or(&r.SINR, 20)
	or(&r.Decorrelation, 50)
	or(&r.Speed, 3)
	or(&r.Fading, "none")
	or(&r.RiceK, 6)
	or(&r.Frequency, 1800)
	or(&r.CQIPeriod, 5*link.Millisecond)
	or(&r.CQIDelay, 6*link.Millisecond)
	or(&r.TraceStep, link.Second)
	return r
}

func or[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// Check reports every problem of a configuration that is complete.
func (r Config) Check(report link.Report) {
	in := func(path string, got, lo, hi float64) {
		if !(got >= lo && got <= hi) {
			report(path, fmt.Sprint(got), fmt.Sprintf("%g to %g", lo, hi))
		}
	}
	wholeMS := func(path string, got, lo, hi link.Duration) {
		if got%link.Millisecond != 0 || got < lo || got > hi {
			report(path, got.String(), fmt.Sprintf("whole milliseconds, %s to %s", lo, hi))
		}
	}
	in("sinr_db", r.SINR, -10, 40)
	in("distance_m", r.Distance, 0, 30000)
	in("shadowing_db", r.Shadowing, 0, 20)
	in("decorrelation_m", r.Decorrelation, 1, 1000)
	in("speed_kmh", r.Speed, 0.1, 500)
	if fadings := []string{"none", "rayleigh", "rician"}; !slices.Contains(fadings, r.Fading) {
		report("fading", fmt.Sprintf("%q", r.Fading), fmt.Sprintf("one of %q", fadings))
	}
	in("rice_k_db", r.RiceK, -10, 30)
	in("frequency_mhz", r.Frequency, 400, 6000)
	wholeMS("cqi_period", r.CQIPeriod, link.Millisecond, 160*link.Millisecond)
	wholeMS("cqi_delay", r.CQIDelay, 0, 100*link.Millisecond)
	wholeMS("trace_step", r.TraceStep, link.Millisecond, 3600*link.Second)
	for i, v := range r.Trace {
		in(fmt.Sprintf("trace_db[%d]", i), v, -50, 60)
	}
}
