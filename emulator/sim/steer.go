package sim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"farlink/emulator/link"
)

// From returns a Steer for a capture of both ways: what comes from the device
// goes up, all else down. The device is named by its MAC address, its IP
// address or a prefix of addresses behind it.
func From(device string) (func(frame []byte) link.Way, error) {
	if mac, err := net.ParseMAC(device); err == nil && len(mac) == 6 {
		return func(frame []byte) link.Way { return upIf(len(frame) >= 12 && bytes.Equal(frame[6:12], mac)) }, nil
	}
	prefix, err := netip.ParsePrefix(device)
	if err != nil {
		addr, err := netip.ParseAddr(device)
		if err != nil {
			return nil, fmt.Errorf("device %q: want a MAC address, an IP address or a prefix", device)
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	return func(frame []byte) link.Way {
		source, ok := sourceOf(frame)
		return upIf(ok && prefix.Contains(source))
	}, nil
}

func upIf(up bool) link.Way {
	if up {
		return link.Up
	}
	return link.Down
}

// Ethernet types that sourceOf knows.
const (
	typeIPv4 = 0x0800
	typeARP  = 0x0806
	typeVLAN = 0x8100
	typeQinQ = 0x88A8
	typeIPv6 = 0x86DD
)

// sourceOf returns the network address that sent a frame: of IP, or of ARP;
// behind up to two VLAN tags.
func sourceOf(frame []byte) (netip.Addr, bool) {
	at := 12
	for range 3 {
		if len(frame) < at+2 {
			break
		}
		kind, body := binary.BigEndian.Uint16(frame[at:]), frame[at+2:]
		switch {
		case kind == typeVLAN || kind == typeQinQ:
			at += 4
			continue
		case kind == typeIPv4 && len(body) >= 20:
			return netip.AddrFrom4([4]byte(body[12:16])), true
		case kind == typeARP && len(body) >= 28:
			return netip.AddrFrom4([4]byte(body[14:18])), true
		case kind == typeIPv6 && len(body) >= 40:
			return netip.AddrFrom16([16]byte(body[8:24])), true
		}
		break
	}
	return netip.Addr{}, false
}
