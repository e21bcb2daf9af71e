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
	return r.loaded(b, "rate in steps", link.Down, 3*time.Second, func() error {
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

// pepDAMA is the same over a return link that is granted on demand: from 5 s
// on, since it takes some loops of requests to be granted all that there is.
func pepDAMA(ctx context.Context, b *Bench) error {
	r, err := newProxiedOn(ctx, "dvbrcs/seed-004", splitting("xlayer"))
	if err != nil {
		return err
	}
	defer r.Close()
	return r.loaded(b, "DVB-RCS return link", link.Up, 5*time.Second, func() error {
		time.Sleep(12 * time.Second)
		return nil
	})
}

func stepped(r link.Rate) ([]byte, error) {
	return written(fmt.Sprintf("name = \"bench/step\"\n[down.queue]\nrate = %q\nlimit = \"500kB\"\n[down.path]\ndelay = \"250ms\"\n[up.queue]\nrate = %q\n[up.path]\ndelay = \"250ms\"\n", r, r))
}

// loaded keeps a stream on the link while f changes it, and looks at it from
// a time after its start on.
func (p *proxied) loaded(b *Bench, what string, w link.Way, start time.Duration, f func() error) error {
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
	time.Sleep(start)
	stop := make(chan struct{})
	watched := make(chan watch, 1)
	go func() { watched <- p.watch(w, stop) }()
	err = f()
	close(stop)
	got := <-watched // while the stream goes on
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

// oneWay is the path of the links that are watched, behind what is granted.
const oneWay = 250 * time.Millisecond

// watch looks at what the engine tells each 2 ms until stop. Queueing is what
// waits over the rate that is granted (of late, where it is granted by the
// frame). What leaves the path was granted one way earlier.
func (p *proxied) watch(w link.Way, stop <-chan struct{}) (got watch) {
	feed, err := congestion.OpenFeed(p.path.Feed())
	if err != nil {
		return watch{}
	}
	defer feed.Close()
	var queues []float64
	var granted float64 // bytes
	out := func() uint64 { return p.Stats().Ways[w].Book.OutBytes }
	before := make(chan uint64, 1)
	time.AfterFunc(oneWay, func() { before <- out() })
	for last := time.Now(); ; {
		select {
		case <-stop:
			time.Sleep(time.Until(last.Add(oneWay)))
			slices.Sort(queues)
			return watch{queues[len(queues)*99/100], 100 * float64(out()-<-before) / granted}
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
