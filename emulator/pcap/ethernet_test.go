package pcap

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestEthernet(t *testing.T) {
	zero := strings.Repeat("00", 12)
	for _, c := range []struct {
		name     string
		linkType uint16
		data     string
		length   int
		want     string
	}{
		{"ethernet", LinkEthernet, "0102", 4, "01020000"},
		{"raw v4", LinkRaw, "45aa", 3, zero + "0800" + "45aa00"},
		{"raw v6", LinkRaw, "60aa", 2, zero + "86dd" + "60aa"},
		{"ipv6", LinkIPv6, "60", 1, zero + "86dd" + "60"},
		{"loopback", LinkNull, "0200000045", 5, zero + "0800" + "45"},
		{"cooked", LinkCooked, strings.Repeat("00", 14) + "8100" + "7b", 18, zero + "8100" + "7b00"},
		{"cooked 2", LinkCooked2, "86dd" + strings.Repeat("00", 18) + "61", 21, zero + "86dd" + "61"},
	} {
		data, _ := hex.DecodeString(c.data)
		got, kept, err := Ethernet([]byte("old bytes that must not shine through"), c.linkType, Packet{Data: data, Length: c.length})
		if err != nil || hex.EncodeToString(got) != c.want {
			t.Errorf("%s: %x, %v, want %s", c.name, got, err, c.want)
		}
		if zeros := max(0, c.length-len(data)); kept != len(got)-zeros {
			t.Errorf("%s: %d bytes kept of %d, want %d less", c.name, kept, len(got), zeros)
		}
	}
}

func TestEthernetFaults(t *testing.T) {
	if _, _, err := Ethernet(nil, 105, Packet{Data: []byte{1}}); err == nil || !strings.Contains(err.Error(), "link type 105") {
		t.Errorf("802.11: %v", err)
	}
	if _, _, err := Ethernet(nil, LinkCooked, Packet{Data: make([]byte, 16)}); err == nil {
		t.Error("a cooked packet without payload was taken")
	}
	// A segmentation offload's 70,000 bytes are cut to what a frame can be.
	got, kept, err := Ethernet(nil, LinkEthernet, Packet{Data: make([]byte, 70000), Length: 70000})
	if err != nil || len(got) != 65535 || kept != 65535 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
