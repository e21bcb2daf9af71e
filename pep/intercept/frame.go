package intercept

import "encoding/binary"

const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100
	etherQinQ = 0x88a8
)

// normalise makes a copied SYN fit to be sent: without Ethernet padding, and
// with a checksum of its own (the copy of a locally made segment may carry
// the pseudo header's sum only). It returns the frame, and whether it is IPv6.
// The programs hand over only frames that they have parsed.
func normalise(f []byte) (frame []byte, v6 bool) {
	at, proto := 14, binary.BigEndian.Uint16(f[12:])
	if proto == etherVLAN || proto == etherQinQ {
		at, proto = 18, binary.BigEndian.Uint16(f[16:])
	}
	ip := f[at:]
	var addresses, segment []byte
	if proto == etherIPv6 {
		end := min(len(ip), 40+int(binary.BigEndian.Uint16(ip[4:])))
		addresses, segment = ip[8:40], ip[40:end]
		f = f[:at+end]
	} else {
		header := int(ip[0]&15) * 4
		end := min(len(ip), int(binary.BigEndian.Uint16(ip[2:])))
		addresses, segment = ip[12:20], ip[header:end]
		f = f[:at+end]
	}
	binary.BigEndian.PutUint16(segment[16:], 0)
	binary.BigEndian.PutUint16(segment[16:], checksum(addresses, segment))
	return f, proto == etherIPv6
}

// checksum is TCP's over its pseudo header (RFC 9293 section 3.1, RFC 8200
// section 8.1).
func checksum(addresses, segment []byte) uint16 {
	const protocol = 6
	sum := uint32(protocol) + uint32(len(segment))
	for _, part := range [][]byte{addresses, segment} {
		for i := 0; i+1 < len(part); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(part[i:]))
		}
		if len(part)%2 == 1 {
			sum += uint32(part[len(part)-1]) << 8
		}
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
