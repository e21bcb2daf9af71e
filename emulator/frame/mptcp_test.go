package frame

import (
	"bytes"
	"encoding/binary"
	"testing"

	"farlink/emulator/frame/frametest"
	"farlink/emulator/link"
)

// Options of TCP: as Linux writes them on a SYN, and the three that matter of
// MPTCP.
var (
	mss      = []byte{2, 4, 5, 180}
	sackOK   = []byte{4, 2}
	stamps   = []byte{8, 10, 1, 2, 3, 4, 5, 6, 7, 8}
	capable  = []byte{30, 12, 0x01, 0x81, 9, 8, 7, 6, 5, 4, 3, 2} // MP_CAPABLE, version 1
	join     = []byte{30, 12, 0x10, 1, 1, 2, 3, 4, 5, 6, 7, 8}    // MP_JOIN
	dss      = []byte{30, 8, 0x20, 0x01, 0, 0, 0, 1}              // DSS, an acknowledgement
	nop, end = []byte{1}, []byte{0}
)

// segment is a TCP segment with its checksum, over IPv4 or IPv6.
func segment(v6 bool, flags byte, options []byte, payload string) []byte {
	for len(options)%4 != 0 {
		options = append(options, 1)
	}
	p := make([]byte, 20, 20+len(options)+len(payload))
	binary.BigEndian.PutUint16(p, 5000)
	binary.BigEndian.PutUint16(p[2:], 443)
	p[12], p[13] = byte(20+len(options))/4<<4, flags
	p = append(append(p, options...), payload...)
	const a4, b4, a6, b6 = "10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"
	if v6 {
		binary.BigEndian.PutUint16(p[16:], ^tcpSum(frametest.IPv6(0, 6, a6, b6, p...), 40))
		return frametest.Of(frametest.Type6, frametest.IPv6(0, 6, a6, b6, p...))
	}
	binary.BigEndian.PutUint16(p[16:], ^tcpSum(frametest.IPv4(0, 6, 0, a4, b4, p...), 20))
	return frametest.Of(frametest.Type4, frametest.IPv4(0, 6, 0, a4, b4, p...))
}

// tcpSum is the sum over pseudo header and segment of a packet whose IP
// header has a size, with whatever stands in the checksum: 0xFFFF when that
// is right (RFC 9293, 3.1).
func tcpSum(packet []byte, header int) uint16 {
	addresses, body := packet[12:20], packet[header:]
	if header == 40 {
		addresses = packet[8:40]
	}
	pseudo := append(bytes.Clone(addresses), 0, 6, byte(len(body)>>8), byte(len(body)))
	body = bytes.Clone(body)
	if len(body)%2 == 1 {
		body = append(body, 0)
	}
	return frametest.Sum16(append(pseudo, body...))
}

func join2(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// TestMultipath: what a segment carries is seen, and stripped with a right
// checksum, whatever stands around it; all else stays as it is.
func TestMultipath(t *testing.T) {
	const syn, ack = 0x02, 0x10
	for _, c := range []struct {
		name    string
		flags   byte
		options []byte
		mark    link.Mark
	}{
		{"plain SYN", syn, join2(mss, sackOK, stamps), 0},
		{"MP_CAPABLE", syn, join2(mss, sackOK, stamps, capable), link.MPTCPCapable},
		{"MP_CAPABLE, answered", syn | ack, join2(capable, mss), link.MPTCPCapable},
		{"MP_CAPABLE at an odd place", syn, join2(nop, capable, sackOK, nop), link.MPTCPCapable},
		{"MP_JOIN", syn, join2(mss, join), link.MPTCPOpening},
		{"DSS", ack, join2(nop, nop, stamps, dss), link.MPTCP},
		{"two options", ack, join2(dss, nop, dss[:4:4], nop), link.MPTCP},
		{"behind the end", ack, join2(end, dss), 0},
		{"a length of 1", ack, []byte{30, 1, 0, 0}, 0},
		{"a length beyond", ack, []byte{30, 9, 0, 0}, 0},
		{"no options", ack, nil, 0},
	} {
		for _, v6 := range []bool{false, true} {
			f := segment(v6, c.flags, bytes.Clone(c.options), "payload")
			header := 20
			if v6 {
				header = 40
			}
			var h Header
			h.Read(f)
			if got := h.Multipath(f); got != c.mark {
				t.Errorf("%s: mark %#x, want %#x", c.name, got, c.mark)
			}
			before := bytes.Clone(f)
			StripMPTCP(f)
			if len(f) != len(before) || bytes.Equal(f, before) != (c.mark == 0) {
				t.Errorf("%s, IPv6 %v: changed %v", c.name, v6, !bytes.Equal(f, before))
			}
			if got := tcpSum(f[14:], header); got != 0xFFFF {
				t.Errorf("%s, IPv6 %v: the sum of all is %#x", c.name, v6, got)
			}
			if h.Read(f); h.Multipath(f) != 0 || !bytes.HasSuffix(f, []byte("payload")) {
				t.Errorf("%s, IPv6 %v: % x", c.name, v6, f)
			}
		}
	}
	f := segment(false, syn, join2(mss, capable), "")
	var h Header
	if n := testing.AllocsPerRun(100, func() { h.Read(f); h.Multipath(f); StripMPTCP(f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzStrip: whatever comes, nothing panics, nothing changes its length, and
// afterwards no option of MPTCP is left.
func FuzzStrip(f *testing.F) {
	f.Add(segment(false, 2, join2(mss, capable), ""))
	f.Add(segment(true, 16, join2(nop, dss), "x"))
	f.Add([]byte{30, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		StripMPTCP(b)
		var h Header
		h.Read(b)
		if h.Multipath(b) != 0 {
			t.Errorf("an option is left in % x", b)
		}
	})
}
