package traffic

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/need"
	"farlink/emulator/netlab"
)

// wire makes two hosts with a bridge between them, and nothing else.
func wire(t *testing.T) Hosts {
	t.Helper()
	need.Root(t)
	l, err := netlab.New(fmt.Sprintf("f%x", rand.Uint32()), netlab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.Bridge(); err != nil {
		t.Fatal(err)
	}
	return Hosts{A: Host{Address: l.A.IP.String(), Netns: l.A.Netns}, B: Host{Address: l.B.IP.String(), Netns: l.B.Netns}}
}

// each figure that a kind of traffic must give on a plain wire, and between
// which values.
var onAWire = []struct {
	load Load
	want map[string][2]float64
}{
	{Load{Kind: "tcp", Duration: link.Second, Skip: 200 * link.Millisecond, Streams: 2, Congestion: "reno"},
		map[string][2]float64{"goodput_bps": {1e7, 1e12}, "rtt_mean_ms": {0, 200}, "cwnd_max_packets": {2, 1e6}, "connect_ms": {0, 200}}},
	{Load{Kind: "tcp", Way: "up", Duration: 5 * link.Second, Bytes: 1e6},
		map[string][2]float64{"completion_s": {0.0001, 4}, "received_bytes": {1e6, 1e6}}},
	{Load{Kind: "udp", Way: "up", Duration: link.Second, Rate: 1e6, Size: 500}, // 250 datagrams a second
		map[string][2]float64{"sent_packets": {249, 251}, "lost_percent": {0, 0}, "goodput_bps": {0.9e6, 1.1e6}, "delay_p50_ms": {0, 50}, "duplicated_packets": {0, 0}}},
	{Load{Kind: "ping", Duration: link.Second, Every: 100 * link.Millisecond},
		map[string][2]float64{"sent_packets": {10, 10}, "lost_percent": {0, 0}, "rtt_min_ms": {0, 50}}},
	{Load{Kind: "page", Duration: link.Second, Objects: 5},
		map[string][2]float64{"pages": {1, 1e5}, "load_mean_ms": {0.01, 1000}, "object_p95_ms": {0.01, 1000}}},
	{Load{Kind: "command", Command: []string{"ping", "-c", "2", "-i", "0.2", "{b}"}, Pick: map[string]string{"back_packets": `(\d+) received`}},
		map[string][2]float64{"exit_status": {0, 0}, "back_packets": {2, 2}}},
	{Load{Kind: "command", On: "b", Serve: []string{"sh", "-c", "exec sleep 60"}, Command: []string{"sh", "-c", "echo {a} {duration}; echo 3 ms; echo 4.5 ms"}, Pick: map[string]string{"last_ms": `([\d.]+) ms`}},
		map[string][2]float64{"last_ms": {4.5, 4.5}}},
}

func TestTraffic(t *testing.T) {
	t.Parallel()
	h := wire(t)
	for _, c := range onAWire {
		r, err := Run(t.Context(), h, c.load)
		if err != nil {
			t.Errorf("%s: %v; %s", c.load.Kind, err, r.Output)
		}
		for name, w := range c.want {
			if got, ok := r.Figures[name]; !ok || got < w[0] || got > w[1] {
				t.Errorf("%s %s: %s is %v, want %v to %v", c.load.Kind, c.load.Way, name, got, w[0], w[1])
			}
		}
	}
}

// TestSixth: the same over IPv6.
func TestSixth(t *testing.T) {
	t.Parallel()
	h := wire(t)
	h.A.Address, h.B.Address = "fd77::1", "fd77::2"
	time.Sleep(100 * time.Millisecond)
	for _, l := range []Load{{Kind: "tcp", Duration: link.Second}, {Kind: "ping", Duration: link.Second}, {Kind: "udp", Rate: 1e6, Duration: link.Second}} {
		if r, err := Run(t.Context(), h, l); err != nil {
			t.Errorf("%s: %v %v", l.Kind, err, r.Figures)
		}
	}
}

// TestNothingComes: what does not arrive is an error, with what was measured.
func TestNothingComes(t *testing.T) {
	t.Parallel()
	h := wire(t)
	h.B.Address = "10.77.0.9" // nobody; b cannot bind it either
	for _, c := range []struct {
		load Load
		want string
	}{
		{Load{Kind: "ping", Duration: 200 * link.Millisecond}, "echoes came back"},
		{Load{Kind: "tcp", Duration: 200 * link.Millisecond}, "listen at b"},
		{Load{Kind: "tcp", Congestion: "no-such", Duration: link.Second}, "congestion control no-such"},
		{Load{Kind: "command", Command: []string{"sh", "-c", "echo oh; exit 3"}}, "exit status 3: oh"},
		{Load{Kind: "command", Command: []string{"echo", "x"}, Pick: map[string]string{"n": `(\d+)`}}, "nothing printed matches"},
		{Load{Kind: "command", Command: []string{"/no/such"}}, "no such file"},
	} {
		_, err := Run(t.Context(), h, c.load)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.load.Kind, err, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		load Load
		want string // paths of the problems
	}{
		{Load{Kind: "tcp"}, ""}, {Load{Kind: "udp", Rate: 1e6}, ""}, {Load{Kind: "ping"}, ""}, {Load{Kind: "page"}, ""},
		{Load{Kind: "command", Command: []string{"true"}}, ""},
		{Load{Kind: "ftp"}, "kind"},
		{Load{Kind: "tcp", Name: "Bulk!", Way: "left", Streams: 65, Skip: 10 * link.Second}, "name way skip streams"},
		{Load{Kind: "udp"}, "rate"},
		{Load{Kind: "udp", Rate: 1e6, Size: 4}, "size"},
		{Load{Kind: "ping", Every: 1}, "every"},
		{Load{Kind: "command", Pick: map[string]string{"A": "x", "b": "("}}, "command pick.A pick.A pick.b"},
	} {
		var got []string
		c.load.WithDefaults().Check(func(path, _, _ string) { got = append(got, path) })
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v, want %s", c.load, got, c.want)
		}
	}
}

// TestSums by hand: the values 1, 2, 3, 10 have the mean 4, the median by
// rank 3 and the greatest 10.
func TestSums(t *testing.T) {
	of := []float64{10, 1, 3, 2}
	if mean(of) != 4 || quantile(of, 0.5) != 3 || quantile(of, 1) != 10 || quantile(of, 0) != 1 {
		t.Error(mean(of), quantile(of, 0.5), quantile(of, 1))
	}
	c := spread("x", []point{{0, 1}, {50 * time.Millisecond, 3}, {250 * time.Millisecond, 7}}, 600*time.Millisecond, Step)
	if b := fmt.Sprint(c.Values); b != "[2 2 7 7 NaN NaN]" {
		t.Error(b)
	}
	// 1000 bytes from 100 to 300 ms: 40 kbit/s in two steps.
	r := rate("x", []point{{100 * time.Millisecond, 0}, {300 * time.Millisecond, 1000}}, 400*time.Millisecond)
	if b := fmt.Sprint(r.Values); b != "[NaN 40000 40000 0]" {
		t.Error(b)
	}
	// RFC 1071, section 3: 0001 f203 f4f5 f6f7 sum to ddf2.
	if got := checksum([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}); got != ^uint16(0xddf2) {
		t.Errorf("%x", got)
	}
}
