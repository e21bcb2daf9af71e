package carriers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"farlink/appliance/machine"
	"farlink/emulator/need"
	"farlink/emulator/wire"
	"farlink/pep/multipath"
)

// The test binary is the engine too.
func TestMain(m *testing.M) {
	if wire.IsEngine() {
		os.Exit(wire.Main(machine.Build, machine.OpenFeed))
	}
	os.Exit(m.Run())
}

func up(t *testing.T, c multipath.Config, names ...string) *Lab {
	t.Helper()
	need.Root(t)
	l, err := Up(context.Background(), Options{Name: fmt.Sprintf("mp%x", rand.Uint32N(1<<24)), Profiles: names, Seed: 1, Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Over the two operators as cells (LTE), the relays carry more than either
// alone; a carrier that falls silent costs a short stall and no reset, and is
// used again when it is back.
func TestTwoOperators(t *testing.T) {
	l := up(t, multipath.Config{}, "lte/skt", "lte/kt")
	b, err := l.Bulk()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	got := 0.0
	for try := 0; try < 3 && got < 40; try++ { // a machine that others load may not offer as much, now and then
		if got, err = b.Goodput(t.Context(), 2*time.Second, 3*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%.1f Mbit/s of 54.1, delay p95 %v", got, l.Proxy.Delays().Quantile(0.95))
	if got < 40 { // more than the better one carries; the bench holds the share against 90 %
		t.Errorf("%.1f Mbit/s over both, want more than 40", got)
	}
	if err := l.Cut(1, true); err != nil {
		t.Fatal(err)
	}
	stall := b.Stall(2 * time.Second)
	alone, err := b.Goodput(t.Context(), 0, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Cut(1, false); err != nil {
		t.Fatal(err)
	}
	again, err := b.Goodput(t.Context(), 2500*time.Millisecond, time.Second)
	for try := 1; err == nil && try < 3 && again < 25; try++ {
		again, err = b.Goodput(t.Context(), 0, time.Second)
	}
	t.Logf("cut: stall %v, then %.1f Mbit/s; back: %.1f Mbit/s", stall, alone, again)
	if err != nil || stall > 1500*time.Millisecond || alone < 8 || again < 25 {
		t.Errorf("stall %v, %.1f Mbit/s alone, %.1f again, %v", stall, alone, again, err)
	}
	if s := l.Router.Stats(); s.Resets != 0 || len(s.Connections) != 1 {
		t.Errorf("router %+v", s)
	}
}

// What a lab leaves whose process was killed is found and taken away.
func TestRemove(t *testing.T) {
	l := up(t, multipath.Config{}, "lte/kt-constant")
	name := strings.TrimSuffix(l.Box, "-box")
	if !Left(name) || Left(name+"x") {
		t.Errorf("left: %v, of another name %v", Left(name), Left(name+"x"))
	}
	if err := l.Engine.Close(); err != nil { // as it ends with its parent
		t.Error(err)
	}
	for range 2 { // again is no error
		if err := Remove(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(l.feedPin()); err == nil || Left(name) {
		t.Errorf("left after it: %v, feed %v", Left(name), err)
	}
	l.Engine, l.feed = nil, nil // what Close would miss
}

// Device and server see each other's own addresses, IPv4 and IPv6; what is
// not TCP for the relays is routed by the best carrier.
func TestTransparent(t *testing.T) {
	l := up(t, multipath.Config{}, "lte/skt-constant", "lte/kt-constant")
	out, err := l.Device.Output("ping", "-c", "2", "-i", "0.2", l.Server.IP.String())
	if err != nil || !strings.Contains(string(out), "time=4") { // 40.2 ms by kt; skt has 25.8 ms
		t.Errorf("ping: %v\n%s", err, out)
	}
	for _, ip := range []net.IP{l.Server.IP, l.Server.V6} {
		meet(t, l, net.JoinHostPort(ip.String(), "5001"))
	}
	if s := l.Router.Stats(); s.Opened != 2 {
		t.Errorf("the relays carried %d connections, want 2", s.Opened)
	}
	err = l.Device.Do(func() error { // nobody listens there: a reset, not silence
		c, err := net.DialTimeout("tcp", net.JoinHostPort(l.Server.IP.String(), "8080"), 5*time.Second)
		if err != nil {
			return nil
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			return fmt.Errorf("a port without a server: %w, want a reset", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// meet connects the device to the server and wants an echo, and each to see
// the other.
func meet(t *testing.T, l *Lab, server string) {
	t.Helper()
	seen := make(chan string, 1)
	go func() {
		c, err := l.server.Accept()
		if err != nil {
			return
		}
		seen <- c.RemoteAddr().String()
		io.Copy(c, c)
		c.Close()
	}()
	var c net.Conn
	err := l.Device.Do(func() (err error) {
		c, err = net.DialTimeout("tcp", server, 5*time.Second)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	c.Write([]byte("hello"))
	c.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(c); string(got) != "hello" || err != nil {
		t.Errorf("%q came back, %v", got, err)
	}
	if got := <-seen; got != c.LocalAddr().String() || c.RemoteAddr().String() != server {
		t.Errorf("the server %s saw %s, the client is %s and sees %s", server, got, c.LocalAddr(), c.RemoteAddr())
	}
}
