package bench

import (
	"context"
	"fmt"
	"time"

	"farlink/appliance/carriers"
)

// multipathCut takes the better carrier away under a transfer: silently, and
// with word of it to both relays.
func multipathCut(ctx context.Context, b *Bench) error {
	return together(ctx, carriers.Options{Profiles: operators}, func(l *carriers.Lab) error {
		for _, c := range []struct {
			told  bool
			how   string
			stall float64
		}{{false, "a silent cut", 600}, {true, "a link-down event", 100}} {
			var o outcome
			for range b.Rounds {
				if err := o.lose(ctx, l, c.told); err != nil {
					return err
				}
			}
			b.atMost("stall after "+c.how, "ms", o.stalls, c.stall)
			b.atMost("until both carry again after its return", "s", o.back, 2)
			b.atMost("connections reset by it", "", o.resets, 0)
		}
		return nil
	})
}

// outcome is what losses of a carrier did.
type outcome struct{ stalls, back, resets []float64 }

func (o *outcome) lose(ctx context.Context, l *carriers.Lab, told bool) error {
	t, err := l.Bulk()
	if err != nil {
		return err
	}
	defer time.Sleep(700 * time.Millisecond)
	defer t.Close()
	if _, err := t.Goodput(ctx, multipathWarm, time.Second); err != nil {
		return err
	}
	resets := l.Router.Stats().Resets
	link := func(up bool) error {
		cut := make(chan error, 1)
		go func() { cut <- l.Cut(1, !up) }()
		if told { // in the same instant
			l.Router.SetLink(1, up)
			l.Proxy.SetLink(1, up)
		}
		return <-cut
	}
	if err := link(false); err != nil {
		return err
	}
	o.stalls = append(o.stalls, float64(t.Stall(3*time.Second).Milliseconds()))
	if err := link(true); err != nil {
		return err
	}
	again, err := rejoined(t, 0.7*sum(l))
	o.back = append(o.back, again.Seconds())
	o.resets = append(o.resets, float64(l.Router.Stats().Resets-resets))
	return err
}

// rejoined returns how long it takes until half a second carries a rate.
func rejoined(t *carriers.Transfer, mbps float64) (time.Duration, error) {
	begun := time.Now()
	for time.Since(begun) < 10*time.Second {
		n, from := t.Bytes(), time.Now()
		time.Sleep(250 * time.Millisecond)
		if float64(t.Bytes()-n)*8e-6/time.Since(from).Seconds() >= mbps {
			return from.Sub(begun), nil
		}
	}
	return 0, fmt.Errorf("less than %.1f Mbit/s for 10 s after the carrier's return", mbps)
}
