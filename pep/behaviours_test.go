package pep

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"farlink/pep/relay"
)

// behaviours are what TestTransparency tries.
var behaviours = []behaviour{
	{"hello and answer", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { return say(c, s, "ping") + say(s, c, "pong") })
	}},
	{"the server speaks first", func(x *trial) string { return x.with(func(c, s *net.TCPConn) string { return say(s, c, "220 ready") }) }},
	{"the server sees the client's address", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { return same(s.RemoteAddr().String(), c.LocalAddr().String()) })
	}},
	{"the client sees the server's address", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { return same(c.RemoteAddr().String(), s.LocalAddr().String()) })
	}},
	{"a low source port is kept", func(x *trial) string {
		port := 300 + x.seen%600
		return x.withFrom(port, nil, func(c, s *net.TCPConn) string { return fmt.Sprint(s.RemoteAddr().(*net.TCPAddr).Port == port) })
	}},
	{"a closed port", func(x *trial) string { _, err := x.dial(x.target(9), 0, 3*time.Second, nil); return why(err) }},
	{"a server that is silent", func(x *trial) string {
		_, err := x.dialFrom(map[bool]string{false: "10.77.0.4", true: "fd77::4"}[x.v6], x.target(9), 700*time.Millisecond)
		return why(err)
	}},
	{"a port that closes while a connection stands", closedLater},
	{"the client's half-close, then an answer", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { c.CloseWrite(); return end(s) + say(s, c, strings.Repeat("x", 9000)) })
	}},
	{"the server's half-close, then more from the client", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { s.CloseWrite(); return end(c) + say(c, s, strings.Repeat("x", 9000)) })
	}},
	{"both half-closes at once", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			go c.CloseWrite()
			s.CloseWrite()
			return end(c) + end(s)
		})
	}},
	{"the client closes", func(x *trial) string { return x.with(func(c, s *net.TCPConn) string { c.Close(); return end(s) }) }},
	{"the server closes", func(x *trial) string { return x.with(func(c, s *net.TCPConn) string { s.Close(); return end(c) }) }},
	{"the client resets (SO_LINGER 0)", func(x *trial) string { return x.with(func(c, s *net.TCPConn) string { relay.Abort(c); return end(s) }) }},
	{"the server resets (SO_LINGER 0)", func(x *trial) string { return x.with(func(c, s *net.TCPConn) string { relay.Abort(s); return end(c) }) }},
	{"the client resets behind bytes that are acknowledged", func(x *trial) string { return x.with(lastWords) }},
	{"the server resets behind bytes that are acknowledged", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { return lastWords(s, c) })
	}},
	{"the client closes with bytes unread", func(x *trial) string { return x.with(unread) }},
	{"the server closes with bytes unread", func(x *trial) string { return x.with(func(c, s *net.TCPConn) string { return unread(s, c) }) }},
	{"a half-close, then a reset", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			c.CloseWrite()
			e := end(s)
			relay.Abort(c)
			time.Sleep(50 * time.Millisecond)
			return e + writes(s)
		})
	}},
	{"writing to an end that has reset", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { relay.Abort(c); return end(s) + writes(s) })
	}},
	{"linger with bytes unsent", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			c.SetLinger(5)
			go func() { c.Write(block); c.Close() }()
			return all(s)
		})
	}},
	{"write and close at once", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { io.WriteString(c, "last"); c.Close(); return rest(s) })
	}},
	{"a reader that sleeps (zero window)", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			go func() { c.Write(block); c.CloseWrite() }()
			time.Sleep(400 * time.Millisecond)
			return all(s)
		})
	}},
	{"a reader of 4 KB buffers", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			s.SetReadBuffer(4096)
			go func() { c.Write(block); c.CloseWrite() }()
			return all(s)
		})
	}},
	{"1 MB to the server", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { go func() { c.Write(block); c.CloseWrite() }(); return all(s) })
	}},
	{"1 MB to the client", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { go func() { s.Write(block); s.CloseWrite() }(); return all(c) })
	}},
	{"1 MB both ways at once", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			go func() { c.Write(block); c.CloseWrite() }()
			go func() { s.Write(block); s.CloseWrite() }()
			return all(c) + all(s)
		})
	}},
	{"200 writes of one byte", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			for i := range 200 {
				c.Write([]byte{byte(i)})
			}
			c.CloseWrite()
			return fmt.Sprint(len(rest(s)))
		})
	}},
	{"200 questions and answers", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			for range 200 {
				if got := say(c, s, "?") + say(s, c, "!"); got != "?!" {
					return got
				}
			}
			return "200"
		})
	}},
	{"idle, then bytes", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { time.Sleep(time.Second); return say(c, s, "still here") })
	}},
	{"keep-alive", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 1})
			time.Sleep(2500 * time.Millisecond)
			return say(s, c, "alive")
		})
	}},
	{"a server that accepts late", acceptsLate},
	{"20 connections at once", func(x *trial) string { return x.many(20, true) }},
	{"20 connections one after the other", func(x *trial) string { return x.many(20, false) }},
	{"the same client port again, server closed first", func(x *trial) string { return x.again(false) }},
	{"the same client port again, client reset", func(x *trial) string { return x.again(true) }},
	{"timestamps, SACK, window scale", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			return fmt.Sprintf("%03b %03b", relay.Info(c).Options&7, relay.Info(s).Options&7)
		})
	}},
	{"ECN", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			return fmt.Sprint(relay.Info(c).Options&8 != 0, relay.Info(s).Options&8 != 0)
		})
	}},
	{"segment size", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string { return fmt.Sprint(relay.Info(c).Snd_mss, relay.Info(s).Snd_mss) })
	}},
	{"a client with small segments (TCP_MAXSEG 536)", func(x *trial) string {
		small := func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, 536) }
		return x.withFrom(0, small, func(c, s *net.TCPConn) string { go func() { s.Write(block); s.CloseWrite() }(); return all(c) })
	}},
	{"DSCP and hop limit of the SYN", func(x *trial) string {
		mark := func(fd int) error {
			if x.v6 {
				return unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_TCLASS, 46<<2)
			}
			return unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TOS, 46<<2)
		}
		return x.withFrom(0, mark, func(_, s *net.TCPConn) string { return savedSYN(s) })
	}},
	{"an urgent byte, read in line", func(x *trial) string {
		return x.with(func(c, s *net.TCPConn) string {
			on(s, func(fd int) { unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_OOBINLINE, 1) })
			on(c, func(fd int) { unix.Sendto(fd, []byte("ur!"), unix.MSG_OOB, nil) })
			c.CloseWrite()
			return rest(s)
		})
	}},
	{"TCP Fast Open", fastOpen},
	{"MPTCP, by rule", multipath},
	{"UDP", datagrams},
	{"fragments", func(x *trial) string {
		out, err := x.a.Output("ping", "-n", "-c", "1", "-W", "2", "-s", "3000", address(x.b, x.v6))
		return fmt.Sprint(err == nil && strings.Contains(string(out), "1 received"))
	}},
}

var block = bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB

// target is a port of the server's.
func (x *trial) target(port int) string {
	return net.JoinHostPort(address(x.b, x.v6), fmt.Sprint(port))
}

func (x *trial) listen(set func(fd int) error) (l *net.TCPListener, err error) {
	return x.listenOn(0, set)
}

func (x *trial) listenAt(port int) (*net.TCPListener, error) { return x.listenOn(port, nil) }

func (x *trial) listenOn(port int, set func(fd int) error) (*net.TCPListener, error) {
	return x.listenTo(x.target(port), set)
}

func (x *trial) listenTo(address string, set func(fd int) error) (l *net.TCPListener, err error) {
	err = x.b.Do(func() error {
		lc := net.ListenConfig{Control: setting(set), KeepAlive: -1}
		lc.SetMultipathTCP(false)
		got, err := lc.Listen(context.Background(), "tcp", address)
		if err == nil {
			l = got.(*net.TCPListener)
		}
		return err
	})
	return l, err
}

func setting(set func(fd int) error) func(string, string, syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) error {
		var done error
		err := raw.Control(func(fd uintptr) {
			done = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
			if set != nil {
				done = errors.Join(done, set(int(fd)))
			}
		})
		return errors.Join(err, done)
	}
}

// dial connects from the device's side; port 0 is any.
func (x *trial) dial(to string, port int, timeout time.Duration, set func(int) error) (c *net.TCPConn, err error) {
	err = x.a.Do(func() error {
		d := net.Dialer{Timeout: timeout, KeepAlive: -1, Control: setting(set)}
		d.SetMultipathTCP(false)
		if port > 0 {
			d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(address(x.a, x.v6)), Port: port}
		}
		got, err := d.Dial("tcp", to)
		if err == nil {
			c = got.(*net.TCPConn)
		}
		return err
	})
	return c, err
}

func (x *trial) dialFrom(from, to string, timeout time.Duration) (c net.Conn, err error) {
	err = x.a.Do(func() error {
		d := net.Dialer{Timeout: timeout, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		d.SetMultipathTCP(false)
		c, err = d.Dial("tcp", to)
		return err
	})
	return c, err
}

// with tries f on a new connection.
func (x *trial) with(f func(c, s *net.TCPConn) string) string { return x.withFrom(0, nil, f) }

func (x *trial) withFrom(port int, set func(int) error, f func(c, s *net.TCPConn) string) string {
	l, err := x.listen(func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_SAVE_SYN, 1) })
	if err != nil {
		return "listen: " + err.Error()
	}
	defer l.Close()
	return x.to(l, port, set, f)
}

func (x *trial) to(l *net.TCPListener, port int, set func(int) error, f func(c, s *net.TCPConn) string) string {
	c, err := x.dial(l.Addr().String(), port, 10*time.Second, set)
	if err != nil {
		return "connect: " + why(err)
	}
	defer c.Close()
	l.SetDeadline(time.Now().Add(10 * time.Second))
	s, err := l.AcceptTCP()
	if err != nil {
		return "accept: " + why(err)
	}
	defer s.Close()
	c.SetDeadline(time.Now().Add(15 * time.Second))
	s.SetDeadline(time.Now().Add(15 * time.Second))
	return f(c, s)
}

// why is an error in a word.
func why(err error) string {
	var t net.Error
	switch {
	case err == nil:
		return "connected"
	case errors.Is(err, io.EOF):
		return "end"
	case errors.Is(err, unix.ECONNREFUSED):
		return "refused"
	case errors.Is(err, unix.ECONNRESET):
		return "reset"
	case errors.Is(err, unix.EPIPE):
		return "broken pipe"
	case errors.Is(err, unix.EHOSTUNREACH):
		return "host unreachable"
	case errors.Is(err, unix.ENETUNREACH):
		return "network unreachable"
	case errors.Is(err, unix.EACCES):
		return "prohibited"
	case errors.As(err, &t) && t.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		return "silence"
	}
	return err.Error()
}

func same(a, b string) string {
	if a == b {
		return "the other's"
	}
	return a + " for " + b
}

// say sends text and returns what came of it.
func say(from, to net.Conn, text string) string {
	if _, err := io.WriteString(from, text); err != nil {
		return "send: " + why(err)
	}
	got := make([]byte, len(text))
	if n, err := io.ReadFull(to, got); err != nil {
		return fmt.Sprintf("%d bytes, then %s", n, why(err))
	}
	if len(text) > 20 {
		return fmt.Sprintf(" %d bytes", len(got))
	}
	return string(got)
}

// end is how a connection ends that has nothing more to say.
func end(c net.Conn) string {
	_, err := c.Read(make([]byte, 1))
	return why(err)
}

// rest is what comes until the end.
func rest(c net.Conn) string {
	got, err := io.ReadAll(c)
	if err != nil {
		return fmt.Sprintf("%d bytes, then %s", len(got), why(err))
	}
	return string(got)
}

// all expects the block.
func all(c net.Conn) string {
	h := sha256.New()
	n, err := io.Copy(h, c)
	want := sha256.Sum256(block)
	if err != nil || !bytes.Equal(h.Sum(nil), want[:]) {
		return fmt.Sprintf("%d bytes, %s", n, why(err))
	}
	return "all "
}

// writes is what comes of writing, twice, to an end that is gone.
func writes(c net.Conn) string {
	for range 5 {
		if _, err := io.WriteString(c, "x"); err != nil {
			return ", " + why(err)
		}
		time.Sleep(30 * time.Millisecond)
	}
	return ", written"
}

func lastWords(from, to *net.TCPConn) string {
	io.WriteString(from, strings.Repeat("last words ", 3000))
	for left := 1; left > 0; time.Sleep(time.Millisecond) {
		on(from, func(fd int) { left, _ = unix.IoctlGetInt(fd, unix.SIOCOUTQ) })
	}
	got := make([]byte, 33000)
	io.ReadFull(to, got[:32000])
	relay.Abort(from)
	n, err := io.ReadFull(to, got[32000:])
	if err == nil {
		_, err = to.Read(got)
	}
	return fmt.Sprintf("%d bytes, %s", 32000+n, why(err))
}

func unread(c, s *net.TCPConn) string {
	io.WriteString(s, "never read")
	time.Sleep(100 * time.Millisecond)
	c.Close()
	return end(s)
}

func on(c *net.TCPConn, f func(fd int)) {
	if raw, err := c.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { f(int(fd)) })
	}
}

// savedHeaders are the headers of the SYN that the server kept.
func savedHeaders(fd int) []byte {
	var h [128]byte
	size := uint32(len(h))
	if _, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_SAVED_SYN,
		uintptr(unsafe.Pointer(&h)), uintptr(unsafe.Pointer(&size)), 0); e != 0 {
		return nil
	}
	return h[:size]
}

func savedSYN(s *net.TCPConn) (got string) {
	on(s, func(fd int) {
		h := savedHeaders(fd)
		if len(h) < 20 {
			got = "no SYN kept"
			return
		}
		tos, hops := h[1], h[8]
		if h[0]>>4 == 6 {
			tos, hops = h[0]<<4|h[1]>>4, h[7]
		}
		got = fmt.Sprintf("DSCP %d, %d hops", tos>>2, hops)
	})
	return got
}

func closedLater(x *trial) string {
	l, err := x.listen(nil)
	if err != nil {
		return err.Error()
	}
	to := l.Addr().String()
	return x.to(l, 0, nil, func(c, s *net.TCPConn) string {
		l.Close()
		_, err := x.dial(to, 0, 3*time.Second, nil)
		return why(err) + ", " + say(c, s, "goes on")
	})
}

func acceptsLate(x *trial) string {
	l, err := x.listen(nil)
	if err != nil {
		return err.Error()
	}
	defer l.Close()
	c, err := x.dial(l.Addr().String(), 0, 5*time.Second, nil)
	if err != nil {
		return why(err)
	}
	defer c.Close()
	io.WriteString(c, "early")
	time.Sleep(300 * time.Millisecond)
	s, err := l.AcceptTCP()
	if err != nil {
		return why(err)
	}
	defer s.Close()
	c.CloseWrite()
	return rest(s)
}

// many opens connections to one listener, each with a word of its own.
func (x *trial) many(n int, together bool) string {
	l, err := x.listen(nil)
	if err != nil {
		return err.Error()
	}
	defer l.Close()
	go func() {
		for {
			s, err := l.AcceptTCP()
			if err != nil {
				return
			}
			go func() { io.Copy(s, s); s.Close() }()
		}
	}()
	var mu sync.Mutex
	good := 0
	one := func(i int) {
		c, err := x.dial(l.Addr().String(), 0, 10*time.Second, nil)
		if err != nil {
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		word := fmt.Sprint("word ", i)
		io.WriteString(c, word)
		c.CloseWrite()
		if rest(c) == word {
			mu.Lock()
			good++
			mu.Unlock()
		}
	}
	var all sync.WaitGroup
	for i := range n {
		if !together {
			one(i)
			continue
		}
		all.Add(1)
		go func() { defer all.Done(); one(i) }()
	}
	all.Wait()
	return fmt.Sprintf("%d good", good)
}

// again uses one client port four times.
func (x *trial) again(reset bool) (got string) {
	l, err := x.listen(nil)
	if err != nil {
		return err.Error()
	}
	defer l.Close()
	for range 4 {
		got += x.to(l, 40000+x.seen, nil, func(c, s *net.TCPConn) string {
			word := say(c, s, "a")
			if reset {
				relay.Abort(c)
				return word + end(s) + " "
			}
			s.Close()
			return word + end(c) + " "
		})
		time.Sleep(20 * time.Millisecond)
	}
	return strings.TrimSpace(got)
}

func fastOpen(x *trial) string {
	queue := func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN, 16) }
	l, err := x.listen(queue)
	if err != nil {
		return err.Error()
	}
	defer l.Close()
	lazily := func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1) }
	got := ""
	for range 2 { // the first time asks for the cookie
		got += x.to2(l, lazily)
	}
	return got
}

// to2 connects when it writes.
func (x *trial) to2(l *net.TCPListener, set func(int) error) string {
	c, err := x.dial(l.Addr().String(), 0, 5*time.Second, set)
	if err != nil {
		return why(err)
	}
	defer c.Close()
	io.WriteString(c, "quick ")
	l.SetDeadline(time.Now().Add(5 * time.Second))
	s, err := l.AcceptTCP()
	if err != nil {
		return "accept: " + why(err)
	}
	defer s.Close()
	s.SetDeadline(time.Now().Add(5 * time.Second))
	c.CloseWrite()
	return rest(s)
}

func multipath(x *trial) string {
	var l net.Listener
	err := x.b.Do(func() (err error) {
		lc := net.ListenConfig{}
		lc.SetMultipathTCP(true)
		l, err = lc.Listen(context.Background(), "tcp", x.target(0))
		return err
	})
	if err != nil {
		return err.Error()
	}
	defer l.Close()
	var c net.Conn
	err = x.a.Do(func() (err error) {
		d := net.Dialer{Timeout: 5 * time.Second}
		d.SetMultipathTCP(true)
		c, err = d.Dial("tcp", l.Addr().String())
		return err
	})
	if err != nil {
		return why(err)
	}
	defer c.Close()
	is, err := c.(*net.TCPConn).MultipathTCP()
	return fmt.Sprint("MPTCP ", is, " ", err == nil)
}

func datagrams(x *trial) string {
	var s net.PacketConn
	err := x.b.Do(func() (err error) {
		s, err = net.ListenPacket("udp", x.target(0))
		return err
	})
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	var c net.Conn
	if err := x.a.Do(func() (err error) {
		c, err = net.Dial("udp", s.LocalAddr().String())
		return err
	}); err != nil {
		return err.Error()
	}
	defer c.Close()
	io.WriteString(c, "datagram")
	s.SetReadDeadline(time.Now().Add(2 * time.Second))
	got := make([]byte, 20)
	n, from, err := s.ReadFrom(got)
	if err != nil {
		return why(err)
	}
	return string(got[:n]) + " from " + same(from.String(), c.LocalAddr().String())
}
