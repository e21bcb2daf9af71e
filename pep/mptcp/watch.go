package mptcp

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Watcher takes endpoints away when their interface goes down and adds them
// again when it is up. The kernel does not: it waits for retransmissions to
// run out.
type Watcher struct {
	manager *Manager
	paths   []watched
	log     *slog.Logger
}

type watched struct {
	Endpoint
	gone bool
}

// lookEvery is how often interfaces are looked at. The kernel's own events of
// a lost carrier come up to a second late (linkwatch gathers them).
const lookEvery = 20 * time.Millisecond

// NewWatcher watches over endpoints that are there, each with the index of
// its interface.
func NewWatcher(m *Manager, endpoints []Endpoint, log *slog.Logger) (*Watcher, error) {
	w := &Watcher{manager: m, log: log}
	for _, e := range endpoints {
		if e.Index == 0 {
			return nil, fmt.Errorf("watch MPTCP endpoint %v: want the index of its interface", e.Addr)
		}
		w.paths = append(w.paths, watched{Endpoint: e})
	}
	return w, nil
}

// Run watches the interfaces of a namespace until ctx ends.
func (w *Watcher) Run(ctx context.Context, ns netns.NsHandle) error {
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("watch links: %w", err)
	}
	defer h.Close()
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	for {
		for i := range w.paths {
			w.look(h, &w.paths[i])
		}
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
	}
}

// look follows one endpoint's interface; one that is no more is down.
func (w *Watcher) look(h *netlink.Handle, p *watched) {
	up := false
	if l, err := h.LinkByIndex(p.Index); err == nil {
		flags := l.Attrs().RawFlags
		up = flags&unix.IFF_UP != 0 && flags&unix.IFF_LOWER_UP != 0
	}
	if up != p.gone {
		return
	}
	act, what := w.manager.Delete, "gone"
	if up {
		act, what = w.manager.Add, "back"
	}
	if err := act(p.Endpoint); err != nil {
		w.log.Warn("MPTCP path "+what, "address", p.Addr, "error", err)
	}
	p.gone = !up
}
