package frame

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
)

// frameOf builds an Ethernet frame: destination, source, then words of the
// rest.
func frameOf(rest ...[]byte) []byte {
	f := append([]byte{2, 0, 0, 0, 0, 0xB, 2, 0, 0, 0, 0, 0xA}, bytes.Join(rest, nil)...)
	return f
}

func ipv4(tos, protocol byte, fragment uint16, source, destination string, payload ...byte) []byte {
	p := make([]byte, 20, 20+len(payload))
	p[0], p[1], p[8], p[9] = 0x45, tos, 64, protocol
	binary.BigEndian.PutUint16(p[2:], uint16(20+len(payload)))
	binary.BigEndian.PutUint16(p[6:], fragment)
	a, b := netip.MustParseAddr(source).As4(), netip.MustParseAddr(destination).As4()
	copy(p[12:], a[:])
	copy(p[16:], b[:])
	binary.BigEndian.PutUint16(p[10:], ^sum16(p))
	return append(p, payload...)
}

func ipv6(class, next byte, source, destination string, payload ...byte) []byte {
	p := make([]byte, 40, 40+len(payload))
	p[0], p[1], p[6], p[7] = 0x60|class>>4, class<<4, next, 64
	binary.BigEndian.PutUint16(p[4:], uint16(len(payload)))
	a, b := netip.MustParseAddr(source).As16(), netip.MustParseAddr(destination).As16()
	copy(p[8:], a[:])
	copy(p[24:], b[:])
	return append(p, payload...)
}

// sum16 is the Internet checksum's sum (RFC 1071), not inverted.
func sum16(p []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(p); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(p[i:]))
	}
	for sum > 0xFFFF {
		sum = sum&0xFFFF + sum>>16
	}
	return uint16(sum)
}

var (
	typ4   = []byte{0x08, 0x00}
	typ6   = []byte{0x86, 0xDD}
	vlan5  = []byte{0x81, 0x00, 0x60, 5}
	qinq7  = []byte{0x88, 0xA8, 0, 7}
	pppoe4 = []byte{0x88, 0x64, 0x11, 0, 0, 1, 0, 30, 0, 0x21}
	ports  = []byte{0x13, 0x88, 0x01, 0xBB, 0, 8, 0, 0} // 5000 to 443
)

func TestHeader(t *testing.T) {
	udp4 := ipv4(46<<2, 17, 0, "10.0.0.1", "10.0.0.2", ports...)
	udp6 := ipv6(46<<2, 17, "fd00::1", "fd00::2", ports...)
	options := append([]byte{17, 0, 1, 4, 0, 0, 0, 0}, ports...)
	later := append([]byte{17, 0, 0, 8, 0, 0, 0, 1}, ports...) // fragment at offset 8
	first := append([]byte{17, 0, 0, 1, 0, 0, 0, 1}, ports...) // the first of several
	for _, c := range []struct {
		name     string
		frame    []byte
		vlan     int16
		version  uint8
		protocol uint8
		ports    bool
	}{
		{"IPv4", frameOf(typ4, udp4), -1, 4, 17, true},
		{"IPv6", frameOf(typ6, udp6), -1, 6, 17, true},
		{"VLAN", frameOf(vlan5, typ4, udp4), 5, 4, 17, true},
		{"QinQ", frameOf(qinq7, vlan5, typ6, udp6), 7, 6, 17, true},
		{"PPPoE", frameOf(pppoe4, udp4), -1, 4, 17, true},
		{"IPv4 later fragment", frameOf(typ4, ipv4(0, 17, 3, "10.0.0.1", "10.0.0.2", ports...)), -1, 4, 17, false},
		{"IPv6 options", frameOf(typ6, ipv6(0, 60, "fd00::1", "fd00::2", options...)), -1, 6, 17, true},
		{"IPv6 first fragment", frameOf(typ6, ipv6(0, 44, "fd00::1", "fd00::2", first...)), -1, 6, 17, true},
		{"IPv6 later fragment", frameOf(typ6, ipv6(0, 44, "fd00::1", "fd00::2", later...)), -1, 6, 17, false},
		{"ICMP", frameOf(typ4, ipv4(0, 1, 0, "10.0.0.1", "10.0.0.2", ports...)), -1, 4, 1, false},
		{"ARP", frameOf([]byte{8, 6}, make([]byte, 46)), -1, 0, 0, false},
		{"IPv4 type, version 6", frameOf(typ4, udp6), -1, 0, 0, false},
		{"ends in the tag", frameOf(vlan5[:3]), -1, 0, 0, false},
		{"ends in the IP header", frameOf(typ4, udp4[:19]), -1, 0, 0, false},
		{"ends before the ports", frameOf(typ4, udp4[:23]), -1, 4, 17, false},
		{"shorter than its own header says", frameOf(typ4, append([]byte{0x4F}, udp4[1:]...)), -1, 4, 17, false},
		{"nothing", nil, -1, 0, 0, false},
	} {
		var h Header
		h.Read(c.frame)
		if h.vlan != c.vlan || h.version != c.version || h.protocol != c.protocol || h.hasPorts != c.ports {
			t.Errorf("%s: read as vlan %d, IPv%d, protocol %d, ports %v", c.name, h.vlan, h.version, h.protocol, h.hasPorts)
		}
		if h.hasPorts && h.ports != [2]uint16{5000, 443} {
			t.Errorf("%s: ports %v", c.name, h.ports)
		}
	}
}

func TestMarkCE(t *testing.T) {
	v4 := frameOf(vlan5, typ4, ipv4(0x02, 6, 0, "10.1.2.3", "10.4.5.6", 1, 2, 3, 4))
	v6 := frameOf(typ6, ipv6(0xB9, 6, "fd00::1", "fd00::2"))
	none := frameOf(typ4, ipv4(0, 6, 0, "10.1.2.3", "10.4.5.6"))
	was := bytes.Clone(none)
	for _, f := range [][]byte{v4, v6, none} {
		MarkCE(f)
	}
	if v4[19] != 3 || sum16(v4[18:38]) != 0xFFFF {
		t.Errorf("IPv4: TOS %#x, checksum sums to %#x", v4[19], sum16(v4[18:38]))
	}
	if got := v6[14]<<4 | v6[15]>>4; got != 0xBB {
		t.Errorf("IPv6: traffic class %#x, want 0xbb", got)
	}
	if !bytes.Equal(none, was) {
		t.Error("a frame that is not ECN-capable was marked")
	}
}

// A corrupted frame differs in exactly one bit, behind the Ethernet header.
func TestCorrupt(t *testing.T) {
	hit := map[int]bool{}
	for n := range uint64(2000) {
		was := frameOf(typ4, make([]byte, 4))
		f := bytes.Clone(was)
		Corrupt(f, n*0x9E3779B97F4A7C15)
		bits := 0
		for i := range f {
			for d := f[i] ^ was[i]; d != 0; d &= d - 1 {
				bits++
				hit[i] = true
			}
		}
		if bits != 1 {
			t.Fatalf("draw %d flips %d bits", n, bits)
		}
	}
	if len(hit) != 4 || !hit[14] || !hit[17] {
		t.Errorf("bytes hit: %v, want 14 to 17", hit)
	}
	Corrupt(nil, 1) // nothing to hurt
}

func FuzzHeader(f *testing.F) {
	f.Add(frameOf(qinq7, vlan5, typ6, ipv6(1, 44, "fd00::1", "fd00::2", ports...)), uint64(9))
	f.Add(frameOf(pppoe4, ipv4(1, 6, 0, "10.0.0.1", "10.0.0.2")), uint64(9))
	f.Fuzz(func(t *testing.T, frame []byte, n uint64) {
		var h Header
		h.Read(frame)
		MarkCE(frame)
		Corrupt(frame, n)
	})
}
