package machine

import (
	"math"
	"testing"

	"farlink/appliance"
	"farlink/emulator/link"
	"farlink/pep/congestion"
)

// TestHeard: a grant that holds, one that another follows in 26 ms, and a link
// that told nothing, or no round trip.
func TestHeard(t *testing.T) {
	const told = 5_000_000_000
	steady := congestion.Told{Frame: 8e6, At: told, NextAt: math.MaxInt64, Queue: 3028, RTT: 500 * link.Millisecond}
	demand := congestion.Told{Frame: 1e6, NextRate: 2e6, At: told, NextAt: told + 28_000_000, RTT: -1}
	for _, c := range []struct {
		told congestion.Told
		want map[string]float64
	}{
		{congestion.Told{}, nil},
		{steady, map[string]float64{"feed_granted_bps": 8e6, "feed_queue_bytes": 3028, "feed_age_ms": 2, "feed_rtt_ms": 500}},
		{demand, map[string]float64{"feed_granted_bps": 1e6, "feed_queue_bytes": 0, "feed_age_ms": 2, "feed_next_bps": 2e6, "feed_next_ms": 26}},
	} {
		got := heard(c.told, told+2_000_000)
		if len(got) != len(c.want) {
			t.Errorf("%+v: %v, want %v", c.told, got, c.want)
		}
		for _, r := range got {
			if want, ok := c.want[r.Name]; !ok || r.Value != want {
				t.Errorf("%+v: %s is %v, want %v", c.told, r.Name, r.Value, want)
			}
		}
	}
	var closed hearing
	if got := closed.readings([]string{appliance.MainLink}); got != nil {
		t.Errorf("of a feed that is closed: %v", got)
	}
}
