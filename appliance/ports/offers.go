package ports

import (
	"fmt"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
)

// Offers is what XDP the driver of a port has.
type Offers struct {
	Native   bool // programs in the driver
	ZeroCopy bool // AF_XDP without copying
	Jumbo    bool // frames of several buffers
}

func (o Offers) String() string {
	if !o.Native {
		return "no native XDP"
	}
	s := "native XDP"
	if o.Jumbo {
		s += ", large frames"
	}
	if o.ZeroCopy {
		return s + ", zero-copy"
	}
	return s + ", copying"
}

// Family netdev, Documentation/netlink/specs/netdev.yaml.
const (
	netdevGet         = 1 // NETDEV_CMD_DEV_GET
	netdevIndex       = 1 // NETDEV_A_DEV_IFINDEX
	netdevXDPFeatures = 3 // NETDEV_A_DEV_XDP_FEATURES

	xdpBasic    = 1 << 0
	xdpZeroCopy = 1 << 3
	xdpRxSG     = 1 << 5
)

// Offers asks the kernel what XDP the driver of the port has.
func (n *Namespace) Offers(port string) (o Offers, err error) {
	l, err := n.link.LinkByName(port)
	if err != nil {
		return o, fmt.Errorf("port %s: %w", port, err)
	}
	family, err := n.conn.GetFamily("netdev")
	if err != nil {
		return o, fmt.Errorf("ask for the XDP features of %s: %w", port, err)
	}
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(netdevIndex, uint32(l.Attrs().Index))
	data, err := ae.Encode()
	if err != nil {
		return o, err
	}
	answer, err := n.conn.Execute(genetlink.Message{Header: genetlink.Header{Command: netdevGet, Version: 1}, Data: data}, family.ID, netlink.Request)
	if err != nil {
		return o, fmt.Errorf("ask for the XDP features of %s: %w", port, err)
	}
	for _, m := range answer {
		ad, err := netlink.NewAttributeDecoder(m.Data)
		if err != nil {
			return o, err
		}
		for ad.Next() {
			if ad.Type() == netdevXDPFeatures {
				bits := ad.Uint64()
				o = Offers{Native: bits&xdpBasic != 0, ZeroCopy: bits&xdpZeroCopy != 0, Jumbo: bits&xdpRxSG != 0}
			}
		}
	}
	return o, nil
}
