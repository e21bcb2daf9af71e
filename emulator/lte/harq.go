package lte

import (
	"math"

	"farlink/emulator/link"
	"farlink/emulator/lte/radio"
)

// Timing in TTIs (TS 36.213 clauses 7 and 8: acknowledgement after 4, again
// after 8; TS 36.881 table 5.2.1: 3 ms of processing on each side).
const (
	harqRTT    = 8
	airTime    = 1
	processing = 3
	// rlcMaxRetx bounds RLC AM's repairs of one block (maxRetxThreshold
	// t16, TS 36.331).
	rlcMaxRetx = 16
)

// outcome is what becomes of a transport block.
type outcome struct {
	transmissions int
	// delay in TTIs from the first transmission's end to the correct
	// reception, RLC's repairs included.
	delay int64
	lost  bool
}

// transmit decides the outcome of the block that bearer b sends on a carrier
// in a TTI. The draws are numbered by TTI, so two runs with other traffic meet
// the same channel.
func (b *Bearer) transmit(tti int64, carrier, cqi int) outcome {
	var o outcome
	n := uint64(tti) << 6
	draw := b.harq[carrier]
	for round := range int64(rlcMaxRetx) {
		attempts, ok := b.attempts(draw, n+uint64(round), tti+o.delay, cqi)
		if round == 0 {
			o.transmissions = attempts
		}
		o.delay += int64(attempts-1) * harqRTT
		if ok {
			return o
		}
		// The gap is noticed after t-Reordering and, in AM, sent again on
		// the status report (TS 36.322 clause 5.2).
		o.delay += int64(b.ue.cell.cfg.RLC.Reordering) / ms
		if b.ue.cell.cfg.RLC.Mode == "um" {
			break
		}
		o.delay += harqRTT
	}
	o.lost = true
	return o
}

// attempts is how many transmissions one HARQ process spends, and whether the
// last one got through.
func (b *Bearer) attempts(draw link.Draw, n uint64, tti int64, cqi int) (int, bool) {
	h := &b.ue.cell.cfg.HARQ
	for k := 1; k <= h.Transmissions; k++ {
		p := h.BLER
		if h.Model == "sinr" {
			// Chase combining adds the energies of k receptions.
			gain := 10 * math.Log10(float64(k))
			p = radio.BLER(b.channel.SINR(tti+int64(k-1)*harqRTT)+gain, cqi)
		}
		if draw.Float(n<<5|uint64(k)) >= p {
			return k, true
		}
	}
	return h.Transmissions, false
}
