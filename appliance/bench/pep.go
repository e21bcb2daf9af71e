package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"farlink/emulator/link"
	"farlink/pep"
	"farlink/pep/congestion"
)

// PEP lists the cases of the proxies.
func PEP() []Case {
	return []Case{{"pep-loss-1", pepLoss(1)}, {"pep-loss-5", pepLoss(5)}, {"pep-rivals", pepRivals}, {"pep-window", pepWindow},
		{"pep-start", pepStart}, {"pep-step", pepStep}, {"pep-dama", pepDAMA}, {"pep-fair", pepFair}, {"pep-relay", pepRelay},
		{"pep-latency", pepLatency}, {"pep-flows", pepFlows}, {"pep-soak", pepSoak}, {"pep-kill", pepKill}}
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

// pepStep loads a link whose rate changes and looks at the queue and at the
// part of the grant that is used.
func pepStep(ctx context.Context, b *Bench) error {
	rates := []link.Rate{2 * link.MegabitPerSecond, 8 * link.MegabitPerSecond, link.MegabitPerSecond, 8 * link.MegabitPerSecond}
	doc, err := stepped(rates[0])
	if err != nil {
		return err
	}
	r, err := newProxied(ctx, doc, splitting("xlayer"))
	if err != nil {
		return err
	}
	defer r.Close()
	return r.loaded(b, "rate in steps", link.Down, func() error {
		for _, rate := range rates[1:] {
			time.Sleep(3 * time.Second)
			doc, err := stepped(rate)
			if err != nil {
				return err
			}
			if _, err := r.Apply(doc); err != nil {
				return err
			}
		}
		time.Sleep(3 * time.Second)
		return nil
	})
}

// pepDAMA is the same over a return link that is granted on demand.
func pepDAMA(ctx context.Context, b *Bench) error {
	r, err := newProxiedOn(ctx, "dvbrcs/seed-004", splitting("xlayer"))
	if err != nil {
		return err
	}
	defer r.Close()
	return r.loaded(b, "DVB-RCS return link", link.Up, func() error {
		time.Sleep(12 * time.Second)
		return nil
	})
}

func stepped(r link.Rate) ([]byte, error) {
	return written(fmt.Sprintf("name = \"bench/step\"\n[down.queue]\nrate = %q\nlimit = \"500kB\"\n[down.path]\ndelay = \"250ms\"\n[up.queue]\nrate = %q\n[up.path]\ndelay = \"250ms\"\n", r, r))
}

// loaded keeps a stream on the link while f changes it.
func (p *proxied) loaded(b *Bench, what string, w link.Way, f func() error) error {
	from, to := p.B, p.A
	if w == link.Up {
		from, to = p.A, p.B
	}
	l, err := serve(from, "cubic", endless)
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := dial(to, l.Addr())
	if err != nil {
		return err
	}
	defer c.Close()
	go io.Copy(io.Discard, c)
	time.Sleep(3 * time.Second)
	stop := make(chan struct{})
	watched := make(chan watch, 1)
	go func() { watched <- p.watch(w, stop) }()
	err = f()
	close(stop)
	got := <-watched
	if err != nil {
		return err
	}
	b.atMost(what+", queue p99", "ms", []float64{got.queue}, 50)
	b.atLeast(what+", use of the grant", "%", []float64{got.use}, 97)
	var all error
	p.path.Proxies(func(side string, proxy *pep.Process) {
		s, err := proxy.Status()
		all = errors.Join(all, err)
		if s.Feed.Samples > 0 {
			b.note(what+", oracle error of the "+side+" proxy", "%", []float64{100 * s.Feed.Error})
		}
	})
	return all
}

// watch is what was seen of a loaded link.
type watch struct{ queue, use float64 } // ms at the 99th percentile; %

// watch looks at what the engine tells each 2 ms until stop.
func (p *proxied) watch(w link.Way, stop <-chan struct{}) (got watch) {
	feed, err := congestion.OpenFeed(p.path.Feed())
	if err != nil {
		return watch{}
	}
	defer feed.Close()
	var queues []float64
	var granted float64 // bytes
	before, last := p.Stats().Ways[w].Book.OutBytes, time.Now()
	for {
		select {
		case <-stop:
			sent := float64(p.Stats().Ways[w].Book.OutBytes - before)
			slices.Sort(queues)
			return watch{queues[len(queues)*99/100], 100 * sent / granted}
		case <-time.After(2 * time.Millisecond):
		}
		t, now := feed.Now(congestion.Column(0, w)), time.Now()
		granted += float64(t.Frame) / 8 * now.Sub(last).Seconds()
		last = now
		if t.Rate > 0 {
			queues = append(queues, float64(t.Queue)*8e3/float64(t.Rate))
		}
	}
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
