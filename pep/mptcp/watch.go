package mptcp

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Watcher takes endpoints away when their interface goes down and adds them
// again when it is up. The kernel does not: it waits for retransmissions to
// run out.
type Watcher struct {
	manager *Manager
	at      map[int][]Endpoint // by interface
	gone    map[int]bool
	log     *slog.Logger
}

// NewWatcher watches over endpoints, each with the index of its interface.
func NewWatcher(m *Manager, endpoints []Endpoint, log *slog.Logger) (*Watcher, error) {
	w := &Watcher{manager: m, at: map[int][]Endpoint{}, gone: map[int]bool{}, log: log}
	for _, e := range endpoints {
		if e.Index == 0 {
			return nil, fmt.Errorf("watch MPTCP endpoint %v: want the index of its interface", e.Addr)
		}
		w.at[e.Index] = append(w.at[e.Index], e)
	}
	return w, nil
}

// Run watches the namespace until ctx ends. ready is called when it has
// begun.
func (w *Watcher) Run(ctx context.Context, ns netns.NsHandle, ready func()) error {
	updates, done := make(chan netlink.LinkUpdate, 16), make(chan struct{})
	defer close(done)
	if err := netlink.LinkSubscribeAt(ns, updates, done); err != nil {
		return fmt.Errorf("watch links: %w", err)
	}
	ready()
	for {
		select {
		case <-ctx.Done():
			return nil
		case u, ok := <-updates:
			if !ok {
				return fmt.Errorf("watch links: the subscription ended")
			}
			w.changed(u)
		}
	}
}

// changed follows one interface.
func (w *Watcher) changed(u netlink.LinkUpdate) {
	index := int(u.Index)
	up := u.IfInfomsg.Flags&unix.IFF_UP != 0 && u.IfInfomsg.Flags&unix.IFF_LOWER_UP != 0
	if w.at[index] == nil || up != w.gone[index] {
		return
	}
	for _, e := range w.at[index] {
		act, what := w.manager.Delete, "gone"
		if up {
			act, what = w.manager.Add, "back"
		}
		if err := act(e); err != nil {
			w.log.Warn("MPTCP path "+what, "address", e.Addr, "error", err)
		}
	}
	w.gone[index] = !up
}
