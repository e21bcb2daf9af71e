package bench

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"farlink/emulator/link"
	"farlink/pep"
	"farlink/pep/congestion"
)

// pepFeed looks, over a loaded return link that is granted each 26.5 ms, how
// long after a grant took effect the feed has it.
func pepFeed(ctx context.Context, b *Bench) error {
	r, err := newProxiedOn(ctx, "dvbrcs/seed-004", splitting("xlayer"))
	if err != nil {
		return err
	}
	defer r.Close()
	const lasting = 8 * time.Second
	var late []float64
	var g errgroup.Group
	g.Go(func() (err error) {
		late, err = r.lateness(link.Up, lasting)
		return err
	})
	_, err = pull(r.A, r.B, 1, "cubic", lasting)
	if err = errors.Join(err, g.Wait()); err != nil {
		return err
	}
	slices.Sort(late)
	if len(late) == 0 {
		return errors.New("no grant was seen")
	}
	b.atMost("a grant is in the feed, 99th percentile", "ms", []float64{late[len(late)*99/100]}, 1)
	b.note("grants seen", "", []float64{float64(len(late))})
	return nil
}

// lateness is the ms from when each grant took effect to when it was told. A
// look each 100 us is finer than the telling.
func (p *proxied) lateness(w link.Way, lasting time.Duration) (late []float64, err error) {
	feed, err := congestion.OpenFeed(p.path.Feed())
	if err != nil {
		return nil, err
	}
	defer feed.Close()
	due := int64(0)
	for end := time.Now().Add(lasting); time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		t := feed.Now(congestion.Column(0, w))
		if due > 0 && t.At >= due {
			late = append(late, float64(t.At-due)/1e6)
			due = 0
		}
		if t.NextAt > t.At {
			due = t.NextAt
		}
	}
	return late, nil
}

// pepFault shows what the score of the windows makes of a feed that is right,
// wrong by half, and half a second late over a rate in steps.
func pepFault(ctx context.Context, b *Bench) error {
	for _, c := range []struct {
		name        string
		fault       pep.Fault
		least, most float64 // %
	}{{"right", pep.Fault{}, 0, 5}, {"half as much again", pep.Fault{Factor: 1.5}, 45, 55}, {"half of it", pep.Fault{Factor: 0.5}, 45, 55},
		{"half a second late", pep.Fault{Delay: 500 * link.Millisecond}, 10, 200}} {
		score, err := faulty(ctx, c.fault)
		if err != nil {
			return err
		}
		b.atMost("windows beside grant times RTT, the feed "+c.name, "%", []float64{score}, c.most)
		if c.least > 0 {
			b.atLeast("windows beside grant times RTT, the feed "+c.name, "%", []float64{score}, c.least)
		}
	}
	return nil
}

// faulty is the score of 8 s over a rate that changes each second.
func faulty(ctx context.Context, f pep.Fault) (float64, error) {
	config := splitting("xlayer")
	config.Fault = f
	steps := []link.Rate{8 * link.MegabitPerSecond, 4 * link.MegabitPerSecond}
	doc, err := stepped(steps[0])
	if err != nil {
		return 0, err
	}
	r, err := newProxied(ctx, doc, config)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	const lasting = 8 * time.Second
	var g errgroup.Group
	g.Go(func() error {
		for i, begun := 1, time.Now(); time.Since(begun) < lasting-time.Second; i++ {
			time.Sleep(time.Second)
			doc, err := stepped(steps[i%len(steps)])
			if err != nil {
				return err
			}
			if _, err := r.Apply(doc); err != nil {
				return err
			}
		}
		return nil
	})
	_, err = pull(r.B, r.A, 1, "cubic", lasting)
	if err = errors.Join(err, g.Wait()); err != nil {
		return 0, err
	}
	s, err := r.far().Status()
	return 100 * s.Feed.Error, err
}
