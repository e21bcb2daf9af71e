package steer

import (
	"fmt"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
)

// Of linux/netdev.h.
const (
	netdevFamily      = "netdev"
	netdevDeviceGet   = 1
	netdevIndex       = 1
	netdevXDPFeatures = 3

	xdpNDOXmit = 1 << 2 // takes frames that another port redirects to it
)

// takesRedirects reports whether the kernel says that frames can be
// redirected natively to an interface. For a veth that is so while its peer
// polls: with an XDP program of its own, or with GRO on.
func takesRedirects(index int) (bool, error) {
	c, err := genetlink.Dial(nil)
	if err != nil {
		return false, fmt.Errorf("ask for XDP features: %w", err)
	}
	defer c.Close()
	family, err := c.GetFamily(netdevFamily)
	if err != nil {
		return false, fmt.Errorf("ask for XDP features: %w", err)
	}
	e := netlink.NewAttributeEncoder()
	e.Uint32(netdevIndex, uint32(index))
	data, err := e.Encode()
	if err != nil {
		return false, err
	}
	answers, err := c.Execute(genetlink.Message{Header: genetlink.Header{Command: netdevDeviceGet, Version: family.Version}, Data: data}, family.ID, netlink.Request)
	if err != nil {
		return false, fmt.Errorf("ask for XDP features of interface %d: %w", index, err)
	}
	for _, a := range answers {
		d, err := netlink.NewAttributeDecoder(a.Data)
		if err != nil {
			return false, err
		}
		for d.Next() {
			if d.Type() == netdevXDPFeatures {
				return d.Uint64()&xdpNDOXmit != 0, d.Err()
			}
		}
	}
	return false, nil
}
