package pcap

import (
	"encoding/binary"
	"fmt"
)

// ethernetHeader is destination, source, type.
const ethernetHeader = 14

// Ethernet returns the packet as an Ethernet frame of the length that it had
// on the wire, in frame, which is reused: what the capture cut off is zeros,
// and a header with zero addresses stands in for that of other link types.
// Frames of more than 65,535 bytes (a segmentation offload's) are cut there.
// kept is how many bytes at the beginning are not such zeros.
func Ethernet(frame []byte, linkType uint16, p Packet) (whole []byte, kept int, err error) {
	skip, ethertype := 0, uint16(0)
	switch linkType {
	case LinkEthernet:
		whole, kept = fill(frame[:0], p.Data, p.Length)
		return whole, kept, nil
	case LinkNull:
		skip = 4
	case LinkCooked:
		skip = 16
	case LinkCooked2:
		skip = 20
	case LinkRaw, LinkIPv4, LinkIPv6:
	default:
		return frame, 0, fmt.Errorf("link type %d: want Ethernet, IP or Linux cooked", linkType)
	}
	if len(p.Data) < skip+1 {
		return frame, 0, fmt.Errorf("packet of %d bytes is shorter than its header of link type %d", len(p.Data), linkType)
	}
	switch linkType {
	case LinkCooked:
		ethertype = binary.BigEndian.Uint16(p.Data[14:])
	case LinkCooked2:
		ethertype = binary.BigEndian.Uint16(p.Data)
	default:
		ethertype = ipType(p.Data[skip])
	}
	frame = append(frame[:0], make([]byte, ethernetHeader)...)
	binary.BigEndian.PutUint16(frame[12:], ethertype)
	whole, kept = fill(frame, p.Data[skip:], p.Length-skip)
	return whole, kept, nil
}

// ipType is the Ethernet type for the first byte of an IP packet.
func ipType(first byte) uint16 {
	if first>>4 == 6 {
		return 0x86DD
	}
	return 0x0800
}

// fill appends data and zeros up to length.
func fill(frame, data []byte, length int) (whole []byte, kept int) {
	length = min(len(frame)+max(length, len(data)), 65535)
	frame = append(frame, data...)
	kept = min(len(frame), length)
	for len(frame) < length {
		frame = append(frame, 0)
	}
	return frame[:length], kept
}
