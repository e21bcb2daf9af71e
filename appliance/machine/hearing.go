package machine

import (
	"math"
	"sync"

	"golang.org/x/sys/unix"

	"farlink/appliance"
	"farlink/emulator/link"
	"farlink/pep/congestion"
)

// hearing is what the proxies of a pair hear of its links: the feed that
// xlayer follows.
type hearing struct {
	mu   sync.Mutex
	feed *congestion.Feed // nil once closed
}

// readings are figures of the feed, beside those of the models; a link without
// a limit has none.
func (h *hearing) readings(names []string) (all []appliance.Reading) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feed == nil {
		return nil
	}
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return nil
	}
	for i, name := range names[:min(len(names), congestion.MostLinks)] {
		for _, w := range link.Ways {
			for _, f := range heard(h.feed.Now(congestion.Column(i, w)), t.Nano()) {
				f.Link, f.Way = name, w.String()
				all = append(all, f)
			}
		}
	}
	return all
}

// heard are the figures of one way of one link at now.
func heard(t congestion.Told, now int64) (all []appliance.Reading) {
	if t.At == 0 {
		return nil
	}
	all = []appliance.Reading{
		{Name: "feed_granted_bps", Value: float64(t.Frame)}, {Name: "feed_queue_bytes", Value: float64(t.Queue)},
		{Name: "feed_age_ms", Value: float64(max(now-t.At, 0)) / 1e6}}
	if t.NextAt != math.MaxInt64 {
		all = append(all, appliance.Reading{Name: "feed_next_bps", Value: float64(t.NextRate)},
			appliance.Reading{Name: "feed_next_ms", Value: float64(max(t.NextAt-now, 0)) / 1e6})
	}
	if t.RTT >= 0 {
		all = append(all, appliance.Reading{Name: "feed_rtt_ms", Value: t.RTT.Milliseconds()})
	}
	return all
}

func (h *hearing) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feed == nil {
		return nil
	}
	err := h.feed.Close()
	h.feed = nil
	return err
}
