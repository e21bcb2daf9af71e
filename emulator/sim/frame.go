package sim

import (
	"encoding/binary"

	"farlink/emulator/link"
)

// Flow names a sender and what its frames look like, so that classifiers can
// tell flows apart. Frames go between 10.77.0.1 (the device, behind port A)
// and 10.77.0.2 (the network, behind port B), the addresses of a lab.
type Flow struct {
	Name        string
	TCP         bool // protocol 6; else UDP, 17
	DSCP        uint8
	DevicePort  uint16
	NetworkPort uint16
}

// Sizes of frames that can be sent: Ethernet's least without FCS, and what
// link.Packet can say.
const (
	LeastFrame = 60
	MostFrame  = 65535
)

// frames makes the frames of a flow; they differ only in size, so that one
// buffer a way serves all.
type frames struct {
	buf  [2][]byte
	size [2]int
}

func newFrames(f Flow) *frames {
	fr := &frames{}
	for _, w := range link.Ways {
		fr.buf[w] = header(f, w)
	}
	return fr
}

// header returns Ethernet, IPv4 and the ports of a frame on way w.
func header(f Flow, w link.Way) []byte {
	b := make([]byte, 54, 2048)
	device, network := [6]byte{2, 0, 0, 0, 0, 0xA}, [6]byte{2, 0, 0, 0, 0, 0xB}
	from, to, source, target := [4]byte{10, 77, 0, 1}, [4]byte{10, 77, 0, 2}, f.DevicePort, f.NetworkPort
	if w == link.Down {
		device, network, from, to, source, target = network, device, to, from, target, source
	}
	copy(b[0:], network[:])
	copy(b[6:], device[:])
	b[12], b[13] = 0x08, 0x00
	b[14], b[15] = 0x45, f.DSCP<<2
	b[20] = 0x40 // don't fragment
	b[22] = 64   // time to live
	b[23] = 17
	if f.TCP {
		b[23] = 6
		b[46] = 0x50 // header of five words
	}
	copy(b[26:], from[:])
	copy(b[30:], to[:])
	binary.BigEndian.PutUint16(b[34:], source)
	binary.BigEndian.PutUint16(b[36:], target)
	return b
}

// of returns the frame of that size for way w; it is valid until the next call.
func (fr *frames) of(w link.Way, size int) []byte {
	size = max(LeastFrame, min(size, MostFrame))
	b := fr.buf[w]
	for len(b) < size {
		b = append(b, 0)
	}
	fr.buf[w] = b
	if fr.size[w] != size {
		fr.size[w] = size
		lengths(b, size)
	}
	return b[:size]
}

// lengths writes what in the headers depends on the size.
func lengths(b []byte, size int) {
	binary.BigEndian.PutUint16(b[16:], uint16(size-14))
	if b[23] == 17 {
		binary.BigEndian.PutUint16(b[38:], uint16(size-34))
	}
	b[24], b[25] = 0, 0
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum&0xFFFF + sum>>16
	sum = sum&0xFFFF + sum>>16
	binary.BigEndian.PutUint16(b[24:], ^uint16(sum))
}
