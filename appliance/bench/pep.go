package bench

import (
	"context"
	"fmt"
	"time"
)

// PEP lists the cases of the proxies.
func PEP() []Case {
	return append([]Case{{"pep-loss-1", pepLoss(1)}, {"pep-loss-5", pepLoss(5)}, {"pep-rivals", pepRivals}, {"pep-window", pepWindow},
		{"pep-start", pepStart}, {"pep-step", pepStep}, {"pep-dama", pepDAMA}, {"pep-feed", pepFeed}, {"pep-fault", pepFault}, {"pep-fair", pepFair}, {"pep-relay", pepRelay},
		{"pep-latency", pepLatency}, {"pep-flows", pepFlows}, {"pep-soak", pepSoak}, {"pep-kill", pepKill}}, pepWorseCases()...)
}

// payload is the part of a full frame that is TCP payload, with timestamps.
const payload = 1448.0 / 1514

// pepStart is the times of draft-kuhn-quic-4-sat, by plain TCP clients.
func pepStart(ctx context.Context, b *Bench) error {
	r, err := newProxiedOn(ctx, "geo/quic4sat-large", splitting("xlayer"))
	if err != nil {
		return err
	}
	defer r.Close()
	for _, c := range []struct {
		profile string
		most    [3]float64 // seconds for 2, 10 and 100 MB
	}{{"geo/quic4sat-large", [3]float64{3, 5, 8}}, {"geo/quic4sat-lossy", [3]float64{3, 6, 10}}} {
		if err := r.turnTo(c.profile); err != nil {
			return err
		}
		for i, size := range []int64{2e6, 10e6, 100e6} {
			took, err := fetch(r.B, r.A, "cubic", size)
			if err != nil {
				return fmt.Errorf("%d MB over %s: %w", size/1e6, c.profile, err)
			}
			b.atMost(fmt.Sprintf("%d MB over %s", size/1e6, c.profile), "s", []float64{took.Seconds()}, c.most[i])
		}
	}
	return nil
}

// pepFair is how evenly flows share the link: Jain's index.
func pepFair(ctx context.Context, b *Bench) error {
	r, err := newProxiedOn(ctx, "geo/quic4sat-medium", splitting("xlayer"))
	if err != nil {
		return err
	}
	defer r.Close()
	for _, streams := range []int{5, 50} {
		got, err := pull(r.B, r.A, streams, "cubic", 12*time.Second)
		if err != nil {
			return err
		}
		var sum, squares float64
		for i := range got {
			x := mbits(got[i:i+1], 3*time.Second)
			sum, squares = sum+x, squares+x*x
		}
		b.atLeast(fmt.Sprintf("Jain's index of %d flows", streams), "", []float64{sum * sum / (float64(streams) * squares)}, 0.98)
	}
	return nil
}
