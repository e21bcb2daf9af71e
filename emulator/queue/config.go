package queue

import (
	"fmt"

	"farlink/emulator/link"
)

// Config is a queue and the server behind it.
type Config struct {
	// Rate of the server; zero, "unlimited", passes everything at once.
	Rate link.Rate `toml:"rate,omitempty"`
	FramingConfig
	// Limit of what may wait; not set: one bandwidth-delay product.
	Limit Limit `toml:"limit,omitempty"`
	// Discipline is "droptail" (default), "drophead", "red", "codel" or
	// "pie".
	Discipline string `toml:"discipline,omitempty"`
	// ECN lets red, codel and pie mark ECN-capable packets instead of
	// dropping them.
	ECN bool `toml:"ecn,omitempty"`

	RED   *REDConfig   `toml:"red,omitempty"`
	CoDel *CoDelConfig `toml:"codel,omitempty"`
	PIE   *PIEConfig   `toml:"pie,omitempty"`
}

// leastLimit keeps a default limit from being too small for a burst: ten
// full frames, the initial window of TCP (RFC 6928).
const leastLimit link.Size = 10 * fullFrame

// UsualRTT is what a limit that nobody set is reckoned with where no round-trip
// time is known.
const UsualRTT = 100 * link.Millisecond

// Complete returns c with the limit set, if it was not, to the
// bandwidth-delay product of its rate and the round-trip time rtt, or to ten
// full frames where that is more.
func (c Config) Complete(rtt link.Duration) Config {
	if c.Limit == (Limit{}) {
		c.Limit.Bytes = max(c.Rate.Bytes(rtt), leastLimit)
	}
	return c
}

// Check reports what is wrong with c.
func (c Config) Check(report link.Report) {
	if c.Rate != 0 && (c.Rate < 100 || c.Rate > 400*link.GigabitPerSecond) {
		report("rate", c.Rate.String(), `100bit/s..400Gbit/s, or "unlimited"`)
	}
	c.FramingConfig.Check(report)
	c.checkDiscipline(report)
}

// CheckBuffer reports a limit that cannot hold one bandwidth-delay product,
// so that one TCP flow cannot fill the rate over the round-trip time rtt.
func (c Config) CheckBuffer(rtt link.Duration, report link.Report) {
	if c.Limit == (Limit{}) || c.Rate == 0 || rtt <= 0 {
		return
	}
	need, has := c.Rate.Bytes(rtt), c.Limit.Holds(c.Rate)
	if has >= need {
		return
	}
	most := link.Rate(float64(has) * 8 / rtt.Seconds())
	report("limit", c.Limit.String(), fmt.Sprintf(
		"%v or more: %v at %v needs it; %v would cap a window at %v", need, rtt, c.Rate, has, most))
}
