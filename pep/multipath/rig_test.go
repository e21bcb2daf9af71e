package multipath

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"farlink/pep/congestion"
)

var key = []byte("0123456789abcdef")

// rig is router and proxy on loopback, with a carrier that can be cut
// between each pair of ports.
type rig struct {
	router   *Router
	proxy    *Proxy
	wires    []*carrierWire
	entrance *net.TCPListener
	server   *net.TCPListener
}

// carrierWire passes bytes on as a carrier does, until it is cut: then it
// takes and gives nothing.
type carrierWire struct {
	*net.TCPListener
	to    string
	cut   atomic.Bool
	spoil atomic.Bool // one byte of what passes next
	eats  atomic.Bool // what comes, which its kernel acknowledged
	mu    sync.Mutex
	conns []net.Conn
}

func listenLocal(t testing.TB) *net.TCPListener {
	t.Helper()
	lc := net.ListenConfig{}
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

func (w *carrierWire) run() {
	for {
		a, err := w.AcceptTCP()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", w.to)
		if err != nil {
			a.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, a, b)
		w.mu.Unlock()
		go func() {
			var both sync.WaitGroup
			both.Go(func() { w.pass(a, b) })
			both.Go(func() { w.pass(b, a) })
			both.Wait()
			a.Close()
			b.Close()
			w.mu.Lock()
			defer w.mu.Unlock()
			w.conns = slices.DeleteFunc(w.conns, func(c net.Conn) bool { return c == net.Conn(a) || c == b })
		}()
	}
}

func (w *carrierWire) pass(from, to net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		for w.cut.Load() {
			time.Sleep(time.Millisecond)
		}
		if n > 40 && w.spoil.CompareAndSwap(true, false) {
			buf[n/2] ^= 1
		}
		if n > 0 && !w.eats.Load() {
			if _, werr := to.Write(buf[:n]); werr != nil {
				from.Close()
			}
		}
		if err != nil {
			to.(*net.TCPConn).CloseWrite()
			return
		}
	}
}

// drop resets all that passes.
func (w *carrierWire) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	w.conns = nil
}

func newRig(t testing.TB, c Config, serve func(*net.TCPConn)) *rig {
	t.Helper()
	c.Congestion = "cubic"
	r := &rig{entrance: listenLocal(t), server: listenLocal(t)}
	shelf, groups, log := congestion.Open(nil), new(Groups), slog.New(slog.DiscardHandler)
	dial := func(ctx context.Context, _, server netip.AddrPort) (*net.TCPConn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", server.String())
		if err != nil {
			return nil, err
		}
		return conn.(*net.TCPConn), nil
	}
	var err error
	if r.proxy, err = NewProxy(c, key, dial, shelf, groups, log); err != nil {
		t.Fatal(err)
	}
	var carriers []Carrier
	var listeners []*net.TCPListener
	var names []string
	for i := range 2 {
		l := listenLocal(t)
		w := &carrierWire{TCPListener: listenLocal(t), to: l.Addr().String()}
		go w.run()
		r.wires = append(r.wires, w)
		listeners, names = append(listeners, l), append(names, fmt.Sprint("wire", i))
		carriers = append(carriers, Carrier{Name: names[i], Local: netip.MustParseAddr("127.0.0.1"), Proxy: netip.MustParseAddrPort(w.Addr().String())})
	}
	if r.router, err = NewRouter(c, key, carriers, shelf, groups, log); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { r.proxy.Serve(ctx, names, listeners...) })
	all.Go(func() {
		r.router.Serve(ctx, r.entrance, func(*net.TCPConn) netip.AddrPort { return netip.MustParseAddrPort(r.server.Addr().String()) })
	})
	go func() {
		for {
			c, err := r.server.AcceptTCP()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	t.Cleanup(func() { stop(); all.Wait() })
	return r
}

// client connects through the relays.
func (r *rig) client(t testing.TB) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", r.entrance.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c.(*net.TCPConn)
}

// echo gives back what it gets, to the end.
func echo(c *net.TCPConn) {
	defer c.Close()
	io.Copy(c, c)
	c.CloseWrite()
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// exchange sends data through the echo and wants it back.
func (r *rig) exchange(t testing.TB, data []byte, during func(c *net.TCPConn)) {
	t.Helper()
	c := r.client(t)
	go func() {
		c.Write(data[:len(data)/2])
		if during != nil {
			during(c)
		}
		c.Write(data[len(data)/2:])
		c.CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d of %d bytes came back, equal %v: %v", len(got), len(data), bytes.Equal(got, data), err)
	}
}

// empty waits until neither end holds a connection.
func (r *rig) empty(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if len(r.router.Stats().Connections) == 0 && len(r.proxy.Stats().Connections) == 0 {
			return
		}
	}
	t.Errorf("connections stay: router %+v, proxy %+v", r.router.Stats(), r.proxy.Stats())
}
