package main

import (
	"encoding/json"
	"net"
	"sync"
	"testing"
	"time"

	"farlink/emulator/netlab"
)

// terminal is the profile of a terminal of one return carrier: 32 slots of
// 188 bytes in 26.5 ms, 1816 kbit/s for both.
func terminal(weight string) string {
	return `name = "lab/terminal"
medium = "carrier"
[dama]
symbol_rate_bd = 2000000
sharing = "fair"
[dama.station]
rbdc_max = "1500kbit/s"
agent = "conserve"
window = 4
weight = ` + weight + `
[down.path]
delay = "250ms"
[up.path]
delay = "250ms"
`
}

// Two terminals of weights 3 and 1, each offered more than the carrier has,
// share it by weight within 5 %, over real sockets.
func TestTerminalsContendOnTheWire(t *testing.T) {
	l := labUp(t)
	want, err := json.Marshal(map[string]any{
		"inline": terminal("1"), "seed": 1,
		"links": map[string]any{"heavy": map[string]any{"inline": terminal("3"), "seed": 1}},
		"rules": []any{map[string]any{"port": "5556", "link": "heavy"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := ask(t, l, "PUT", "/link", string(want)); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	stop := make(chan struct{})
	var rates [2]float64
	var all sync.WaitGroup
	for i, port := range []string{"5555", "5556"} {
		from, to := udp(t, l.Name+"-a", "10.77.0.1:"+port), udp(t, l.Name+"-b", "10.77.0.2:"+port)
		go offer(from, to.LocalAddr(), 3e6, stop)
		all.Go(func() {
			for _, mbps := range receive(t, to, 16*time.Second, 4*time.Second)[1:] {
				rates[i] += mbps / 3
			}
		})
	}
	all.Wait()
	close(stop)
	if share := rates[1] / (rates[0] + rates[1]); share < 0.75*0.95 || share > 0.75*1.05 {
		t.Errorf("%.3f and %.3f Mbit/s: the share of weight 3 of 4 is %.3f, want 0.75 within 5 %%", rates[0], rates[1], share)
	}
	// 1514 bytes of Ethernet cost 1523 in bursts.
	if sum := rates[0] + rates[1]; sum < 1.805*0.95 || sum > 1.805*1.02 {
		t.Errorf("%.3f Mbit/s together, want the carrier's 1.805", sum)
	}
}

// udp opens a socket in a namespace.
func udp(t *testing.T, netns, address string) (c net.PacketConn) {
	t.Helper()
	err := netlab.Do(netns, func() (err error) {
		c, err = net.ListenPacket("udp4", address)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
