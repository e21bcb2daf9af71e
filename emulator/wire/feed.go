package wire

import "farlink/emulator/link"

// Feed takes what links grant, for those who want to follow it closer than
// the figures of Stats do. It must not allocate.
type Feed interface {
	// Tell is called by the loop of way w; now and nextAt, when c.NextRate
	// takes effect, are CLOCK_MONOTONIC.
	Tell(number int, w link.Way, now, nextAt int64, c link.Capacity)
	// Forget says that a link has no limit.
	Forget(number int, w link.Way)
}

// OpenFeed opens the feed that Config.Feed names.
type OpenFeed func(path string) (Feed, error)

// Granting is an Emulator that tells what its links grant.
type Granting interface {
	// Granters is how many links there are.
	Granters() int
	// Capacity is what link i grants in way w; ok is false without a limit.
	Capacity(w link.Way, i int, now link.Time) (c link.Capacity, ok bool)
}

const (
	tellEvery = 500_000    // ns between tellings while frames pass
	tellIdle  = 20_000_000 // ns, while none do
)

// teller tells the feed of one way.
type teller struct {
	feed Feed
	told int64 // when last, CLOCK_MONOTONIC
	next int64 // when it must be told again
	most int   // links ever told of
}

// tell publishes what every link grants in this way.
func (l *loop) tell() {
	g, _ := l.em.(Granting)
	if l.locked {
		l.lock.take()
		defer l.lock.drop()
	}
	t := &l.teller
	t.told, t.next = l.now, l.now+tellIdle
	if l.store.frames == 0 {
		l.page.begin()
		l.em.Run(l.way, link.Time(l.now-l.epoch), l) // a loop with nothing inside lets ticks wait
		l.page.end()
	}
	links := 0
	if g != nil {
		links = g.Granters()
	}
	for i := range max(links, t.most) {
		if i >= links {
			t.feed.Forget(i, l.way)
			continue
		}
		l.tellLink(g, i)
	}
	t.most = max(links, t.most)
}

func (l *loop) tellLink(g Granting, i int) {
	c, ok := g.Capacity(l.way, i, link.Time(l.now-l.epoch))
	if !ok {
		l.teller.feed.Forget(i, l.way)
		return
	}
	at := int64(link.Never)
	if c.NextAt != link.Never {
		at = int64(c.NextAt) + l.epoch
		if at > l.now {
			l.teller.next = min(l.teller.next, at)
		}
	}
	l.teller.feed.Tell(i, l.way, l.now, at, c)
}

// telling reports whether it is time to tell the feed.
func (l *loop) telling() bool {
	t := &l.teller
	return t.feed != nil && (l.now >= t.next || l.store.frames > 0 && l.now-t.told >= tellEvery)
}
