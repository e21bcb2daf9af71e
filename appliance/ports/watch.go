package ports

import (
	"context"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Watch calls changed each time an interface of the namespace is made,
// renamed, removed or changes its carrier, until ctx ends.
func (n *Namespace) Watch(ctx context.Context, changed func(name string, there, carrier bool)) error {
	updates, done := make(chan netlink.LinkUpdate, 16), make(chan struct{})
	defer close(done)
	lost := make(chan error, 1)
	err := netlink.LinkSubscribeWithOptions(updates, done, netlink.LinkSubscribeOptions{
		Namespace: &n.fd,
		ErrorCallback: func(err error) {
			select {
			case lost <- err:
			default:
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch interfaces: %w", err)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-lost:
			return fmt.Errorf("watch interfaces: %w", err)
		case u, ok := <-updates:
			if !ok {
				return fmt.Errorf("watch interfaces: the kernel's messages ended")
			}
			attrs := u.Link.Attrs()
			changed(attrs.Name, u.Header.Type != unix.RTM_DELLINK, attrs.RawFlags&unix.IFF_LOWER_UP != 0)
		}
	}
}
