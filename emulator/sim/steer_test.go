package sim

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/pcap"
)

// Frames: to 02..0b from 02..0a.
const (
	macs  = "02000000000b" + "02000000000a"
	ipv4  = macs + "0800" + "450000140000000040110000" + "0a4d0001" + "0a4d0002"
	arp   = macs + "0806" + "0001080006040001" + "02000000000a" + "0a4d0001" + "000000000000" + "0a4d0002"
	ipv6  = macs + "86dd" + "6000000000001140" + "fd770000000000000000000000000001" + "fd770000000000000000000000000002"
	other = macs + "88cc" + "0000"
)

func TestFrom(t *testing.T) {
	tagged := macs + "88a80001" + "81000002" + ipv4[24:]
	for _, c := range []struct {
		device, frame string
		want          link.Way
	}{
		{"02:00:00:00:00:0a", other, link.Up},
		{"02:00:00:00:00:0b", other, link.Down},
		{"02:00:00:00:00:0b", "0200", link.Down},
		{"10.77.0.1", ipv4, link.Up},
		{"10.77.0.2", ipv4, link.Down},
		{"10.77.0.0/31", ipv4, link.Up},
		{"10.77.0.1", arp, link.Up},
		{"10.77.0.1", tagged, link.Up},
		{"fd77::1", ipv6, link.Up},
		{"fd77::/64", ipv6, link.Up},
		{"fd77::1", ipv4, link.Down},
		{"10.77.0.1", other, link.Down},
		{"10.77.0.1", ipv4[:40], link.Down},
		{"10.77.0.1", macs, link.Down},
		{"10.77.0.1", macs + "8100000081000000810000008100", link.Down},
	} {
		steer, err := From(c.device)
		if err != nil {
			t.Fatal(err)
		}
		frame, err := hex.DecodeString(c.frame)
		if err != nil {
			t.Fatal(err)
		}
		if got := steer(frame); got != c.want {
			t.Errorf("%s: %s goes %s, want %s", c.device, c.frame, got, c.want)
		}
	}
	for _, device := range []string{"", "phone", "10.77.0", "10.77.0.1/33"} {
		if _, err := From(device); err == nil {
			t.Errorf("%q was taken for a device", device)
		}
	}
}

// TestReplayBoth: two frames up, at 0 and 20 ms, into a queue that takes none,
// and one down at 10 ms over 20 ms of path.
func TestReplayBoth(t *testing.T) {
	up, _ := hex.DecodeString(ipv4)
	down := bytes.Clone(up)
	copy(down[26:30], up[30:34])
	copy(down[30:34], up[26:30])
	var in, out bytes.Buffer
	w, err := pcap.NewWriter(&in, pcap.Header{}, pcap.Interface{LinkType: pcap.LinkEthernet})
	if err != nil {
		t.Fatal(err)
	}
	for i, frame := range [][]byte{up, down, up} {
		if err := w.Write(pcap.Packet{Time: 1_000_000e9 + int64(i)*10e6, Data: frame}); err != nil {
			t.Fatal(err)
		}
	}
	steer, err := From("10.77.0.1")
	if err != nil {
		t.Fatal(err)
	}
	e := newPair(way{delay: 20 * link.Millisecond}, way{rate: link.MegabitPerSecond})
	sum, err := Replay{Emulator: e, Steer: steer}.Run(&in, &out)
	if err != nil {
		t.Fatal(err)
	}
	want := "0.000 a in #0 34/34 drops 0: lost queue_full at up/queue\n" +
		"20.000 a in #2 34/34 drops 0: lost queue_full at up/queue\n" +
		"30.000 a out #1 34/34 drops 0: delivered +20.000 ms"
	if got := strings.Join(comments(t, out.Bytes()), "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
	if sum.Way != "both" || sum.In != 3 || sum.Up.In != 2 || sum.Down.Delivered != 1 || sum.Lost != 2 ||
		len(sum.Losses) != 1 || sum.Losses[0].Stage != "up/queue" {
		t.Errorf("%+v", sum)
	}
}
