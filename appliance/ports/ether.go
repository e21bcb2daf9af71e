package ports

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ether speaks the ethtool netlink family for what mdlayher/ethtool does not
// have: features and channels (Documentation/networking/ethtool-netlink.rst).
type ether struct {
	conn   *genetlink.Conn
	family uint16
}

func newEther(conn *genetlink.Conn) (ether, error) {
	family, err := conn.GetFamily(unix.ETHTOOL_GENL_NAME)
	if err != nil {
		return ether{conn: conn}, fmt.Errorf("find generic netlink family ethtool (CONFIG_ETHTOOL_NETLINK): %w", err)
	}
	return ether{conn: conn, family: family.ID}, nil
}

// ask sends one request about the interface, which every message of the
// family names in its attribute 1.
func (e ether) ask(command uint8, flags netlink.HeaderFlags, index int, fill func(*netlink.AttributeEncoder)) ([]genetlink.Message, error) {
	const header = 1
	ae := netlink.NewAttributeEncoder()
	ae.Nested(header, func(nae *netlink.AttributeEncoder) error {
		nae.Uint32(unix.ETHTOOL_A_HEADER_DEV_INDEX, uint32(index))
		if flags&netlink.Acknowledge != 0 {
			// The acknowledgement is answer enough.
			nae.Uint32(unix.ETHTOOL_A_HEADER_FLAGS, unix.ETHTOOL_FLAG_OMIT_REPLY)
		}
		return nil
	})
	if fill != nil {
		fill(ae)
	}
	data, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	m := genetlink.Message{Header: genetlink.Header{Command: command, Version: unix.ETHTOOL_GENL_VERSION}, Data: data}
	return e.conn.Execute(m, e.family, netlink.Request|flags)
}

// features returns the features of the interface that can be switched, by
// name.
func (e ether) features(index int) ([]Feature, error) {
	answer, err := e.ask(unix.ETHTOOL_MSG_FEATURES_GET, 0, index, nil)
	if err != nil {
		return nil, fmt.Errorf("read features: %w", err)
	}
	changeable, active := map[string]bool{}, map[string]bool{}
	for _, m := range answer {
		ad, err := netlink.NewAttributeDecoder(m.Data)
		if err != nil {
			return nil, fmt.Errorf("read features: %w", err)
		}
		for ad.Next() {
			switch ad.Type() {
			case unix.ETHTOOL_A_FEATURES_HW:
				ad.Nested(bitNames(changeable))
			case unix.ETHTOOL_A_FEATURES_ACTIVE:
				ad.Nested(bitNames(active))
			}
		}
		if err := ad.Err(); err != nil {
			return nil, fmt.Errorf("read features: %w", err)
		}
	}
	var features []Feature
	for name := range changeable {
		features = append(features, Feature{name, active[name]})
	}
	slices.SortFunc(features, func(a, b Feature) int { return strings.Compare(a.Name, b.Name) })
	return features, nil
}

// bitNames collects the names of the bits that are set in a bitset. The HW
// bitset comes with a mask, where a bit is set by its VALUE flag; the others
// come as a list, where a bit is set by standing there.
func bitNames(set map[string]bool) func(*netlink.AttributeDecoder) error {
	return func(ad *netlink.AttributeDecoder) error {
		list := false
		for ad.Next() {
			switch ad.Type() {
			case unix.ETHTOOL_A_BITSET_NOMASK:
				list = true
			case unix.ETHTOOL_A_BITSET_BITS:
				ad.Nested(func(bits *netlink.AttributeDecoder) error {
					for bits.Next() {
						bits.Nested(bitName(set, list))
					}
					return nil
				})
			}
		}
		return nil
	}
}

func bitName(set map[string]bool, list bool) func(*netlink.AttributeDecoder) error {
	return func(bit *netlink.AttributeDecoder) error {
		name, on := "", list
		for bit.Next() {
			switch bit.Type() {
			case unix.ETHTOOL_A_BITSET_BIT_NAME:
				name = bit.String()
			case unix.ETHTOOL_A_BITSET_BIT_VALUE:
				on = true
			}
		}
		if on {
			set[name] = true
		}
		return nil
	}
}

// setFeature switches one feature.
func (e ether) setFeature(index int, name string, on bool) error {
	_, err := e.ask(unix.ETHTOOL_MSG_FEATURES_SET, netlink.Acknowledge, index, func(ae *netlink.AttributeEncoder) {
		ae.Nested(unix.ETHTOOL_A_FEATURES_WANTED, func(set *netlink.AttributeEncoder) error {
			set.Nested(unix.ETHTOOL_A_BITSET_BITS, func(bits *netlink.AttributeEncoder) error {
				bits.Nested(unix.ETHTOOL_A_BITSET_BITS_BIT, func(bit *netlink.AttributeEncoder) error {
					bit.String(unix.ETHTOOL_A_BITSET_BIT_NAME, name)
					bit.Flag(unix.ETHTOOL_A_BITSET_BIT_VALUE, on)
					return nil
				})
				return nil
			})
			return nil
		})
	})
	return err
}

// channels returns how many queues the interface uses; a driver that has no
// choice returns zeros.
func (e ether) channels(index int) (Channels, error) {
	answer, err := e.ask(unix.ETHTOOL_MSG_CHANNELS_GET, 0, index, nil)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return Channels{}, nil
	}
	if err != nil {
		return Channels{}, fmt.Errorf("read channels: %w", err)
	}
	var c Channels
	for _, m := range answer {
		ad, err := netlink.NewAttributeDecoder(m.Data)
		if err != nil {
			return c, fmt.Errorf("read channels: %w", err)
		}
		for ad.Next() {
			switch ad.Type() {
			case unix.ETHTOOL_A_CHANNELS_RX_COUNT:
				c.RX = int(ad.Uint32())
			case unix.ETHTOOL_A_CHANNELS_TX_COUNT:
				c.TX = int(ad.Uint32())
			case unix.ETHTOOL_A_CHANNELS_COMBINED_COUNT:
				c.Combined = int(ad.Uint32())
			}
		}
	}
	return c, nil
}

// speed returns the speed of the interface in Mbit/s, 0 where it is not
// known: no carrier, or no such thing.
func (e ether) speed(index int) int {
	answer, err := e.ask(unix.ETHTOOL_MSG_LINKMODES_GET, 0, index, nil)
	if err != nil {
		return 0
	}
	for _, m := range answer {
		ad, err := netlink.NewAttributeDecoder(m.Data)
		if err != nil {
			return 0
		}
		for ad.Next() {
			if ad.Type() != unix.ETHTOOL_A_LINKMODES_SPEED {
				continue
			}
			if v := ad.Uint32(); v != speedUnknown {
				return int(v)
			}
		}
	}
	return 0
}

// speedUnknown is SPEED_UNKNOWN of linux/ethtool.h, -1.
const speedUnknown = 1<<32 - 1

// setChannels sets one kind of queue count.
func (e ether) setChannels(index int, attribute uint16, count uint32) error {
	_, err := e.ask(unix.ETHTOOL_MSG_CHANNELS_SET, netlink.Acknowledge, index, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(attribute, count)
	})
	return err
}
