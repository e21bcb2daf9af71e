// Package frame reads what an Ethernet frame says of itself, once and without
// trust, matches it against what a rule asks, and writes into it what a link
// did to it. Frames are whatever came off the wire: what is cut short is
// absent, nothing panics.
package frame

import (
	"encoding/binary"
	"net/netip"
)

// Header is what a frame says of itself.
type Header struct {
	source, destination MAC
	vlan                int16 // the outermost VLAN identifier, -1 without a tag
	version             uint8 // of IP: 4, 6, or 0
	network             int   // offset of the IP header, when there is one
	transport           int   // offset of the header behind it, when hasPorts
	traffic             uint8 // TOS or traffic class: DSCP and ECN
	protocol            uint8
	hasPorts            bool
	ports               [2]uint16 // source, destination
	addresses           [2]netip.Addr
}

// EtherTypes: IEEE 802.1Q, 802.1ad, RFC 894, RFC 2464, RFC 2516.
const (
	typeVLAN  = 0x8100
	typeQinQ  = 0x88A8
	typeQinQ2 = 0x9100 // before 802.1ad, still seen
	typeIPv4  = 0x0800
	typeIPv6  = 0x86DD
	typePPPoE = 0x8864
)

const ethernetHeader = 14

// Locate fills in what stands up to the IP header's traffic class, which every
// frame is asked. It returns false when there is no IP.
func (h *Header) Locate(frame []byte) bool {
	h.vlan, h.version, h.hasPorts = -1, 0, false
	if len(frame) < ethernetHeader {
		return false
	}
	kind := binary.BigEndian.Uint16(frame[12:])
	at := ethernetHeader
	for kind == typeVLAN || kind == typeQinQ || kind == typeQinQ2 {
		if len(frame) < at+4 {
			return false
		}
		if h.vlan < 0 {
			h.vlan = int16(binary.BigEndian.Uint16(frame[at:]) & 0xFFF)
		}
		kind = binary.BigEndian.Uint16(frame[at+2:])
		at += 4
	}
	if kind == typePPPoE && len(frame) >= at+8 {
		// PPPoE's 6 bytes, then PPP's protocol (RFC 2516, RFC 5072).
		switch binary.BigEndian.Uint16(frame[at+6:]) {
		case 0x0021:
			kind = typeIPv4
		case 0x0057:
			kind = typeIPv6
		}
		at += 8
	}
	h.network = at
	switch {
	case kind == typeIPv4 && len(frame) >= at+20 && frame[at]>>4 == 4:
		h.version, h.traffic = 4, frame[at+1]
	case kind == typeIPv6 && len(frame) >= at+40 && frame[at]>>4 == 6:
		h.version, h.traffic = 6, frame[at]<<4|frame[at+1]>>4
	}
	return h.version != 0
}

// Read fills in all fields: what rules ask.
func (h *Header) Read(frame []byte) {
	ip := h.Locate(frame)
	if len(frame) >= ethernetHeader {
		copy(h.destination[:], frame)
		copy(h.source[:], frame[6:])
	}
	if !ip {
		return
	}
	if h.version == 4 {
		h.readIPv4(frame[h.network:])
	} else {
		h.readIPv6(frame[h.network:])
	}
}

func (h *Header) readIPv4(p []byte) {
	h.protocol = p[9]
	h.addresses[0] = netip.AddrFrom4([4]byte(p[12:16]))
	h.addresses[1] = netip.AddrFrom4([4]byte(p[16:20]))
	if binary.BigEndian.Uint16(p[6:])&0x1FFF == 0 { // ports are in the first fragment only
		h.readPorts(p, int(p[0]&15)*4)
	}
}

// maxExtensions bounds the walk over IPv6 extension headers.
const maxExtensions = 8

func (h *Header) readIPv6(p []byte) {
	h.addresses[0] = netip.AddrFrom16([16]byte(p[8:24]))
	h.addresses[1] = netip.AddrFrom16([16]byte(p[24:40]))
	next, at := p[6], 40
	for range maxExtensions {
		h.protocol = next
		if len(p) < at+8 {
			return
		}
		switch next {
		case 0, 43, 60: // hop-by-hop, routing, destination options (RFC 8200)
			next, at = p[at], at+8+int(p[at+1])*8
		case 51: // authentication header, in words of 4 bytes (RFC 4302)
			next, at = p[at], at+8+int(p[at+1])*4
		case 44: // fragment
			if binary.BigEndian.Uint16(p[at+2:])&^7 != 0 {
				h.protocol = p[at]
				return
			}
			next, at = p[at], at+8
		default:
			h.readPorts(p, at)
			return
		}
	}
}

// readPorts reads the ports of TCP, UDP, DCCP, SCTP and UDP-Lite, which all
// stand first.
func (h *Header) readPorts(p []byte, at int) {
	switch h.protocol {
	case 6, 17, 33, 132, 136:
	default:
		return
	}
	if at < 20 || len(p) < at+4 {
		return
	}
	h.ports[0] = binary.BigEndian.Uint16(p[at:])
	h.ports[1] = binary.BigEndian.Uint16(p[at+2:])
	h.transport = h.network + at
	h.hasPorts = true
}

// Capable reports whether the frame declares ECN capability (RFC 3168), by no
// more of it than that takes.
func Capable(frame []byte) bool {
	// By far most are IP with no tag.
	if len(frame) >= ethernetHeader+40 {
		switch binary.BigEndian.Uint16(frame[12:]) {
		case typeIPv4:
			return frame[14]>>4 == 4 && frame[15]&3 != 0
		case typeIPv6:
			return frame[14]>>4 == 6 && frame[15]>>4&3 != 0
		}
	}
	var h Header
	return h.Locate(frame) && h.traffic&3 != 0
}

// MarkCE sets "congestion experienced" in the frame's IP header and mends
// IPv4's checksum (RFC 1624). A frame without IP, or not ECN-capable, stays
// as it is.
func MarkCE(frame []byte) {
	var h Header
	if !h.Locate(frame) || h.traffic&3 == 0 || h.traffic&3 == 3 {
		return
	}
	p := frame[h.network:]
	if h.version == 6 {
		p[1] |= 3 << 4
		return
	}
	before := binary.BigEndian.Uint16(p)
	p[1] |= 3
	after := binary.BigEndian.Uint16(p)
	// HC' = ~(~HC + ~m + m'), in one's complement.
	sum := uint32(^binary.BigEndian.Uint16(p[10:])) + uint32(^before) + uint32(after)
	sum = sum&0xFFFF + sum>>16
	sum = sum&0xFFFF + sum>>16
	binary.BigEndian.PutUint16(p[10:], ^uint16(sum))
}

// Corrupt flips one bit of what follows the Ethernet header, chosen by 64
// drawn bits; of a frame that is only a header, one bit of it.
func Corrupt(frame []byte, drawn uint64) {
	body := frame
	if len(frame) > ethernetHeader {
		body = frame[ethernetHeader:]
	}
	if len(body) == 0 {
		return
	}
	bit := drawn % uint64(len(body)*8)
	body[bit/8] ^= 0x80 >> (bit % 8)
}
