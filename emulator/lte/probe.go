package lte

import (
	"fmt"

	"farlink/emulator/link"
	"farlink/emulator/lte/radio"
)

// radioRTT is the unloaded round trip of the radio: downlink 7.5 ms; uplink
// 7 ms prescheduled, 12 ms plus half the request cycle with dynamic grants
// (TS 36.881).
func (b *Bearer) radioRTT() link.Duration {
	down := 7500 * link.Microsecond
	access := &b.ue.cell.cfg.Access
	switch access.Grants {
	case "prescheduled":
		return down + 7500*link.Microsecond
	case "semi_persistent":
		return down + 7*link.Millisecond + access.Period/2
	default:
		return down + 12*link.Millisecond + access.SRPeriod/2
	}
}

func (b *Bearer) mode(tti int64) string {
	cqi := b.channel.Report(tti)
	if cqi == 0 {
		return "CQI 0"
	}
	return fmt.Sprintf("CQI %d MCS %d", cqi, radio.MCS(cqi))
}

// Probes yields the state of the bearer and its cell.
func (b *Bearer) Probes(now link.Time, yield func(link.Probe)) {
	tti := int64(now) / ms
	cell := b.ue.cell
	cqi := b.channel.Report(tti)
	mcs := 0
	if cqi > 0 {
		mcs = radio.MCS(cqi)
	}
	yield(link.Probe{Name: "sinr_db", Value: b.channel.SINR(tti)})
	yield(link.Probe{Name: "cqi", Value: float64(cqi)})
	yield(link.Probe{Name: "mcs", Value: float64(mcs)})
	yield(link.Probe{Name: "granted_bps", Value: float64(b.Capacity(now).Rate)})
	yield(link.Probe{Name: "queue_bytes", Value: float64(b.waiting.Bytes())})
	yield(link.Probe{Name: "queue_packets", Value: float64(b.waiting.Len())})
	yield(link.Probe{Name: "background_ues", Value: float64(cell.load.at(tti))})
	yield(link.Probe{Name: "harq_retransmissions", Value: float64(cell.metrics.retransmissions)})
	yield(link.Probe{Name: "harq_failures", Value: float64(cell.metrics.failed)})
}
