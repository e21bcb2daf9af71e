package mptcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"farlink/emulator/need"
	"farlink/emulator/netlab"
	"farlink/emulator/netspace"
	"farlink/pep/reroute"
)

// rig is a device with two addresses on one cable, a router in which a
// terminator lives, and a server behind it that has no address of its own:
// whatever the device asks for is answered.
type rig struct {
	*netlab.Lab
	terminator *Terminator
	manager    *Manager // of the device
	seen       chan [2]netip.AddrPort
	index      int // of the device's interface
}

const target = "10.79.0.2:5001"

func newRig(t *testing.T) *rig {
	t.Helper()
	need.Root(t)
	_, err := os.Stat("/proc/sys/net/mptcp")
	need.That(t, err == nil, "a kernel with MPTCP")
	lab, err := netlab.New(fmt.Sprintf("mw%x", rand.Uint32N(1<<24)), netlab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{Lab: lab, seen: make(chan [2]netip.AddrPort, 100)}
	must(t, lab.Bridge())
	must(t, lab.A.Do(func() error { return r.device(lab.A) }))
	ctx, stop := context.WithCancel(context.Background())
	server, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go serve(server)
	var listeners []*net.TCPListener
	capture := reroute.Capture{Dev: lab.B.Dev, Ports: []uint16{5001}}
	must(t, lab.B.Do(func() (err error) {
		if err := add(lab.B.Dev, "10.77.1.2/24", "10.77.2.2/24"); err != nil {
			return err
		}
		if err := Prepare(true); err != nil {
			return err
		}
		if err := capture.Apply(); err != nil {
			return err
		}
		listeners, err = capture.Listen(ctx, true)
		return err
	}))
	dial := func(_ context.Context, client, to netip.AddrPort) (*net.TCPConn, error) {
		r.seen <- [2]netip.AddrPort{client, to}
		c, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			return nil, err
		}
		return c.(*net.TCPConn), nil
	}
	r.terminator = NewTerminator(Config{Congestion: "cubic", Buffer: 300_000}, dial, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- r.terminator.Serve(ctx, listeners...) }()
	t.Cleanup(func() { stop(); must(t, <-done); server.Close(); r.manager.Close() })
	return r
}

// device gives the device its two addresses and the way to the server.
func (r *rig) device(e netlab.End) (err error) {
	if err := add(e.Dev, "10.77.1.1/24", "10.77.2.1/24"); err != nil {
		return err
	}
	_, all, _ := net.ParseCIDR("10.79.0.0/24")
	if err := netlink.RouteAdd(&netlink.Route{Dst: all, Gw: net.ParseIP("10.77.1.2"), Src: net.ParseIP("10.77.1.1")}); err != nil {
		return err
	}
	if err := Prepare(true); err != nil {
		return err
	}
	l, err := netlink.LinkByName(e.Dev)
	if err != nil {
		return err
	}
	r.index = l.Attrs().Index
	if r.manager, err = Open(); err != nil {
		return err
	}
	return r.manager.SetLimits(2, 2)
}

func add(dev string, addresses ...string) error {
	l, err := netlink.LinkByName(dev)
	if err != nil {
		return err
	}
	for _, a := range addresses {
		one, err := netlink.ParseAddr(a)
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(l, one); err != nil {
			return err
		}
	}
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			io.Copy(c, c)
			c.(*net.TCPConn).CloseWrite()
		}()
	}
}

// connect dials the server from the device.
func (r *rig) connect(t *testing.T, mptcp bool) *net.TCPConn {
	t.Helper()
	var c net.Conn
	d := net.Dialer{Timeout: 5 * time.Second}
	d.SetMultipathTCP(mptcp)
	must(t, r.A.Do(func() (err error) { c, err = d.Dial("tcp", target); return err }))
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(15 * time.Second))
	return c.(*net.TCPConn)
}

// until waits for the subflows of the one connection to be n.
func (r *rig) until(t *testing.T, what string, n int) (s Stats) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if s = r.terminator.Stats(); len(s.Connections) == 1 && len(s.Connections[0].Near.Paths) == n {
			return s
		}
	}
	t.Errorf("%s: %+v; want %d subflows", what, s, n)
	return s
}

// A device's second address joins the connection at the terminator although
// both think that they speak to the server; bytes come whole; the server is
// asked for by the device's own address.
func TestJoin(t *testing.T) {
	r := newRig(t)
	second := Endpoint{Addr: netip.MustParseAddr("10.77.2.1"), Flags: Subflow, Index: r.index}
	must(t, r.manager.Add(second))
	c := r.connect(t, true)
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i * i >> 8)
	}
	go c.Write(data)
	got := make([]byte, len(data))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, data) {
		t.Errorf("bytes came back equal: %v, %v", bytes.Equal(got, data), err)
	}
	s := r.until(t, "joined", 2)
	if seen := <-r.seen; seen[0].String() != c.LocalAddr().String() || seen[1].String() != target {
		t.Errorf("dialled for %v to %v; the client is %v, the server %s", seen[0], seen[1], c.LocalAddr(), target)
	}
	if s.Scheduler != "linux-default" || s.Fallbacks != 0 || s.Connections[0].Near.Token == 0 {
		t.Errorf("stats %+v", s)
	}
	remotes := map[netip.Addr]bool{}
	for _, p := range s.Connections[0].Near.Paths {
		remotes[p.Remote.Addr()] = p.RTTMs > 0 && p.Cwnd > 0
	}
	if !remotes[netip.MustParseAddr("10.77.1.1")] || !remotes[second.Addr] {
		t.Errorf("subflows from %v", remotes)
	}
	r.paths(t, c, second)
	c.Close()
	r.over(t)
}

// paths takes the second path away and back, by hand, while the connection
// goes on.
func (r *rig) paths(t *testing.T, c net.Conn, second Endpoint) {
	t.Helper()
	all, err := r.manager.Endpoints()
	if err != nil || len(all) != 1 || all[0].Addr != second.Addr || all[0].Flags != Subflow {
		t.Fatalf("endpoints %+v, %v", all, err)
	}
	must(t, r.manager.SetBackup(all[0], true))
	if all, err = r.manager.Endpoints(); err != nil || len(all) != 1 || all[0].Flags != Subflow|Backup {
		t.Errorf("as a backup: %+v, %v", all, err)
	}
	must(t, r.manager.Delete(all[0]))
	r.until(t, "deleted", 1)
	must(t, r.manager.Add(second))
	r.until(t, "added again", 2)
	c.Write([]byte("x"))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

// over waits until the terminator holds nothing.
func (r *rig) over(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if len(r.terminator.Stats().Connections) == 0 {
			return
		}
	}
	t.Errorf("connections stay: %+v", r.terminator.Stats())
}

// A device that speaks plain TCP is carried, and shown as that.
func TestFallback(t *testing.T) {
	r := newRig(t)
	c := r.connect(t, false)
	c.Write([]byte("plain"))
	if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
		t.Error(err)
	}
	if s := r.terminator.Stats(); s.Fallbacks != 1 || len(s.Connections) != 1 || !s.Connections[0].Near.Fallback || !s.Connections[0].Far.Fallback {
		t.Errorf("stats %+v", s)
	}
	c.CloseWrite()
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("proper end: %v", err)
	}
	r.over(t)
}

// The watcher takes an endpoint away as its interface goes down, and adds it
// when it is back.
func TestWatcher(t *testing.T) {
	r := newRig(t)
	endpoint := Endpoint{Addr: netip.MustParseAddr("10.77.2.1"), Flags: Subflow, Index: r.index}
	must(t, r.manager.Add(endpoint))
	w, err := NewWatcher(r.manager, []Endpoint{endpoint}, slog.New(slog.DiscardHandler))
	must(t, err)
	if _, err := NewWatcher(r.manager, []Endpoint{{Addr: endpoint.Addr}}, nil); err == nil {
		t.Error("an endpoint without an interface is watched")
	}
	ns, err := netns.GetFromName(r.A.Netns)
	must(t, err)
	defer ns.Close()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, ns) }()
	for _, up := range []bool{false, true, false, true} {
		must(t, netspace.Do(r.Box, func() error {
			port, err := netlink.LinkByName(r.PortA) // the far end of the cable: the device loses its carrier
			if err != nil {
				return err
			}
			if up {
				return netlink.LinkSetUp(port)
			}
			return netlink.LinkSetDown(port)
		}))
		want, begun := 0, time.Now()
		if up {
			want = 1
		}
		var all []Endpoint
		for time.Since(begun) < 3*time.Second {
			if all, err = r.manager.Endpoints(); err == nil && len(all) == want {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		if len(all) != want {
			t.Errorf("up %v: endpoints %+v, %v", up, all, err)
		}
		t.Logf("up %v: %v", up, time.Since(begun).Round(time.Millisecond))
	}
	stop()
	must(t, <-done)
}
