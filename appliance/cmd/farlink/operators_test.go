package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"farlink/appliance/lab"
	"farlink/emulator/netlab"
)

// The two operators of seed 000 as cells: what ping, UDP and TCP find between
// two hosts is the published idle round trip and rate, within 5 %. TCP pays
// 66 bytes of headers a frame of 1514 and may take them off.
func TestOperatorsOnTheWire(t *testing.T) {
	for _, o := range []struct {
		profile       string
		rtt, down, up float64
	}{{"lte/skt", 25.8, 18.89, 15.94}, {"lte/kt", 40.2, 37.45, 38.17}} {
		t.Run(o.profile, func(t *testing.T) {
			l := labUp(t, "--profile", o.profile)
			ping(t, l, "10.77.0.2", 2)
			within(t, "median round trip, ms", func() float64 { return median(ping(t, l, "10.77.0.2", 9)) }, o.rtt, 0.05)
			within(t, "UDP down, Mbit/s", func() float64 { return udpRate(t, l, "b", "a", o.down*1.3) }, o.down, 0.05)
			within(t, "UDP up, Mbit/s", func() float64 { return udpRate(t, l, "a", "b", o.up*1.3) }, o.up, 0.05)
			within(t, "TCP down, Mbit/s of frames", func() float64 { return tcpRate(t, l) * 1514 / 1448 }, o.down, 0.05)
		})
	}
}

func within(t *testing.T, what string, measure func() float64, want, share float64) {
	t.Helper()
	measured(t, func() string {
		if got := measure(); math.Abs(got/want-1) > share {
			return fmt.Sprintf("%s: %.3f, want %.3f within %.0f %%", what, got, want, 100*share)
		}
		return ""
	})
}

// udpRate offers datagrams and returns the rate of frames that came between
// the second second and the fifth.
func udpRate(t *testing.T, l lab.Lab, from, to string, offered float64) float64 {
	t.Helper()
	address := map[string]string{"a": "10.77.0.1:5557", "b": "10.77.0.2:5557"}
	s, r := udp(t, l.Name+"-"+from, address[from]), udp(t, l.Name+"-"+to, address[to])
	stop := make(chan struct{})
	defer func() {
		close(stop)
		r.Close()
		time.Sleep(1500 * time.Millisecond) // the buffer of the cell drains
		s.Close()
	}()
	go offer(s, r.LocalAddr(), offered*1e6, stop)
	windows := receive(t, r, 5*time.Second, time.Second)
	return (windows[2] + windows[3] + windows[4]) / 3
}

var received = regexp.MustCompile(`([0-9.]+) Mbits/sec\s+receiver`)

// tcpRate is what iperf3, an independent witness, finds down, leaving out the
// first three seconds.
func tcpRate(t *testing.T, l lab.Lab) float64 {
	t.Helper()
	server := netlab.End{Netns: l.NsB}
	listens := "iperf3 -s -D -1; until ss -Hltn sport = :5201 | grep -q 5201; do sleep 0.05; done"
	if out, err := server.Output("timeout", "20", "sh", "-c", listens); err != nil {
		t.Fatalf("iperf3: %v\n%s", err, out)
	}
	out, err := netlab.End{Netns: l.NsA}.Output("timeout", "30", "iperf3", "-c", "10.77.0.2", "-R", "-t", "5", "-O", "3", "-f", "m")
	m := received.FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("iperf3: %v\n%s", err, out)
	}
	mbps, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return mbps
}

// alone finds the round trip of a lone ping.
var alone = regexp.MustCompile(`time=([0-9.]+) ms`)

// An idle terminal without assured capacity asks for capacity across the
// satellite for each lone ping: 250 ms each way, 609.5 ms for the request and a
// wait for the frame. Under traffic a predictive agent has slots before they
// are needed, and the ping rides in them.
func TestDAMAPings(t *testing.T) {
	l := labUp(t, "--profile", "dvbrcs/worked-predict")
	ping(t, l, "10.77.0.2", 2)
	idle := 0.0
	within(t, "idle round trip, ms", func() float64 {
		idle = lonePings(t, l)
		return idle
	}, 1122, 0.05)
	s, r := udp(t, l.Name+"-a", "10.77.0.1:5558"), udp(t, l.Name+"-b", "10.77.0.2:5558")
	stop := make(chan struct{})
	defer close(stop)
	go offer(s, r.LocalAddr(), 0.5e6, stop)
	time.Sleep(6 * time.Second)
	if got := median(ping(t, l, "10.77.0.2", 5)); got > 0.6*idle {
		t.Errorf("round trip %.0f ms under traffic, %.0f idle: want the request saved", got, idle)
	}
}

// lonePings returns the median round trip, ms, of three pings far apart.
func lonePings(t *testing.T, l lab.Lab) float64 {
	t.Helper()
	var found []float64
	for range 3 {
		time.Sleep(3 * time.Second) // what was granted has expired
		out, err := netlab.End{Netns: l.NsA}.Output("ping", "-n", "-c", "1", "-W", "3", "10.77.0.2")
		m := alone.FindSubmatch(out)
		if err != nil || m == nil {
			t.Fatalf("ping: %v\n%s", err, out)
		}
		ms, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, ms)
	}
	return median(found)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
