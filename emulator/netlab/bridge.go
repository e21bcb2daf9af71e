package netlab

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"

	"farlink/emulator/netspace"
)

const bridgeName = "br0"

// Bridge joins the box's ports by a kernel bridge, the peer that a wire is
// measured against. Unbridge takes it away.
func (l *Lab) Bridge() error {
	return netspace.Do(l.Box, func() error {
		br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName}}
		if err := netlink.LinkAdd(br); err != nil {
			return fmt.Errorf("bridge in %s: %w", l.Box, err)
		}
		for _, port := range []string{l.PortA, l.PortB} {
			dev, err := netlink.LinkByName(port)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetMaster(dev, br); err != nil {
				return fmt.Errorf("put %s on the bridge: %w", port, err)
			}
		}
		return errors.Join(silence(bridgeName), up(bridgeName))
	})
}

// Unbridge takes the bridge away.
func (l *Lab) Unbridge() error {
	return netspace.Do(l.Box, func() error {
		br, err := netlink.LinkByName(bridgeName)
		if err != nil {
			return err
		}
		return netlink.LinkDel(br)
	})
}
