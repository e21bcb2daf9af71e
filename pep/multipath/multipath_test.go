package multipath

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"farlink/emulator/link"
	"farlink/pep/congestion"
	"farlink/pep/framing"
	"farlink/pep/schedule"
)

// Every scheduler carries bytes both ways, whole and in order, by both
// carriers, and leaves nothing.
func TestWhole(t *testing.T) {
	for _, name := range schedule.Names() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{Scheduler: name}, echo)
			r.exchange(t, random(3<<20), nil)
			for range 5 {
				r.exchange(t, random(1000), nil)
			}
			r.exchange(t, nil, nil)
			r.empty(t)
			if s := r.router.Stats(); s.Opened != 7 || s.Resets != 0 || s.Refused != 0 {
				t.Errorf("router %+v", s)
			}
		})
	}
}

// A carrier that falls silent, or is reset, in the middle of a transfer costs
// nothing but time; it is joined again.
func TestCarrierLost(t *testing.T) {
	for _, c := range []struct {
		name       string
		lose, back func(w *carrierWire)
	}{
		{"silent", func(w *carrierWire) { w.cut.Store(true) }, func(w *carrierWire) { w.cut.Store(false) }},
		{"reset", func(w *carrierWire) { w.drop() }, func(*carrierWire) {}},
		{"corrupt", func(w *carrierWire) { w.spoil.Store(true) }, func(*carrierWire) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{Window: 256 << 10, Scheduler: "roundrobin"}, echo)
			r.exchange(t, random(2<<20), func(*net.TCPConn) { c.lose(r.wires[0]) })
			c.back(r.wires[0])
			r.exchange(t, random(1<<20), nil)
			r.empty(t)
			if s := r.router.Stats(); s.Resets != 0 {
				t.Errorf("%d connections were reset", s.Resets)
			}
		})
	}
}

// A carrier that acknowledges and then swallows is left, though its socket
// sees nothing but progress; who joins in its place is a backup at first.
func TestSwallowed(t *testing.T) {
	r := newRig(t, Config{Scheduler: "roundrobin"}, echo)
	begun := time.Now()
	r.exchange(t, random(400<<10), func(*net.TCPConn) { r.wires[0].eats.Store(true) })
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("carried after %v", took)
	}
	r.wires[0].eats.Store(false)
	r.exchange(t, random(1<<20), nil)
	r.empty(t)
	if s := r.router.Stats(); s.Resets != 0 || s.Reinjected == 0 {
		t.Errorf("%d connections were reset, %d chunks sent again", s.Resets, s.Reinjected)
	}
}

// What the server refuses is a reset at the client; a reset of either end is
// one of the other.
func TestResets(t *testing.T) {
	r := newRig(t, Config{}, func(c *net.TCPConn) {
		one := make([]byte, 1)
		c.Read(one)
		if one[0] == 'r' {
			abort(c)
			return
		}
		if _, err := io.Copy(io.Discard, c); err == nil {
			t.Error("the server saw a proper end of a client's reset")
		}
		c.Write([]byte("x"))
	})
	c := r.client(t)
	c.Write([]byte("r"))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("server's reset: %v", err)
	}
	c = r.client(t)
	c.Write([]byte("c"))
	time.Sleep(100 * time.Millisecond)
	abort(c)
	r.empty(t)
	r.server.Close()
	if c, err := net.Dial("tcp", r.entrance.Addr().String()); err == nil { // the reset may come so soon that the dial tells
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("refused by the server: %v", err)
		}
		c.Close()
	}
	r.empty(t)
}

// Without any carrier a connection lives as long as its patience.
func TestPatience(t *testing.T) {
	r := newRig(t, Config{Patience: link.Second}, echo)
	c := r.client(t)
	c.Write([]byte("x"))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for _, w := range r.wires {
		w.Close()
		w.drop()
	}
	begun := time.Now()
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("no carrier: %v", err)
	}
	if took := time.Since(begun); took < 900*time.Millisecond || took > 5*time.Second {
		t.Errorf("reset after %v, want the patience of a second", took)
	}
	r.empty(t)
}

// Whoever has not the key, another version, or a record of an old hello, is
// turned away, and nothing stays.
func TestRefused(t *testing.T) {
	r := newRig(t, Config{}, echo)
	now := time.Now().Unix()
	fine := framing.Hello{Token: [16]byte{1}, Nonce: [16]byte{1}, Unix: now}
	late := framing.Hello{Token: [16]byte{2}, Nonce: [16]byte{2}, Unix: now - framing.Tolerance - 10}
	high := framing.Hello{Subflow: 99, Token: [16]byte{3}, Nonce: [16]byte{3}, Unix: now}
	other := fine.Append(nil, key)
	other[4] = framing.Version + 1
	reset := framing.Frame{Type: framing.Reset}
	closed := reset.Append(fine.Append(nil, key))
	for _, c := range []struct {
		name string
		say  []byte
	}{
		{"wrong key", fine.Append(nil, []byte("another key of 16"))},
		{"another version", other},
		{"another protocol", []byte("GET / HTTP/1.1\r\n\r\n")},
		{"an old one", late.Append(nil, key)},
		{"subflow 99", high.Append(nil, key)},
		{"an end", closed},
		{"a replay", fine.Append(nil, key)},
		{"a frame before hello", reset.Append(nil)},
	} {
		conn, err := net.Dial("tcp", r.wires[0].to)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(helloTime / 2))
		conn.Write(c.say)
		conn.(*net.TCPConn).CloseWrite()
		got, err := io.ReadAll(conn)
		if len(got) > 200 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %d bytes, %v; want it closed", c.name, len(got), err)
		}
		conn.Close()
	}
	r.empty(t)
	if s := r.proxy.Stats(); s.Refused != 7 || s.Opened != 1 {
		t.Errorf("%d refused, %d opened; want 7 and 1", s.Refused, s.Opened)
	}
	r.exchange(t, random(1000), nil)
}

func TestConfig(t *testing.T) {
	if err := (Config{}).Err(); err != nil {
		t.Error(err)
	}
	bad := Config{Scheduler: "best", Congestion: "vegas", Window: 1, Chunk: 1, Patience: 1, Segments: -1}
	err := bad.Err()
	for _, field := range []string{"scheduler", "congestion", "window", "chunk", "patience", "num_segments"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not reported: %v", field, err)
		}
	}
	if _, err := NewRouter(Config{}, key[:8], []Carrier{{}}, congestion.Open(nil), new(Groups), slog.Default()); err == nil {
		t.Error("a key of 8 bytes was accepted")
	}
	if err := (Config{Congestion: Auto, PerPath: []string{"reno", Auto}}).Err(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		rtt  link.Duration
		want string
	}{{40 * link.Millisecond, "bbr"}, {199 * link.Millisecond, "bbr"}, {200 * link.Millisecond, "cubic"}, {700 * link.Millisecond, "cubic"}} {
		if got := auto(c.rtt); got != c.want {
			t.Errorf("auto over %v is %s, want %s", c.rtt, got, c.want)
		}
	}
	// 54 Mbit/s for 140 ms, twice: 1.89 MB.
	if got := Window(54_000_000, 140*link.Millisecond); got != 1_890_000 {
		t.Errorf("window %d, want 1890000", got)
	}
}

// A new scheduler holds for new connections, those that exist keep theirs.
func TestConfigureLive(t *testing.T) {
	r := newRig(t, Config{Scheduler: "minrtt"}, echo)
	old := r.client(t)
	old.Write([]byte("x"))
	if _, err := io.ReadFull(old, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := r.router.Configure(Config{Scheduler: "blest", Congestion: "reno"}); err != nil {
		t.Fatal(err)
	}
	young := r.client(t)
	young.Write([]byte("y"))
	if _, err := io.ReadFull(young, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range r.router.Stats().Connections {
		for _, p := range c.Paths {
			seen[c.Scheduler+" "+p.Congestion] = true
		}
	}
	if !seen["minrtt cubic"] || !seen["blest reno"] || len(seen) != 2 {
		t.Errorf("schedulers and controls in use %v", seen)
	}
}

// Connections opened and closed leave no session, no group, no descriptor.
func TestManyConnections(t *testing.T) {
	r := newRig(t, Config{}, echo)
	n := 200
	if testing.Short() {
		n = 50
	}
	data := random(2000)
	for range n {
		c := r.client(t)
		c.Write(data)
		c.CloseWrite()
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		c.Close()
	}
	r.empty(t)
	g := r.router.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	if int(g.last) > 20 || len(g.free) != int(g.last) {
		t.Errorf("%d groups of %d are free again", len(g.free), g.last)
	}
}

func FuzzConnect(f *testing.F) {
	good, _ := connectPayload(netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("[fd00::1]:443"))
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		client, server, err := readConnect(b)
		if err != nil {
			return
		}
		again, err := connectPayload(client, server)
		if err != nil || !bytes.Equal(again, b) {
			// An IPv4 address has one form of its own and one in IPv6.
			if c2, s2, err := readConnect(again); err != nil || c2 != client || s2 != server {
				t.Errorf("% x became % x: %v", b, again, err)
			}
		}
	})
}
