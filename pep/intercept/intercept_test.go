package intercept

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"slices"
	"testing"
)

// TestTuple: a connection has one key, whichever end is called the client, and
// the ends can be read back from it.
func TestTuple(t *testing.T) {
	for _, c := range [][2]string{
		{"10.0.0.1:40000", "10.0.0.2:80"}, {"10.0.0.2:80", "10.0.0.1:80"}, {"10.0.0.1:1", "10.0.0.1:2"},
		{"[fd00::1]:40000", "[fd00::2]:443"}, {"[fd00::1:0:0:1]:7", "[fd00::1]:7"},
	} {
		e := Ends{Client: netip.MustParseAddrPort(c[0]), Server: netip.MustParseAddrPort(c[1])}
		key, clientIsA := makeTuple(e)
		other, otherIsA := makeTuple(Ends{Client: e.Server, Server: e.Client})
		if key != other || clientIsA == otherIsA {
			t.Errorf("%v: %+v, the other way %+v", c, key, other)
		}
		a, b := ends(&key, e.Client.Addr().Is6())
		if !clientIsA {
			a, b = b, a
		}
		if a != e.Client || b != e.Server {
			t.Errorf("%v read back as %v and %v", c, a, b)
		}
	}
}

// syn is a SYN with an option of four bytes, checksum 0xdead.
func syn(v6 bool, tags ...uint16) []byte {
	f := make([]byte, 12)
	for _, tag := range tags {
		f = binary.BigEndian.AppendUint16(f, tag)
		f = append(f, 0, 7)
	}
	segment := []byte{0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 6 << 4, 2, 0xfa, 0xf0, 0xde, 0xad, 0, 0, 2, 4, 5, 0xb4}
	if v6 {
		f = append(f, 0x86, 0xdd, 0x60, 0, 0, 0, 0, byte(len(segment)), 6, 64)
		f = append(f, netip.MustParseAddr("fd00::1").AsSlice()...)
		f = append(f, netip.MustParseAddr("fd00::2").AsSlice()...)
	} else {
		f = append(f, 8, 0, 0x45, 0, 0, byte(20+len(segment)), 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2)
	}
	return append(f, segment...)
}

// TestNormalise: padding goes, the checksum is right, all else stays. By hand
// for IPv4: the words of the segment without its checksum,
// 9c40+0050+0001+6002+faf0+0204+05b4, are 1ff3b, folded ff3c; with the addresses
// 0a00+0001+0a00+0002, protocol 6 and length 18 (hexadecimal) they are 1135d, folded
// 135e, of which the complement is eca1.
func TestNormalise(t *testing.T) {
	for _, c := range []struct {
		v6   bool
		tags []uint16
	}{{false, nil}, {false, []uint16{0x8100}}, {true, []uint16{0x88a8}}, {true, nil}} {
		want := syn(c.v6, c.tags...)
		got, v6 := normalise(append(slices.Clone(want), 0, 0, 0, 0, 0, 0))
		at := len(want) - 8
		sum := binary.BigEndian.Uint16(got[at:])
		if !c.v6 && sum != 0xeca1 {
			t.Errorf("checksum %#x, want 0xeca1", sum)
		}
		addresses := want[len(want)-24-8 : len(want)-24]
		if c.v6 {
			addresses = want[len(want)-24-32 : len(want)-24]
		}
		if rest := checksum(addresses, got[len(got)-24:]); rest != 0 {
			t.Errorf("tags %x, IPv6 %v: the checksum leaves %#x", c.tags, c.v6, rest)
		}
		copy(want[at:], got[at:at+2])
		if v6 != c.v6 || !bytes.Equal(got, want) {
			t.Errorf("tags %x: IPv6 %v, want %v; % x, want % x", c.tags, v6, c.v6, got, want)
		}
	}
}

// TestRule: prefixes as words in network order, all problems of a rule, and
// actions by name.
func TestRule(t *testing.T) {
	yes, ef, far := true, uint8(46), uint8(64)
	r := Rule{Source: netip.MustParsePrefix("10.77.3.9/20"), Ports: [2]uint16{80, 81}, DSCP: &ef, MPTCP: &yes, ClientMAC: "02:00:00:00:00:09", Handshake: Early}
	e := r.encode()
	lie := func(w uint32) (b [4]byte) { binary.NativeEndian.PutUint32(b[:], w); return b }
	if lie(e.Source[0]) != [4]byte{10, 77, 0, 0} || lie(e.SourceMask[0]) != [4]byte{255, 255, 240, 0} || e.SourceMask[1] != 0 || e.TargetMask[0] != 0 {
		t.Errorf("source %v, mask %v; target's mask %v", lie(e.Source[0]), lie(e.SourceMask[0]), e.TargetMask)
	}
	if e.Family != 4 || e.FirstPort != 80 || e.LastPort != 81 || e.Dscp != 46 || e.ByDscp != 1 || e.Mptcp != 1 || e.ByMac != 1 || e.Mac[5] != 9 || e.Action != uint8(Early) {
		t.Errorf("%+v", e)
	}
	v6 := Rule{Target: netip.MustParsePrefix("fd77:1::/33")}.encode()
	if v6.Family != 6 || lie(v6.TargetMask[0]) != [4]byte{255, 255, 255, 255} || lie(v6.TargetMask[1]) != [4]byte{128} {
		t.Errorf("%+v", v6)
	}
	var bad []string
	Rule{Ports: [2]uint16{5, 1}, ClientMAC: "02:00", DSCP: &far, Source: netip.MustParsePrefix("10.0.0.0/8"), Target: netip.MustParsePrefix("fd00::/8")}.
		Check(func(path, _, _ string) { bad = append(bad, path) })
	if !slices.Equal(bad, []string{"ports", "client_mac", "dscp", "target"}) {
		t.Errorf("problems of %v", bad)
	}
	var back Action
	if text, err := json.Marshal(Deferred); err != nil || json.Unmarshal(text, &back) != nil || back != Deferred || json.Unmarshal([]byte(`"late"`), &back) == nil {
		t.Errorf("%s read back as %v", text, back)
	}
}
