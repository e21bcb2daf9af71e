package pep

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/netlab"
	"farlink/pep/relay"
)

// TestSplit: a split connection is split, and neither end sees anything but
// the other.
func TestSplit(t *testing.T) {
	r := newRig(t, splitAll())
	for _, v6 := range []bool{false, true} {
		client, server := r.connect(t, v6)
		if got, want := server.RemoteAddr().String(), client.LocalAddr().String(); got != want {
			t.Errorf("the server sees %s, the client is %s", got, want)
		}
		exchange(t, client, server, "hello from the device")
		exchange(t, server, client, "hello from the network")
	}
	s, err := r.proxy.Status()
	if err != nil || s.Flows != 2 || s.Accepted != 2 {
		t.Errorf("status %+v, %v; want 2 flows", s, err)
	}
	flows, total, err := r.proxy.Flows(0, 10)
	if err != nil || total != 2 || len(flows) != 2 || flows[0].UpBytes != 21 || flows[0].ToServer.State != "established" || flows[0].From != "lan" {
		t.Errorf("flows %+v of %d, %v", flows, total, err)
	}
}

// TestBulk: bytes arrive as they were sent, both ways at once.
func TestBulk(t *testing.T) {
	r := newRig(t, splitAll())
	client, server := r.connect(t, false)
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	want := sha256.Sum256(data)
	done := make(chan error, 4)
	send := func(c *net.TCPConn) {
		_, err := c.Write(data)
		done <- errors.Join(err, c.CloseWrite())
	}
	receive := func(c net.Conn) {
		h := sha256.New()
		_, err := io.Copy(h, c)
		if err == nil && !bytes.Equal(h.Sum(nil), want[:]) {
			err = errors.New("other bytes arrived than were sent")
		}
		done <- err
	}
	go send(client)
	go send(server)
	go receive(client)
	go receive(server)
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestRefused: a closed port is refused as without the proxy, at once.
func TestRefused(t *testing.T) {
	r := newRig(t, splitAll())
	for _, v6 := range []bool{false, true} {
		start := time.Now()
		_, err := dial(r.A, net.JoinHostPort(address(r.B, v6), "9"), 5*time.Second)
		if !errors.Is(err, unix.ECONNREFUSED) || time.Since(start) > time.Second {
			t.Errorf("v6 %v: %v after %v, want a refusal at once", v6, err, time.Since(start))
		}
	}
}

// TestSilence: a server that does not answer is silence.
func TestSilence(t *testing.T) {
	r := newRig(t, splitAll())
	if out, err := r.B.Output("ip", "route", "add", "blackhole", "10.77.0.1"); err != nil {
		t.Fatalf("%s", out)
	}
	_, err := dial(r.A, "10.77.0.2:9", 1500*time.Millisecond)
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%v, want a time-out", err)
	}
}

// TestHalfClose: each direction ends by itself.
func TestHalfClose(t *testing.T) {
	r := newRig(t, splitAll())
	client, server := r.connect(t, false)
	exchange(t, client, server, "request")
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := server.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Fatalf("the server read %d, %v; want the client's FIN", n, err)
	}
	exchange(t, server, client, strings.Repeat("reply ", 1000))
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the client read %d, %v; want the server's FIN", n, err)
	}
}

// TestReset: a reset arrives behind the bytes that were acknowledged, from
// either end.
func TestReset(t *testing.T) {
	r := newRig(t, splitAll())
	for _, fromServer := range []bool{false, true} {
		near, far := r.connect(t, false)
		if fromServer {
			near, far = far, near
		}
		text := strings.Repeat("last words ", 5000)
		if _, err := io.WriteString(near, text); err != nil {
			t.Fatal(err)
		}
		// Until all is acknowledged: then it is the proxy's to deliver.
		waitFor(t, func() bool { return unsent(t, near) == 0 })
		near.SetLinger(0)
		near.Close()
		time.Sleep(50 * time.Millisecond)
		got := make([]byte, len(text))
		if _, err := io.ReadFull(far, got); err != nil || string(got) != text {
			t.Errorf("from server %v: %d bytes, %v before the reset", fromServer, len(got), err)
		}
		if _, err := far.Read(got); !errors.Is(err, unix.ECONNRESET) {
			t.Errorf("from server %v: %v, want a reset", fromServer, err)
		}
	}
}

// TestResetWhileSending: who resets amid what is sent to it ends the sender
// soon; bytes that nobody will acknowledge any more are not waited for.
func TestResetWhileSending(t *testing.T) {
	r := newRig(t, splitAll())
	near, far := r.connect(t, false)
	ended := make(chan error, 1)
	go func() {
		for block := make([]byte, 1<<16); ; {
			if _, err := far.Write(block); err != nil {
				ended <- err
				return
			}
		}
	}()
	time.Sleep(300 * time.Millisecond) // until all buffers are full: near reads nothing
	near.SetLinger(0)
	near.Close()
	select {
	case err := <-ended:
		if why(err) != "reset" {
			t.Errorf("%v, want a reset", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("still sending after 5 s")
	}
}

func unsent(t *testing.T, c *net.TCPConn) (n int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return n
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited 5 s in vain")
		}
	}
}

// TestOlderConnectionsCross: a connection that stood before the proxy goes on
// unsplit while it comes, serves and goes.
func TestOlderConnectionsCross(t *testing.T) {
	r := newRig(t, Config{})
	client, server := r.connect(t, false)
	exchange(t, client, server, "before")
	if err := r.proxy.Configure(splitAll()); err != nil {
		t.Fatal(err)
	}
	exchange(t, client, server, "during")
	exchange(t, server, client, "during, back")
	young, youngServer := r.connect(t, false)
	exchange(t, young, youngServer, "split")
	if s, _ := r.proxy.Status(); s.Flows != 1 {
		t.Errorf("%d flows, want the younger connection only", s.Flows)
	}
	if err := r.proxy.Configure(Config{}); err != nil {
		t.Fatal(err)
	}
	exchange(t, young, youngServer, "still split")
	exchange(t, client, server, "after")
}

// TestKilled: without its process the proxy is a wire; restarted it splits
// again.
func TestKilled(t *testing.T) {
	r := newRig(t, splitAll())
	client, server := r.connect(t, false)
	exchange(t, client, server, "split")
	if err := unix.Kill(r.proxy.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-r.proxy.Done()
	if out, err := r.A.Output("ping", "-n", "-c", "2", "-i", "0.1", "-W", "1", "10.77.0.2"); err != nil {
		t.Errorf("ping over the dead proxy: %s", out)
	}
	one, other := r.connect(t, false)
	exchange(t, one, other, "a wire")
	if _, err := client.Write([]byte("x")); err == nil {
		_, err = client.Read(make([]byte, 1))
		if err != io.EOF && !errors.Is(err, unix.ECONNRESET) { // the kernel closes a dead process's sockets
			t.Errorf("the split connection of a killed proxy: %v, want its end", err)
		}
	}
	r.start(t, splitAll())
	again, againServer := r.connect(t, true)
	exchange(t, again, againServer, "split again")
	exchange(t, one, other, "still a wire")
	if s, _ := r.proxy.Status(); s.Flows != 1 {
		t.Errorf("%d flows after the restart, want 1", s.Flows)
	}
}

// TestEarly: an early handshake is answered before the server; a refusal is a
// reset behind it.
func TestEarly(t *testing.T) {
	c := splitAll()
	c.Handshake = 2
	r := newRig(t, c)
	client, server := r.connect(t, false)
	exchange(t, client, server, "early")
	refused, err := dial(r.A, "10.77.0.2:9", 2*time.Second)
	if errors.Is(err, unix.ECONNRESET) {
		return // the reset came before the client looked
	}
	if err != nil {
		t.Fatalf("early handshake: %v", err)
	}
	defer refused.Close()
	refused.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := refused.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("%v, want a reset", err)
	}
}

// TestPortAgain: a client that comes again by the same port, at once, is
// served, whoever closed first.
func TestPortAgain(t *testing.T) {
	r := newRig(t, splitAll())
	l := listen(t, r.B, false)
	for i := range 4 {
		accepted := make(chan *net.TCPConn, 1)
		go func() {
			c, _ := l.AcceptTCP()
			accepted <- c
		}()
		var client net.Conn
		err := r.A.Do(func() (err error) {
			d := net.Dialer{Timeout: 3 * time.Second, LocalAddr: &net.TCPAddr{IP: r.A.IP, Port: 45678}, Control: reuse}
			client, err = d.Dial("tcp", l.Addr().String())
			return err
		})
		if err != nil {
			t.Fatalf("time %d: %v", i, err)
		}
		server := <-accepted
		exchange(t, client, server, "again")
		// The server closes first, so that TIME_WAIT is on the far side.
		server.Close()
		if _, err := client.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("time %d: %v, want the FIN", i, err)
		}
		client.Close()
		time.Sleep(20 * time.Millisecond)
	}
}

// TestOtherTrafficCrosses: what is not TCP crosses as it came.
func TestOtherTrafficCrosses(t *testing.T) {
	r := newRig(t, splitAll())
	for _, to := range []string{"10.77.0.2", "fd77::2"} {
		for _, size := range []string{"56", "3000"} { // the larger in fragments
			if out, err := r.A.Output("ping", "-n", "-c", "2", "-i", "0.1", "-W", "1", "-s", size, to); err != nil {
				t.Errorf("ping %s with %s bytes: %s", to, size, out)
			}
		}
	}
}

// TestVanished: an end that goes without a word is noticed, however idle the
// connection is, and the other end is told.
func TestVanished(t *testing.T) {
	r := newRig(t, splitAll())
	for name, value := range map[string]string{"time": "1", "intvl": "1", "probes": "2"} { // for two hours, 75 s, 9
		if out, err := exec.Command("ip", "netns", "exec", r.Box, "sysctl", "-qw", "net.ipv4.tcp_keepalive_"+name+"="+value).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	client, server := r.connect(t, false)
	exchange(t, client, server, "here")
	if out, err := r.B.Output("ip", "link", "set", r.B.Dev, "down"); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the client reads %v, want a reset", err)
	}
	waitFor(t, func() bool { s, err := r.proxy.Status(); return err == nil && s.Flows == 0 })
}

// TestOtherVersion: programs that a proxy of another version left on the ports
// give way.
func TestOtherVersion(t *testing.T) {
	r := newRig(t, splitAll())
	r.connect(t, false)
	unix.Kill(r.proxy.PID(), unix.SIGKILL)
	<-r.proxy.Done()
	found, err := filepath.Glob(r.at.Pins + "/v*")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	old := r.at.Pins + "/v1"
	if err := os.Rename(found[0], old); err != nil {
		t.Fatal(err)
	}
	r.start(t, splitAll())
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", old, err)
	}
	client, server := r.connect(t, false)
	exchange(t, client, server, "split")
	if n := r.accepted(t); n != 1 {
		t.Errorf("%d connections were split by the new one, want 1", n)
	}
}

// TestECNPerLeg: congestion marks are each leg's own affair: over a proxy a
// server that knows them has them, though the client does not.
func TestECNPerLeg(t *testing.T) {
	r := newRig(t, Config{})
	for end, value := range map[*netlab.End]string{&r.A: "0", &r.B: "1"} {
		if out, err := end.Output("sysctl", "-qw", "net.ipv4.tcp_ecn="+value); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	for _, c := range []struct {
		config         Config
		client, server bool
	}{{Config{}, false, false}, {splitAll(), false, true}} {
		if err := r.proxy.Configure(c.config); err != nil {
			t.Fatal(err)
		}
		client, server := r.connect(t, false)
		exchange(t, client, server, "hello")
		const ecn = 8 // TCPI_OPT_ECN
		if a, b := relay.Info(client).Options&ecn != 0, relay.Info(server).Options&ecn != 0; a != c.client || b != c.server {
			t.Errorf("splitting %v: ECN at the client %v, at the server %v; want %v and %v", c.config.Enabled, a, b, c.client, c.server)
		}
	}
}
