package ledger

import (
	"fmt"

	"farlink/emulator/link"
)

// Verdict says whether a run may be trusted.
type Verdict uint8

// The verdicts, worse upwards.
const (
	Valid    Verdict = iota // every frame accounted for and on time
	Degraded                // accounted for, but some left late, or found no link to leave by
	Invalid                 // frames were lost or unaccounted for without the model asking
)

// String returns VALID, DEGRADED or INVALID.
func (v Verdict) String() string { return [...]string{"VALID", "DEGRADED", "INVALID"}[v] }

// MarshalText writes the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the verdict's name.
func (v *Verdict) UnmarshalText(b []byte) error {
	for i := Valid; i <= Invalid; i++ {
		if i.String() == string(b) {
			*v = i
			return nil
		}
	}
	return fmt.Errorf("verdict %q: want VALID, DEGRADED or INVALID", b)
}

// Limits is where a verdict turns.
type Limits struct {
	P99       link.Duration `toml:"p99" json:"p99"`               // of the lateness; above is DEGRADED
	Slip      link.Duration `toml:"slip" json:"slip"`             // a departure later than this is a slip
	SlipShare float64       `toml:"slip_share" json:"slip_share"` // slips per frame; above is DEGRADED
	LossShare float64       `toml:"loss_share" json:"loss_share"` // engine loss per frame; above is INVALID
}

// DefaultLimits suit a machine shared with other work.
func DefaultLimits() Limits {
	return Limits{P99: link.Millisecond, Slip: 10 * link.Millisecond, SlipShare: 0.001, LossShare: 0}
}

// Judge returns the verdict on one way and its reason, "" when valid.
func (b *Book) Judge(l Limits) (Verdict, string) {
	frames := float64(max(b.In, 1))
	switch p99 := link.Duration(b.Lateness.Quantile(0.99)); {
	case b.Broken > 0:
		return Invalid, fmt.Sprintf("the frames did not add up %d times", b.Broken)
	case float64(b.Engine.Loss()) > l.LossShare*frames:
		return Invalid, fmt.Sprintf("the engine itself lost %d of %d frames (%s)", b.Engine.Loss(), b.In+b.Engine.Loss(), b.Engine.worst())
	case b.LinkDown > 0:
		return Degraded, fmt.Sprintf("%d of %d frames found no link at the port to leave by (cable out, or port down)", b.LinkDown, b.In)
	case float64(b.Slips) > l.SlipShare*frames:
		return Degraded, fmt.Sprintf("%d of %d frames left more than %v late", b.Slips, b.Out, l.Slip)
	case p99 > l.P99:
		return Degraded, fmt.Sprintf("lateness p99 is %v, budget %v", p99/1000*1000, l.P99)
	}
	return Valid, ""
}

// worst names the largest part of the loss.
func (e *Engine) worst() string {
	name, most := "", uint64(0)
	for _, c := range []struct {
		name string
		n    uint64
	}{
		{"no free chunk", e.Dropped}, {"receive ring full", e.RingFull}, {"memory full", e.StoreFull},
		{"refused by the kernel", e.BadFrame},
	} {
		if c.n > most {
			name, most = c.name, c.n
		}
	}
	return name
}
