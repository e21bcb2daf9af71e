package multipath

import (
	"context"
	"sync"
	"time"
)

// links is which carriers are up, as far as somebody tells.
type links struct {
	mu   sync.Mutex
	down []bool
	news chan struct{} // closed at the next change
}

func newLinks(n int) *links { return &links{down: make([]bool, n), news: make(chan struct{})} }

// set reports whether carrier i was otherwise.
func (l *links) set(i int, down bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down[i] == down {
		return false
	}
	l.down[i] = down
	close(l.news)
	l.news = make(chan struct{})
	return true
}

func (l *links) look(i int) (down bool, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.down[i], l.news
}

// await waits until carrier i is up.
func (l *links) await(ctx context.Context, i int) error {
	for {
		down, news := l.look(i)
		if !down || ctx.Err() != nil {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
		case <-news:
		}
	}
}

// pause leaves carrier i alone for a while, or until it comes back.
func (l *links) pause(ctx context.Context, i int) {
	was, news := l.look(i)
	for timer := time.After(rejoin); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer:
			return
		case <-news:
			var down bool
			if down, news = l.look(i); was && !down {
				return
			}
			was = down
		}
	}
}

// SetLink tells that the link of carrier i went down or came up: connections
// leave it at once, what it had in flight goes by others, and they join it
// again at once. Nobody needs to tell, but silence takes longer to notice.
func (r *Router) SetLink(i int, up bool) {
	if r.links.set(i, !up) && !up {
		r.forsake(i)
	}
}

// SetLink tells that the link of carrier i went down: connections leave it at
// once. The router joins it again.
func (p *Proxy) SetLink(i int, up bool) {
	if !up {
		p.forsake(i)
	}
}

// forsake takes path i away from all connections.
func (e *end) forsake(i int) {
	for _, s := range e.all() {
		s.mu.Lock()
		if f := s.flows[i]; f != nil {
			s.leave(f)
			abort(f.conn)
		}
		s.mu.Unlock()
	}
}
