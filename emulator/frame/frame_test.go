package frame

import (
	"bytes"
	"testing"

	"farlink/emulator/frame/frametest"
)

func TestHeader(t *testing.T) {
	udp4 := frametest.IPv4(46<<2, 17, 0, "10.0.0.1", "10.0.0.2", frametest.Ports...)
	udp6 := frametest.IPv6(46<<2, 17, "fd00::1", "fd00::2", frametest.Ports...)
	options := append([]byte{17, 0, 1, 4, 0, 0, 0, 0}, frametest.Ports...)
	later := append([]byte{17, 0, 0, 8, 0, 0, 0, 1}, frametest.Ports...) // fragment at offset 8
	first := append([]byte{17, 0, 0, 1, 0, 0, 0, 1}, frametest.Ports...) // the first of several
	for _, c := range []struct {
		name     string
		frame    []byte
		vlan     int16
		version  uint8
		protocol uint8
		ports    bool
	}{
		{"IPv4", frametest.Of(frametest.Type4, udp4), -1, 4, 17, true},
		{"IPv6", frametest.Of(frametest.Type6, udp6), -1, 6, 17, true},
		{"VLAN", frametest.Of(frametest.VLAN5, frametest.Type4, udp4), 5, 4, 17, true},
		{"QinQ", frametest.Of(frametest.QinQ7, frametest.VLAN5, frametest.Type6, udp6), 7, 6, 17, true},
		{"PPPoE", frametest.Of(frametest.PPPoE4, udp4), -1, 4, 17, true},
		{"IPv4 later fragment", frametest.Of(frametest.Type4, frametest.IPv4(0, 17, 3, "10.0.0.1", "10.0.0.2", frametest.Ports...)), -1, 4, 17, false},
		{"IPv6 options", frametest.Of(frametest.Type6, frametest.IPv6(0, 60, "fd00::1", "fd00::2", options...)), -1, 6, 17, true},
		{"IPv6 first fragment", frametest.Of(frametest.Type6, frametest.IPv6(0, 44, "fd00::1", "fd00::2", first...)), -1, 6, 17, true},
		{"IPv6 later fragment", frametest.Of(frametest.Type6, frametest.IPv6(0, 44, "fd00::1", "fd00::2", later...)), -1, 6, 17, false},
		{"ICMP", frametest.Of(frametest.Type4, frametest.IPv4(0, 1, 0, "10.0.0.1", "10.0.0.2", frametest.Ports...)), -1, 4, 1, false},
		{"ARP", frametest.Of([]byte{8, 6}, make([]byte, 46)), -1, 0, 0, false},
		{"IPv4 type, version 6", frametest.Of(frametest.Type4, udp6), -1, 0, 0, false},
		{"ends in the tag", frametest.Of(frametest.VLAN5[:3]), -1, 0, 0, false},
		{"ends in the IP header", frametest.Of(frametest.Type4, udp4[:19]), -1, 0, 0, false},
		{"ends before the ports", frametest.Of(frametest.Type4, udp4[:23]), -1, 4, 17, false},
		{"shorter than its own header says", frametest.Of(frametest.Type4, append([]byte{0x4F}, udp4[1:]...)), -1, 4, 17, false},
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

// Whether a frame is ECN-capable is the same whether it is read in short or
// in whole.
func TestCapable(t *testing.T) {
	for _, c := range []struct {
		name  string
		frame []byte
		want  bool
	}{
		{"IPv4, ECT(0)", frametest.Of(frametest.Type4, frametest.IPv4(0x02, 17, 0, "10.0.0.1", "10.0.0.2", make([]byte, 20)...)), true},
		{"IPv4, ECT(1), short", frametest.Of(frametest.Type4, frametest.IPv4(0x01, 17, 0, "10.0.0.1", "10.0.0.2")), true},
		{"IPv4, DSCP alone", frametest.Of(frametest.Type4, frametest.IPv4(0xFC, 17, 0, "10.0.0.1", "10.0.0.2", make([]byte, 20)...)), false},
		{"IPv6, CE", frametest.Of(frametest.Type6, frametest.IPv6(0x03, 17, "fd00::1", "fd00::2")), true},
		{"IPv6, DSCP alone", frametest.Of(frametest.Type6, frametest.IPv6(0xFC, 17, "fd00::1", "fd00::2")), false},
		{"VLAN, IPv6, ECT(0)", frametest.Of(frametest.VLAN5, frametest.Type6, frametest.IPv6(0x02, 17, "fd00::1", "fd00::2")), true},
		{"IPv4 type, version 6", frametest.Of(frametest.Type4, frametest.IPv6(0x33, 17, "fd00::1", "fd00::2")), false},
		{"IPv6 type, version 4", frametest.Of(frametest.Type6, frametest.IPv4(0x33, 17, 0, "10.0.0.1", "10.0.0.2", make([]byte, 20)...)), false},
		{"IPv4, cut short", frametest.Of(frametest.Type4, frametest.IPv4(0x02, 17, 0, "10.0.0.1", "10.0.0.2")[:19]), false},
		{"ARP", frametest.Of([]byte{8, 6}, bytes.Repeat([]byte{0x4F}, 60)), false},
		{"nothing", nil, false},
	} {
		if got := Capable(c.frame); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMarkCE(t *testing.T) {
	v4 := frametest.Of(frametest.VLAN5, frametest.Type4, frametest.IPv4(0x02, 6, 0, "10.1.2.3", "10.4.5.6", 1, 2, 3, 4))
	v6 := frametest.Of(frametest.Type6, frametest.IPv6(0xB9, 6, "fd00::1", "fd00::2"))
	none := frametest.Of(frametest.Type4, frametest.IPv4(0, 6, 0, "10.1.2.3", "10.4.5.6"))
	was := bytes.Clone(none)
	for _, f := range [][]byte{v4, v6, none} {
		MarkCE(f)
	}
	if v4[19] != 3 || frametest.Sum16(v4[18:38]) != 0xFFFF {
		t.Errorf("IPv4: TOS %#x, checksum sums to %#x", v4[19], frametest.Sum16(v4[18:38]))
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
		was := frametest.Of(frametest.Type4, make([]byte, 4))
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
	f.Add(frametest.Of(frametest.QinQ7, frametest.VLAN5, frametest.Type6, frametest.IPv6(1, 44, "fd00::1", "fd00::2", frametest.Ports...)), uint64(9))
	f.Add(frametest.Of(frametest.PPPoE4, frametest.IPv4(1, 6, 0, "10.0.0.1", "10.0.0.2")), uint64(9))
	f.Fuzz(func(t *testing.T, frame []byte, n uint64) {
		var h Header
		h.Read(frame)
		MarkCE(frame)
		Corrupt(frame, n)
	})
}
