package carriers

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"farlink/emulator/netspace"
	"farlink/pep/bundle"
	"farlink/pep/mptcp"
)

// udp counts what the server gets on a UDP port, which answers, and how many
// bytes each path took meanwhile.
func (l *land) udp(t *testing.T, port int) (answered int, up map[string]uint64) {
	t.Helper()
	var server *net.UDPConn
	if err := netspace.Do(l.Name+"-s", func() (err error) {
		server, err = net.ListenUDP("udp", &net.UDPAddr{Port: port})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		buf := make([]byte, 2000)
		for {
			n, from, err := server.ReadFromUDP(buf)
			if err != nil {
				return
			}
			server.WriteToUDP(buf[:n], from)
		}
	}()
	before := l.Paths()
	const packets, size = 40, 1200
	err := netspace.Do(l.Name+"-d", func() error {
		c, err := net.Dial("udp", fmt.Sprintf("10.79.0.2:%d", port))
		if err != nil {
			return err
		}
		defer c.Close()
		for range packets {
			c.Write(make([]byte, size))
			time.Sleep(2 * time.Millisecond)
		}
		c.SetDeadline(time.Now().Add(time.Second))
		for ; answered < packets; answered++ {
			if _, err := c.Read(make([]byte, 2000)); err != nil {
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	up = map[string]uint64{}
	for i, p := range l.Paths() {
		if n := p.UpBytes - before[i].UpBytes; n > packets*size/2 {
			up[p.Name] = n
		}
	}
	return answered, up
}

// UDP, and with it QUIC, is never blocked in any mode: it takes the best path,
// or that of its rule; TCP that a rule names is not carried over all paths. A
// path that goes down is not the best any more.
func TestRules(t *testing.T) {
	l := settle(t, "lte/skt-constant", "lte/kt-constant")
	takes := func(what string, port int, path string) {
		t.Helper()
		answered, up := l.udp(t, port)
		if answered < 35 || len(up) != 1 || up[path] == 0 {
			t.Errorf("%s: %d of 40 came back, by %v; want %s", what, answered, up, path)
		}
	}
	for _, m := range []bundle.Mode{bundle.Off, bundle.Wire, bundle.Lab} {
		l.configure(t, bundle.Carriage{Mode: m})
		takes("QUIC in mode "+string(m), 443, "lte/kt-constant")
	}
	l.configure(t, bundle.Carriage{Mode: bundle.Lab, Rules: []bundle.PathRule{
		{Protocol: "udp", Port: 443, Path: "lte/skt-constant"}, {Prefix: "10.79.0.2/32", Protocol: "tcp", Port: 5001, Path: "lte/skt-constant"}}})
	takes("QUIC with a rule", 443, "lte/skt-constant")
	takes("other UDP", 4433, "lte/kt-constant")
	before := l.Paths()
	c := l.connect(t, "d", server4, false)
	exchange(t, c, 200_000)
	after := l.Paths()
	if s, _ := l.Status(0, 10); s.Total != 0 || after[0].UpBytes-before[0].UpBytes < 200_000 || after[1].UpBytes-before[1].UpBytes > 20_000 {
		t.Errorf("TCP with a rule: %d carried, paths %+v, before %+v", s.Total, after, before)
	}
	l.configure(t, bundle.Carriage{Mode: bundle.Lab, Paths: map[string]bundle.PathWant{"lte/kt-constant": {Backup: true}}})
	takes("with the better path as a backup", 4433, "lte/skt-constant")
	l.configure(t, bundle.Carriage{Mode: bundle.Lab})
	l.link(t, "c2", false)
	l.until(t, "down", func(p []bundle.PathState) bool { return !p[1].Up && p[0].Best })
	takes("with the better path down", 4433, "lte/skt-constant")
	l.link(t, "c2", true)
	l.until(t, "back", func(p []bundle.PathState) bool { return p[1].Up && p[1].Best })
	takes("with the better path back", 4433, "lte/kt-constant")
}

// link takes an interface of the device with all carriers down, or up.
func (l *land) link(t *testing.T, dev string, up bool) {
	t.Helper()
	err := netspace.Do(l.Name+"-a", func() error {
		d, err := netlink.LinkByName(dev)
		if err != nil {
			return err
		}
		if up {
			return netlink.LinkSetUp(d)
		}
		return netlink.LinkSetDown(d)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (l *land) until(t *testing.T, what string, f func(p []bundle.PathState) bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Second); !f(l.Paths()); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: %+v", what, l.Paths())
		}
	}
}

// A middlebox on one or on all paths, against real MPTCP sockets: the kernel
// falls back to plain TCP, bytes come whole, and the fallback is shown.
func TestMiddleboxes(t *testing.T) {
	l := settle(t, "lte/skt-constant")
	l.configure(t, bundle.Carriage{Mode: bundle.Wire})
	for _, c := range []struct {
		name, patch string
		fallback    bool
	}{
		{"none", `{}`, false},
		{"option stripped on SYN", `{"up":{"middlebox":{"strip_syn":true}}}`, true},
		{"option stripped on SYN+ACK", `{"down":{"middlebox":{"strip_syn":true}}}`, true},
		{"option stripped on data", `{"up":{"middlebox":{"strip_data":true}},"down":{"middlebox":{"strip_data":true}}}`, true},
		{"MP_CAPABLE dropped", `{"up":{"middlebox":{"drop_capable":true}}}`, true},
	} {
		if _, err := l.engine.Apply(l.document(t, c.patch)); err != nil {
			t.Fatal(err)
		}
		before, _ := l.Status(0, 10)
		begun := time.Now()
		conn, err := l.dial("a", server4, true)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		took := time.Since(begun)
		exchange(t, conn, 100_000)
		got := l.one(t, c.name, func(x bundle.Connection) bool { return x.Fallback == c.fallback })
		t.Logf("%s: fallback %v, connected after %v", c.name, got.Fallback, took.Round(time.Millisecond))
		conn.CloseWrite()
		io.ReadAll(conn)
		conn.Close()
		l.none(t)
		after, _ := l.Status(0, 10)
		if counted := after.Totals.Fallbacks-before.Totals.Fallbacks == 1; counted != c.fallback {
			t.Errorf("%s: %d fallbacks are counted, before %d", c.name, after.Totals.Fallbacks, before.Totals.Fallbacks)
		}
	}
	l.blackhole(t)
}

// blackhole follows what the kernel remembers of dropped SYNs: it asks for
// MPTCP nowhere, until its time-out is over or written.
func (l *land) blackhole(t *testing.T) {
	t.Helper()
	if _, err := l.engine.Apply(l.document(t, "")); err != nil {
		t.Fatal(err)
	}
	for _, fallback := range []bool{true, false} {
		conn := l.connect(t, "a", server4, true)
		exchange(t, conn, 1000)
		l.one(t, fmt.Sprintf("after dropped SYNs, fallback %v", fallback), func(x bundle.Connection) bool { return x.Fallback == fallback })
		conn.Close()
		l.none(t)
		err := netspace.Do(l.Lab.A.Netns, func() error {
			return os.WriteFile("/proc/sys/net/mptcp/blackhole_timeout", []byte("60"), 0)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A phone with two modems, which speaks MPTCP itself, is met without a near
// side: its second modem joins the connection that the first began, and each
// subflow takes its own carrier. There is no mode lab then.
func TestPhone(t *testing.T) {
	l := settle(t, "lte/skt-constant", "lte/kt-constant")
	if err := l.Bundle.Close(); err != nil {
		t.Fatal(err)
	}
	site := l.Site
	site.Near = bundle.Near{}
	b, err := bundle.Open(site, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l.Bundle = b
	if err := b.Configure(bundle.Carriage{Mode: bundle.Lab}); err == nil {
		t.Error("mode lab without a near side")
	}
	l.configure(t, bundle.Carriage{Mode: bundle.Wire, Congestion: "reno", Paths: map[string]bundle.PathWant{"lte/kt-constant": {Congestion: "cubic"}}})
	// What a phone does by itself: a route for each modem, an endpoint for the
	// second.
	var manager *mptcp.Manager
	err = netspace.Do(l.Lab.A.Netns, func() (err error) {
		if manager, err = mptcp.Open(); err != nil {
			return err
		}
		all, err := manager.Endpoints()
		for _, e := range all {
			err = errors.Join(err, manager.Delete(e))
		}
		d, bad := netlink.LinkByName("c1")
		if err = errors.Join(err, bad); err != nil {
			return err
		}
		return manager.Add(mptcp.Endpoint{Addr: at(0, 1), Flags: mptcp.Subflow, Index: d.Attrs().Index})
	})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	c := l.connect(t, "a", server4, true)
	exchange(t, c, 2_000_000)
	got := l.one(t, "both modems", both)
	if got.Client.Addr() != at(1, 1) {
		t.Errorf("the first subflow came from %v, want the phone's way to the servers, %v", got.Client, at(1, 1))
	}
	for _, f := range got.Subflows { // each by the route to its own address
		if want := map[string]string{"lte/skt-constant": "reno", "lte/kt-constant": "cubic"}[f.Path]; f.Congestion != want {
			t.Errorf("%s has %s, want %s", f.Path, f.Congestion, want)
		}
	}
	if seen := <-l.seen; seen != c.LocalAddr().String() {
		t.Errorf("the server saw %s, the phone is %s", seen, c.LocalAddr())
	}
}

// Connections opened and closed leave nothing in the relays, the interception
// and the process, in both modes; those that are refused neither.
func TestNothingStays(t *testing.T) {
	l := settle(t, "lte/skt-constant", "lte/kt-constant")
	open := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	for _, m := range []bundle.Mode{bundle.Lab, bundle.Wire} {
		l.configure(t, bundle.Carriage{Mode: m})
		l.none(t)
		before := 0
		for round := range 2 { // the first may leave what is used again
			var all sync.WaitGroup
			for i := range 60 {
				all.Go(func() {
					to := server4
					if i%6 == 0 {
						to = "10.79.0.2:8080" // refused
					}
					c, err := l.dial("d", to, false)
					if err != nil {
						return
					}
					c.Write([]byte("x"))
					c.CloseWrite()
					io.ReadAll(c)
					c.Close()
				})
			}
			all.Wait()
			l.none(t)
			if round == 0 {
				before = open()
			}
		}
		// Subflows wait up to 3 s for the peer's end.
		for end := time.Now().Add(6 * time.Second); open() > before+5 && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		if after := open(); after > before+5 {
			t.Errorf("mode %s: %d descriptors, before %d", m, after, before)
		}
	}
}
