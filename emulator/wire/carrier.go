package wire

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// watch follows whether the ports have a carrier. A port without one takes
// frames from the engine like any other and its driver throws them away
// (dev_direct_xmit), so that they would count as sent.
func (m *machine) watch() error {
	m.unwatch = make(chan struct{})
	changes := make(chan netlink.LinkUpdate, 16)
	err := netlink.LinkSubscribeWithOptions(changes, m.unwatch, netlink.LinkSubscribeOptions{ListExisting: true})
	if err != nil {
		return fmt.Errorf("watch the ports' carriers: %w", err)
	}
	go func() {
		for c := range changes {
			m.note(c)
		}
	}()
	return nil
}

// note takes note of a change of an interface, if it is a port.
func (m *machine) note(c netlink.LinkUpdate) {
	for i, p := range m.ports {
		if int(c.Index) != p.Index {
			continue
		}
		flags := c.IfInfomsg.Flags
		gone := c.Header.Type == unix.RTM_DELLINK
		m.unplugged[i].Store(gone || flags&unix.IFF_UP != 0 && flags&unix.IFF_LOWER_UP == 0)
	}
}
