package pep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/need"
	"farlink/emulator/netlab"
	"farlink/pep/intercept"
)

// The test binary is the proxy process, too.
const roleVariable = "FARLINK_PEP_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		os.Exit(m.Run())
	}
	conn, err := net.FileConn(os.NewFile(3, "daemon"))
	if err == nil {
		log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
		err = Main(context.Background(), conn, log)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

// rig is a lab with a proxy between its ends.
type rig struct {
	*netlab.Lab
	proxy  *Process
	at     Place
	behind [2]netlab.End // routed by the ends, once prepareEnds has made them
}

// splitAll splits every connection, deferred.
func splitAll() Config { return Config{Enabled: true, Handshake: intercept.Deferred} }

func newRig(t *testing.T, c Config) *rig { return newRigOf(t, c, Place{}) }

// newRigOf is one whose proxy works like at.
func newRigOf(t *testing.T, c Config, at Place) *rig {
	t.Helper()
	need.Root(t)
	name := fmt.Sprintf("pp%x", rand.Uint32N(1<<24))
	lab, err := netlab.New(name, netlab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Lab: lab, at: Place{Netns: lab.Box, LAN: lab.PortA, WAN: lab.PortB, Pins: filepath.Join("/sys/fs/bpf", name), Feed: at.Feed, Way: at.Way, Older: at.Older, Without: at.Without}}
	t.Cleanup(func() {
		if r.proxy != nil {
			if err := r.proxy.Stop(); err != nil {
				t.Errorf("stop the proxy: %v", err)
			}
		}
		if err := intercept.Remove(r.at.Pins); err != nil {
			t.Error(err)
		}
		os.Remove(r.at.Pins)
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	})
	r.start(t, c)
	return r
}

func (r *rig) start(t *testing.T, c Config) {
	t.Helper()
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), roleVariable+"=1")
	command.Stderr = os.Stderr
	p, err := Start(command, r.at, c)
	if err != nil {
		t.Fatal(err)
	}
	r.proxy = p
}

// listen opens a listener at an end's own address.
func listen(t *testing.T, e netlab.End, v6 bool) *net.TCPListener {
	t.Helper()
	var l *net.TCPListener
	err := e.Do(func() error {
		lc := net.ListenConfig{}
		lc.SetMultipathTCP(false)
		got, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort(address(e, v6), "0"))
		if err == nil {
			l = got.(*net.TCPListener)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func address(e netlab.End, v6 bool) string {
	if v6 {
		return e.V6.String()
	}
	return e.IP.String()
}

// dial connects from an end.
func dial(e netlab.End, to string, timeout time.Duration) (c *net.TCPConn, err error) {
	err = e.Do(func() error {
		d := net.Dialer{Timeout: timeout, KeepAlive: -1}
		conn, err := d.Dial("tcp", to)
		if err == nil {
			c = conn.(*net.TCPConn)
		}
		return err
	})
	return c, err
}

// connect returns both ends of a new connection from a to b.
func (r *rig) connect(t *testing.T, v6 bool) (client, server *net.TCPConn) {
	t.Helper()
	l := listen(t, r.B, v6)
	accepted := make(chan *net.TCPConn, 1)
	go func() {
		c, err := l.AcceptTCP()
		if err != nil {
			close(accepted)
			return
		}
		accepted <- c
	}()
	client, err := dial(r.A, l.Addr().String(), 5*time.Second)
	if err != nil {
		t.Fatalf("connect to %v: %v", l.Addr(), err)
	}
	select {
	case server = <-accepted:
	case <-time.After(5 * time.Second):
	}
	if server == nil {
		t.Fatal("the server accepted nothing")
	}
	for _, c := range []*net.TCPConn{client, server} {
		c.SetDeadline(time.Now().Add(20 * time.Second))
		t.Cleanup(func() { c.Close() })
	}
	return client, server
}

// exchange sends text from one end and expects it at the other.
func exchange(t *testing.T, from, to net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(from, text); err != nil {
		t.Fatalf("send: %v", err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(to, got); err != nil || string(got) != text {
		t.Fatalf("received %q, %v; want %q", got, err, text)
	}
}

// reuse lets a socket take a port that was in use a moment ago.
func reuse(_, _ string, c syscall.RawConn) error {
	var set error
	err := c.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) })
	return errors.Join(err, set)
}
