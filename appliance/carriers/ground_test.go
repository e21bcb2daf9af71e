package carriers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"farlink/emulator/netlab"
	"farlink/emulator/wire"
	"farlink/pep/bundle"
	"farlink/pep/mptcp"
	"farlink/profiles"
)

// land is a ground with an engine and a bundle on it, and a server that gives
// back what it gets.
type land struct {
	*Ground
	*bundle.Bundle
	engine   *wire.Engine
	profiles []string
	server   *net.TCPListener
	seen     chan string // who came
}

func settle(t *testing.T, names ...string) *land {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("needs root")
		}
		t.Skip("needs root for namespaces")
	}
	l := &land{profiles: names, seen: make(chan string, 100)}
	var carriers []Carried
	for i, name := range names {
		d, err := profiles.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		carriers = append(carriers, Carried{Name: name, Link: fmt.Sprint("carrier", i+1), Rate: d.Profile.Expect.Up})
	}
	var err error
	if l.Ground, err = NewGround(fmt.Sprintf("mg%x", rand.Uint32N(1<<24)), 0, carriers); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := RemoveGround(l.Name); err != nil {
			t.Error(err)
		}
	})
	if l.engine, err = wire.Start(t.Context(), wire.Config{Pair: l.Lab.Box, A: l.Lab.PortA, B: l.Lab.PortB, Netns: l.Lab.Box, Doc: l.document(t, "")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.engine.Close(); wire.Remove(l.Lab.Box) })
	if l.Bundle, err = bundle.Open(l.Site, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Bundle.Close(); err != nil {
			t.Error(err)
		}
	})
	l.serve(t)
	return l
}

// document is what the engine is told: a link for each carrier, told apart by
// the interfaces' addresses; patch is laid over the last.
func (l *land) document(t *testing.T, patch string) []byte {
	t.Helper()
	var links, rules []any
	for i, name := range l.profiles {
		d, err := profiles.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		p := d.Profile
		if patch != "" && i == len(l.profiles)-1 {
			q, problems := p.Merge([]byte(patch))
			if q == nil {
				t.Fatal(problems)
			}
			p = q
		}
		link := fmt.Sprint("carrier", i+1)
		links = append(links, map[string]any{"name": link, "seed": i, "profile": json.RawMessage(p.JSON())})
		for side := 1; side <= 2; side++ {
			rules = append(rules, map[string]any{"mac": MAC(i, side), "link": link})
		}
	}
	doc, err := json.Marshal(map[string]any{"line": "1Gbit/s", "default": "pass", "links": links, "rules": rules})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// serve starts the server: it gives back what it gets.
func (l *land) serve(t *testing.T) {
	t.Helper()
	err := netlab.Do(l.Name+"-s", func() (err error) {
		l.server, err = net.ListenTCP("tcp", &net.TCPAddr{Port: 5001})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.server.Close() })
	go func() {
		for {
			c, err := l.server.AcceptTCP()
			if err != nil {
				return
			}
			select {
			case l.seen <- c.RemoteAddr().String():
			default: // nobody asks any more
			}
			go func() { io.Copy(c, c); c.CloseWrite(); c.Close() }()
		}
	}()
}

func (l *land) configure(t *testing.T, c bundle.Carriage) {
	t.Helper()
	if err := l.Configure(c); err != nil {
		t.Fatal(err)
	}
}

// dial connects from a namespace: d is plain, a has all carriers.
func (l *land) dial(of, to string, mptcp bool) (c *net.TCPConn, err error) {
	d := net.Dialer{Timeout: 4 * time.Second}
	d.SetMultipathTCP(mptcp)
	err = netlab.Do(l.Name+"-"+of, func() error {
		any, err := d.Dial("tcp", to)
		if err == nil {
			c = any.(*net.TCPConn)
			c.SetDeadline(time.Now().Add(20 * time.Second))
		}
		return err
	})
	return c, err
}

func (l *land) connect(t *testing.T, of, to string, mptcp bool) *net.TCPConn {
	t.Helper()
	c, err := l.dial(of, to, mptcp)
	if err != nil {
		t.Fatalf("%s to %s: %v", of, to, err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// exchange sends so many bytes and wants them back.
func exchange(t *testing.T, c *net.TCPConn, n int) {
	t.Helper()
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	go c.Write(data)
	got := make([]byte, n)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != string(data) {
		t.Errorf("%d bytes did not come back as they went: %v", n, err)
	}
}

const (
	server4     = "10.79.0.2:5001"
	server6Port = "[fd79::2]:5001"
)

// one waits until the one connection is as f wants it.
func (l *land) one(t *testing.T, what string, f func(c bundle.Connection) bool) bundle.Connection {
	t.Helper()
	var s bundle.Status
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var err error
		if s, err = l.Status(0, 10); err != nil {
			t.Fatal(err)
		}
		if len(s.Connections) == 1 && f(s.Connections[0]) {
			return s.Connections[0]
		}
	}
	t.Errorf("%s: %+v", what, s)
	return bundle.Connection{}
}

// none waits until no connection is carried.
func (l *land) none(t *testing.T) {
	t.Helper()
	var s bundle.Status
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if s, _ = l.Status(0, 10); s.Total == 0 {
			return
		}
	}
	t.Errorf("connections stay: %+v", s)
}

// both reports whether both paths carried bytes up.
func both(c bundle.Connection) bool {
	paths := map[string]bool{}
	for _, f := range c.Subflows {
		paths[f.Path] = f.State == "up" && f.Up > 0
	}
	return len(c.Subflows) == 2 && paths["lte/skt-constant"] && paths["lte/kt-constant"]
}

// In every mode a plain device reaches the server with its own address, IPv4
// and IPv6, and in the modes wire and lab by both carriers; a device that has
// both carriers itself and speaks MPTCP is met in mode wire. Changes hold for
// new connections: those that are go on through every change of mode.
func TestModes(t *testing.T) {
	l := settle(t, "lte/skt-constant", "lte/kt-constant")
	var old []*net.TCPConn
	for _, m := range []bundle.Mode{bundle.Off, bundle.Lab, bundle.Wire, bundle.Off} {
		l.configure(t, bundle.Carriage{Mode: m})
		for _, to := range []string{server4, server6Port} {
			c := l.connect(t, "d", to, false)
			if got := <-l.seen; got != c.LocalAddr().String() || c.RemoteAddr().String() != to {
				t.Errorf("mode %s: the server %s saw %s, the device is %s and sees %s", m, to, got, c.LocalAddr(), c.RemoteAddr())
			}
			exchange(t, c, 300_000)
			old = append(old, c)
		}
		for i, c := range old {
			exchange(t, c, 1000)
			if t.Failed() {
				t.Fatalf("mode %s: connection %d", m, i)
			}
		}
		s, err := l.Status(0, 100)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("mode %s: %d carried, %+v", m, s.Total, s.Totals)
	}
	s, _ := l.Status(0, 100)
	if s.Total != 4 || s.Totals.Opened != 4 || s.Totals.Resets != 0 {
		t.Errorf("%d connections are carried, %+v; want the 2 of each of the modes lab and wire", s.Total, s.Totals)
	}
	for _, c := range s.Connections {
		if len(c.Subflows) != 2 || c.Fallback {
			t.Errorf("%+v", c)
		}
	}
	for _, c := range old {
		c.CloseWrite()
		if _, err := io.ReadAll(c); err != nil {
			t.Errorf("proper end: %v", err)
		}
	}
	l.none(t)
	l.configure(t, bundle.Carriage{Mode: bundle.Wire})
	c := l.connect(t, "a", server4, true)
	exchange(t, c, 2_000_000)
	got := l.one(t, "a device with both carriers", both)
	if got.Scheduler != "linux-default" || !strings.HasPrefix(got.Client.String(), "10.77.") {
		t.Errorf("%+v", got)
	}
}

// The answer to a SYN is the server's, in every mode: a refusal refuses, and
// silence is silence. Nothing is left of either.
func TestDeferred(t *testing.T) {
	l := settle(t, "lte/skt-constant", "lte/kt-constant")
	for _, m := range []bundle.Mode{bundle.Off, bundle.Lab} {
		l.configure(t, bundle.Carriage{Mode: m})
		if c, err := l.dial("d", "10.79.0.2:8080", false); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("mode %s, a port without a server: %v, %v; want a refusal", m, c, err)
		}
		var late net.Error
		if c, err := l.dial("d", "10.79.0.9:8080", false); err == nil || errors.As(err, &late) && !late.Timeout() && !errors.Is(err, syscall.EHOSTUNREACH) {
			t.Errorf("mode %s, nobody at the address: %v, %v; want silence, or the router's word", m, c, err)
		}
	}
	// MPTCP is answered by the far side's kernel before the server: a refusal
	// is then a reset.
	l.configure(t, bundle.Carriage{Mode: bundle.Wire})
	if c, err := l.dial("d", "10.79.0.2:8080", false); err == nil {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("mode wire, a port without a server: %v, want a reset", err)
		}
		c.Close()
	}
	l.none(t)
}

// udp counts what the server gets on a UDP port, which answers, and how many
// bytes each path took meanwhile.
func (l *land) udp(t *testing.T, port int) (answered int, up map[string]uint64) {
	t.Helper()
	var server *net.UDPConn
	if err := netlab.Do(l.Name+"-s", func() (err error) {
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
	err := netlab.Do(l.Name+"-d", func() error {
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
	err := netlab.Do(l.Name+"-a", func() error {
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

// A link that goes down in the middle of a transfer is seen at once (by
// interface, not by silence), stalls it shortly and resets nothing; one that
// comes back is joined again. Both modes, both ways.
func TestLinkDown(t *testing.T) {
	l := settle(t, "lte/skt-constant", "lte/kt-constant")
	for _, m := range []bundle.Mode{bundle.Wire, bundle.Lab} {
		l.configure(t, bundle.Carriage{Mode: m})
		c := l.connect(t, "d", server4, false)
		c.SetDeadline(time.Now().Add(30 * time.Second))
		go func() {
			for block := make([]byte, 16<<10); ; {
				if _, err := c.Write(block); err != nil {
					return
				}
			}
		}()
		var got, last atomic.Int64
		go func() {
			for buf := make([]byte, 64<<10); ; {
				n, err := c.Read(buf)
				if err != nil {
					return
				}
				got.Add(int64(n))
				last.Store(time.Now().UnixNano())
			}
		}()
		l.one(t, "both", both)
		time.Sleep(time.Second)
		begun := time.Now()
		l.link(t, "c2", false)
		l.until(t, "down", func(p []bundle.PathState) bool { return !p[1].Up })
		seen := time.Since(begun)
		var stall time.Duration
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			stall = max(stall, time.Since(time.Unix(0, last.Load())))
		}
		l.one(t, "one left", func(c bundle.Connection) bool {
			for _, f := range c.Subflows {
				if f.Path == "lte/kt-constant" && m == bundle.Lab {
					return false
				}
			}
			return len(c.Subflows) >= 1
		})
		begun = time.Now()
		l.link(t, "c2", true)
		l.one(t, "joined again", func(c bundle.Connection) bool {
			for _, f := range c.Subflows {
				if f.Path == "lte/kt-constant" && f.State == "up" {
					return true
				}
			}
			return false
		})
		t.Logf("mode %s: down seen after %v, stall %v, joined again after %v, %d bytes", m, seen, stall, time.Since(begun), got.Load())
		if seen > 500*time.Millisecond || stall > 2*time.Second {
			t.Errorf("mode %s: down seen after %v, stall %v", m, seen, stall)
		}
		if s, _ := l.Status(0, 10); s.Totals.Resets != 0 {
			t.Errorf("mode %s: %d resets", m, s.Totals.Resets)
		}
		c.SetLinger(0)
		c.Close()
		l.none(t)
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
		err := netlab.Do(l.Lab.A.Netns, func() error {
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
	l.configure(t, bundle.Carriage{Mode: bundle.Wire})
	// What a phone does by itself: a route for each modem, an endpoint for the
	// second.
	var manager *mptcp.Manager
	err = netlab.Do(l.Lab.A.Netns, func() (err error) {
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
