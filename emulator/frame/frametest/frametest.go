// Package frametest makes Ethernet frames by hand for tests.
package frametest

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

// Of returns an Ethernet frame: destination, source, then the rest.
func Of(rest ...[]byte) []byte {
	return append([]byte{2, 0, 0, 0, 0, 0xB, 2, 0, 0, 0, 0, 0xA}, bytes.Join(rest, nil)...)
}

// IPv4 returns a packet with a right header checksum; fragment is the flags
// and offset field (RFC 791).
func IPv4(tos, protocol byte, fragment uint16, source, destination string, payload ...byte) []byte {
	p := make([]byte, 20, 20+len(payload))
	p[0], p[1], p[8], p[9] = 0x45, tos, 64, protocol
	binary.BigEndian.PutUint16(p[2:], uint16(20+len(payload)))
	binary.BigEndian.PutUint16(p[6:], fragment)
	a, b := netip.MustParseAddr(source).As4(), netip.MustParseAddr(destination).As4()
	copy(p[12:], a[:])
	copy(p[16:], b[:])
	binary.BigEndian.PutUint16(p[10:], ^Sum16(p))
	return append(p, payload...)
}

// IPv6 returns a packet (RFC 8200).
func IPv6(class, next byte, source, destination string, payload ...byte) []byte {
	p := make([]byte, 40, 40+len(payload))
	p[0], p[1], p[6], p[7] = 0x60|class>>4, class<<4, next, 64
	binary.BigEndian.PutUint16(p[4:], uint16(len(payload)))
	a, b := netip.MustParseAddr(source).As16(), netip.MustParseAddr(destination).As16()
	copy(p[8:], a[:])
	copy(p[24:], b[:])
	return append(p, payload...)
}

// Sum16 is the Internet checksum's sum (RFC 1071), not inverted.
func Sum16(p []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(p); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(p[i:]))
	}
	for sum > 0xFFFF {
		sum = sum&0xFFFF + sum>>16
	}
	return uint16(sum)
}

// Parts of frames between the addresses and the payload, and a UDP header.
var (
	Type4  = []byte{0x08, 0x00}
	Type6  = []byte{0x86, 0xDD}
	VLAN5  = []byte{0x81, 0x00, 0x60, 5}                       // priority 3
	QinQ7  = []byte{0x88, 0xA8, 0, 7}                          // IEEE 802.1ad
	PPPoE4 = []byte{0x88, 0x64, 0x11, 0, 0, 1, 0, 30, 0, 0x21} // RFC 2516, IPv4 inside
	Ports  = []byte{0x13, 0x88, 0x01, 0xBB, 0, 8, 0, 0}        // 5000 to 443
)
