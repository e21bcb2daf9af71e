package carriers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"farlink/emulator/need"
	"farlink/emulator/netspace"
	"farlink/emulator/wire"
	"farlink/pep/bundle"
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
	need.Root(t)
	l := &land{profiles: names, seen: make(chan string, 100)}
	var carriers []Carried
	for i, name := range names {
		d, err := profiles.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		carriers = append(carriers, Carried{Name: name, Link: fmt.Sprint("carrier", i+1), Rate: d.Profile.Expect.Up, RTT: d.Profile.Expect.RTT})
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
	err := netspace.Do(l.Name+"-s", func() (err error) {
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
	err = netspace.Do(l.Name+"-"+of, func() error {
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
