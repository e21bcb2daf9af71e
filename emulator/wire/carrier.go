package wire

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// watch follows whether the ports have a carrier. A port without one takes
// frames from the engine like any other and its driver throws them away
// (dev_direct_xmit), so that they would count as sent.
func (m *machine) watch() error {
	if m.config.unpinned {
		return nil // a cable of one's own
	}
	m.unwatch = make(chan struct{})
	changes, unread := make(chan netlink.LinkUpdate, 16), make(chan struct{}, 1)
	err := netlink.LinkSubscribeWithOptions(changes, m.unwatch, netlink.LinkSubscribeOptions{
		// The library takes no message that has the number of a process,
		// which what somebody asked the kernel to do has.
		ErrorCallback: func(error) {
			select {
			case unread <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch the ports' carriers: %w", err)
	}
	m.look()
	go func() {
		for there := true; there; m.look() {
			select {
			case _, there = <-changes:
			case <-unread:
			}
		}
	}()
	return nil
}

// look looks whether the ports have a carrier. One that is down says so when
// it is to send.
func (m *machine) look() {
	for i, p := range m.ports {
		l, err := netlink.LinkByIndex(p.Index)
		var missing netlink.LinkNotFoundError
		switch {
		case errors.As(err, &missing):
			m.unplugged[i].Store(true)
		case err == nil:
			flags := l.Attrs().RawFlags
			m.unplugged[i].Store(flags&unix.IFF_UP != 0 && flags&unix.IFF_LOWER_UP == 0)
		}
	}
}
