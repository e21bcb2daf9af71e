package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// lookEvery is how often the interfaces of paths are looked at, beside each
// time that the kernel tells of one: it tells of an interface that is set down
// at once, of a lost carrier up to a second late (linkwatch gathers them).
const lookEvery = 10 * time.Millisecond

// sight is a path's interfaces at an instant.
type sight struct {
	up       bool
	sent     uint64 // bytes, from near to far
	received uint64
}

// eyes look at the interfaces of all paths.
type eyes struct {
	site    *Site
	handles map[string]*netlink.Handle // by namespace
	news    chan netlink.LinkUpdate    // something is otherwise
	done    chan struct{}
}

func openEyes(s *Site) (*eyes, error) {
	e := &eyes{site: s, handles: map[string]*netlink.Handle{}, news: make(chan netlink.LinkUpdate, 1), done: make(chan struct{})}
	for _, v := range s.sides() {
		ns, err := netns.GetFromName(v.netns)
		if err == nil {
			e.handles[v.netns], err = netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
			if err == nil {
				err = e.subscribe(ns)
			}
			ns.Close()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("watch the paths in %s: %w", v.netns, err), e.Close())
		}
	}
	return e, nil
}

// subscribe has the kernel tell of a namespace's interfaces.
func (e *eyes) subscribe(ns netns.NsHandle) error {
	heard := make(chan netlink.LinkUpdate)
	if err := netlink.LinkSubscribeWithOptions(heard, e.done, netlink.LinkSubscribeOptions{Namespace: &ns}); err != nil {
		return err
	}
	go func() { // ends when done closes the socket
		for u := range heard {
			select {
			case e.news <- u:
			default: // one that waits says as much
			}
		}
	}()
	return nil
}

// Close lets go.
func (e *eyes) Close() error {
	close(e.done)
	for _, h := range e.handles {
		h.Close()
	}
	return nil
}

// look returns the paths as they are. One is up when its interfaces are at
// both ends; an interface that is no more is down.
func (e *eyes) look() []sight {
	all := make([]sight, len(e.site.Paths))
	for i := range all {
		all[i].up = true
		for _, v := range e.site.sides() {
			l, err := e.handles[v.netns].LinkByName(e.site.Paths[i].end(v.near).dev)
			if err != nil {
				all[i].up = false
				continue
			}
			a := l.Attrs()
			all[i].up = all[i].up && a.RawFlags&unix.IFF_UP != 0 && a.RawFlags&unix.IFF_LOWER_UP != 0
			if s := a.Statistics; s != nil && !v.near {
				all[i].sent, all[i].received = s.RxBytes, s.TxBytes
			}
		}
	}
	return all
}

// watch calls changed with each path that went down or came up, until ctx
// ends.
func (b *Bundle) watch(ctx context.Context) {
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-b.eyes.news:
		}
		seen := b.eyes.look()
		b.mu.Lock()
		was := slices.Clone(b.up)
		b.seen = seen
		b.mu.Unlock()
		for i, s := range seen {
			if s.up != was[i] {
				b.changed(i, s.up)
			}
		}
	}
}

// changed follows a path that went down or came up: connections leave it or
// join it, and what is routed takes the best that is up.
func (b *Bundle) changed(i int, up bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.up[i] = up
	if b.router != nil {
		b.router.SetLink(i, up)
		b.proxy.SetLink(i, up)
	}
	if err := errors.Join(b.route(), b.endpoints()); err != nil {
		b.log.Warn("multipath: path", "name", b.site.Paths[i].Name, "up", up, "error", err)
	}
}
