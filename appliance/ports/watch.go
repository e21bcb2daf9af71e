package ports

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Look reports whether the namespace has an interface called name, whether
// that has a carrier, and its speed in Mbit/s, 0 if unknown.
func (n *Namespace) Look(name string) (there, carrier bool, speed int) {
	l, err := n.link.LinkByName(name)
	if err != nil {
		return false, false, 0
	}
	carrier = l.Attrs().RawFlags&unix.IFF_LOWER_UP != 0
	return true, carrier, n.speed(l.Attrs().Index)
}

// lookAgain is how often Watch has its caller look without being told: what
// changes about the peer of a veth in another namespace is news there only.
const lookAgain = 2 * time.Second

// Watch calls changed each time anything changes about the interfaces of the
// namespace (made, removed, renamed, carrier), and each lookAgain, until ctx
// ends.
func (n *Namespace) Watch(ctx context.Context, changed func()) error {
	updates, done := make(chan netlink.LinkUpdate, 16), make(chan struct{})
	defer close(done)
	unread := make(chan struct{}, 1)
	err := netlink.LinkSubscribeWithOptions(updates, done, netlink.LinkSubscribeOptions{
		Namespace: &n.fd,
		// The library takes no message that has the number of a process:
		// what somebody asked the kernel to do to an interface, such as to
		// remove it, has (since Linux 6.2). It is news all the same.
		ErrorCallback: func(error) {
			select {
			case unread <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch interfaces: %w", err)
	}
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
			changed()
		case <-unread:
			changed()
		case _, ok := <-updates:
			if !ok {
				return errors.New("watch interfaces: the kernel's messages ended")
			}
			changed()
		}
	}
}
