package pep

import (
	"context"
	"fmt"
	"sync"
	"time"

	"farlink/emulator/link"
	"farlink/pep/intercept"
)

// lingering is how long a flow is known after its end: its last segments,
// and the answers to retransmissions, still need the ends' looks.
const lingering = 65 * time.Second

// ended is a flow that has ended.
type ended struct {
	ends intercept.Ends
	flow uint64 // when it began, by which the interception knows it
	at   time.Time
}

// ending are the flows that have ended and linger, oldest first.
type ending struct {
	mu    sync.Mutex
	queue []ended
}

func (q *ending) add(e ended) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = append(q.queue, e)
}

// over takes out those that ended before t.
func (q *ending) over(t time.Time) []ended {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for n < len(q.queue) && q.queue[n].at.Before(t) {
		n++
	}
	out := q.queue[:n:n]
	q.queue = q.queue[n:]
	if len(q.queue) == 0 {
		q.queue = nil
	}
	return out
}

// tidyEvery is how often what has ended is looked for; sweepEvery, in the
// whole table of flows.
const (
	tidyEvery  = time.Second
	sweepEvery = 30 * time.Second
)

// tidy forgets what has ended, until ctx does.
func (p *Proxy) tidy(ctx context.Context) error {
	every, sweep := time.NewTicker(tidyEvery), time.NewTicker(sweepEvery)
	defer every.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
			now := time.Now()
			for _, e := range p.ending.over(now.Add(-lingering)) {
				p.warn(p.space.Forget(e.ends, e.flow), e.ends)
			}
			p.abandonOld(now.Add(-patience))
			if p.flows.len() == 0 {
				p.pipes.Close() // nobody needs them now
			}
		case <-sweep.C:
			if err := p.sweep(); err != nil {
				return fmt.Errorf("sweep flows: %w", err)
			}
		}
	}
}

// sweep forgets the flows that nobody here knows and that are too old to be
// in their handshake.
func (p *Proxy) sweep() error {
	known := map[uint64]bool{}
	for _, s := range p.flows.list() {
		known[s.flow] = true
	}
	p.waiting.Range(func(_, v any) bool {
		known[v.(*half).since] = true
		return true
	})
	p.ending.mu.Lock()
	for _, e := range p.ending.queue {
		known[e.flow] = true
	}
	p.ending.mu.Unlock()
	handshake := p.config.Load().DialTimeout + link.Duration(patience)
	return p.space.Sweep(uint64(monotonic()-int64(handshake)), func(since uint64) bool { return known[since] })
}
