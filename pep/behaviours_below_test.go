package pep

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"farlink/emulator/netlab"
	"farlink/pep/relay"
)

// below are behaviours that show under TCP: frames, headers, and the errors
// of routers behind the ends.
var below = []behaviour{
	{"MAC addresses, both ways", func(x *trial) string {
		return x.watched(nil, nil, func(f frame) string { return f.macs })
	}},
	{"TCP in a VLAN", func(x *trial) string {
		return x.watched(mark(netlab.TaggedOnce), mark(netlab.TaggedOnce), func(f frame) string { return f.tags })
	}},
	{"TCP in two VLAN tags (QinQ)", func(x *trial) string {
		return x.watched(mark(netlab.TaggedTwice), mark(netlab.TaggedTwice), func(f frame) string { return f.tags })
	}},
	{"a VLAN one way, another back", func(x *trial) string {
		return x.watched(mark(netlab.TaggedOnce), mark(netlab.TaggedTwice), func(f frame) string { return f.tags })
	}},
	{"DSCP, another each way", func(x *trial) string {
		return x.watched(x.class(10), x.class(46), func(f frame) string { return fmt.Sprint("DSCP ", f.dscp) })
	}},
	{"hop limit, another each way", func(x *trial) string {
		return x.watched(x.hops(128), x.hops(200), func(f frame) string { return fmt.Sprint(f.hops, " hops") })
	}},
	{"DSCP that changes within a connection", classChanges},
	{"IPv4 options or IPv6 destination options", options},
	{"TCP signed by MD5 (RFC 2385)", signed},
	{"an urgent byte, read out of band", func(x *trial) string { return x.with(urgentByte) }},
	{"a router that knows no way", func(x *trial) string { return x.toRouter(3) }},
	{"a router that prohibits", func(x *trial) string { return x.toRouter(4) }},
	{"a router that ends a SYN's hops", func(x *trial) string {
		c, err := x.dial(net.JoinHostPort(x.pick("10.81.0.2", "fd81::2"), "9"), 0, 3*time.Second, x.hops(1))
		if err == nil {
			c.Close()
		}
		return why(err)
	}},
	{"behind routers, smaller packets to the server", func(x *trial) string {
		return x.routed(func(c, s *net.TCPConn) string { go func() { c.Write(block); c.CloseWrite() }(); return all(s) })
	}},
	{"behind routers, smaller packets to the client", func(x *trial) string {
		return x.routed(func(c, s *net.TCPConn) string { go func() { s.Write(block); s.CloseWrite() }(); return all(c) })
	}},
	{"behind routers, a closed port", func(x *trial) string {
		y := *x
		y.a, y.b = x.d, x.c
		_, err := y.dial(y.target(9), 0, 3*time.Second, nil)
		return why(err)
	}},
	{"simultaneous open by the network's side", func(x *trial) string { return x.simultaneous(false) }},
	{"simultaneous open by the device's side", func(x *trial) string { return x.simultaneous(true) }},
	{"the server calls back, between the same ports", callsBack},
}

func mark(value int) func(int) error {
	return func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, value) }
}

func (x *trial) pick(v4, v6 string) string {
	if x.v6 {
		return v6
	}
	return v4
}

func (x *trial) class(dscp int) func(int) error {
	if x.v6 {
		return func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_TCLASS, dscp<<2) }
	}
	return func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TOS, dscp<<2) }
}

func (x *trial) hops(n int) func(int) error {
	if x.v6 {
		return func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_UNICAST_HOPS, n) }
	}
	return func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TTL, n) }
}

// watched says what frames with bytes in them look like at the server, and at
// the client, of a connection whose sockets are set so.
func (x *trial) watched(client, server func(int) error, look func(frame) string) string {
	l, err := x.listen(server)
	if err != nil {
		return "listen: " + err.Error()
	}
	defer l.Close()
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	atServer, err := watch(x.b, port)
	if err != nil {
		return err.Error()
	}
	defer atServer.tap.Close()
	atClient, err := watch(x.a, port)
	if err != nil {
		return err.Error()
	}
	defer atClient.tap.Close()
	said := x.to(l, 0, client, func(c, s *net.TCPConn) string {
		return say(c, s, "ping") + say(s, c, "pong") + say(c, s, "ping") + say(s, c, "pong")
	})
	return fmt.Sprintf("%s; %s; %s", said, atServer.seen(x, look), atClient.seen(x, look))
}

// classChanges: the traffic class of later bytes is another.
func classChanges(x *trial) string {
	l, err := x.listen(nil)
	if err != nil {
		return err.Error()
	}
	defer l.Close()
	w, err := watch(x.b, uint16(l.Addr().(*net.TCPAddr).Port))
	if err != nil {
		return err.Error()
	}
	defer w.tap.Close()
	said := x.to(l, 0, x.class(10), func(c, s *net.TCPConn) string {
		first := say(c, s, "ping") + say(s, c, "pong")
		on(c, func(fd int) { x.class(34)(fd) })
		return first + say(c, s, "ping") + say(s, c, "pong")
	})
	return said + "; " + w.seen(x, func(f frame) string { return fmt.Sprint("DSCP ", f.dscp) })
}

// options: a SYN with options of IP.
func options(x *trial) string {
	set := func(fd int) error {
		if x.v6 { // a destination options header of eight bytes: PadN
			return unix.SetsockoptString(fd, unix.SOL_IPV6, unix.IPV6_DSTOPTS, "\x00\x00\x01\x04\x00\x00\x00\x00")
		}
		return unix.SetsockoptString(fd, unix.SOL_IP, unix.IP_OPTIONS, "\x01\x01\x01\x01")
	}
	return x.withFrom(0, set, func(c, s *net.TCPConn) string {
		return say(c, s, "ping") + say(s, c, "pong") + ", " + savedOptions(s)
	})
}

// savedOptions says whether the SYN that the server kept had options of IP.
func savedOptions(s *net.TCPConn) (got string) {
	on(s, func(fd int) {
		h := savedHeaders(fd)
		if len(h) > 6 && h[0]>>4 == 6 {
			got = fmt.Sprintf("next header %d", h[6])
		} else if len(h) > 0 {
			got = fmt.Sprintf("header of %d bytes", 4*(h[0]&15))
		}
	})
	return got
}

// signed: segments carry a signature that both ends know the key of.
func signed(x *trial) string {
	key := func(other netlab.End) func(int) error {
		return func(fd int) error {
			var k unix.TCPMD5Sig
			k.Addr.Family = unix.AF_INET
			if x.v6 {
				k.Addr.Family = unix.AF_INET6
				copy((*[32]byte)(unsafe.Pointer(&k.Addr))[8:], other.V6.To16())
			} else {
				copy((*[32]byte)(unsafe.Pointer(&k.Addr))[4:], other.IP.To4())
			}
			k.Keylen = uint16(copy(k.Key[:], "secret"))
			return unix.SetsockoptTCPMD5Sig(fd, unix.IPPROTO_TCP, unix.TCP_MD5SIG, &k)
		}
	}
	l, err := x.listen(key(x.a))
	if err != nil {
		return "listen: " + err.Error()
	}
	defer l.Close()
	return x.to(l, 0, key(x.b), pingPong)
}

// urgentByte stands between others, and is read beside them.
func urgentByte(c, s *net.TCPConn) string {
	on(c, func(fd int) { unix.Sendto(fd, []byte("ur!"), unix.MSG_OOB, nil) })
	got := make([]byte, 2)
	if _, err := io.ReadFull(s, got); err != nil {
		return why(err)
	}
	beside := "none"
	for end := time.Now().Add(time.Second); beside == "none" && time.Now().Before(end); time.Sleep(time.Millisecond) {
		on(s, func(fd int) {
			one := make([]byte, 1)
			if n, _, err := unix.Recvfrom(fd, one, unix.MSG_OOB|unix.MSG_DONTWAIT); err == nil && n == 1 {
				beside = string(one)
			}
		})
	}
	return fmt.Sprintf("%s and, urgent, %s; %s", got, beside, say(c, s, "calm"))
}

// toRouter connects to a network for which the router behind the box has an
// answer.
func (x *trial) toRouter(network int) string {
	c, err := x.dial(net.JoinHostPort(x.pick(fmt.Sprintf("10.9%d.0.1", network), fmt.Sprintf("fd9%d::1", network)), "9"), 0, 3*time.Second, nil)
	if err == nil {
		c.Close()
	}
	return why(err)
}

// routed tries f between the ends behind the routers.
func (x *trial) routed(f func(c, s *net.TCPConn) string) string {
	y := *x
	y.a, y.b = x.d, x.c
	return y.with(f)
}

// callsBack: when a connection has ended, its server opens one to its client,
// from the same port to the same port.
func callsBack(x *trial) string {
	l, err := x.listen(nil)
	if err != nil {
		return err.Error()
	}
	port := 42000 + x.seen
	first := x.to(l, port, nil, func(c, s *net.TCPConn) string { w := say(c, s, "ping"); relay.Abort(c); return w + end(s) })
	back := *x
	back.a, back.b = x.b, x.a
	from := l.Addr().(*net.TCPAddr).Port
	l.Close()
	if l, err = back.listenAt(port); err != nil {
		return err.Error()
	}
	defer l.Close()
	return first + ", back: " + back.to(l, from, nil, pingPong)
}

// simultaneous: an end's kernel opens a connection to one who opens it too,
// by hand.
func (x *trial) simultaneous(byDevice bool) string {
	kernel, hand := x.b, x.a
	address := x.pick("10.77.0.5", "fd77::5")
	if byDevice {
		kernel, hand = x.a, x.b
		address = x.pick("10.77.0.6", "fd77::6")
	}
	y := *x
	y.a = kernel
	port := 43000 + x.seen
	h, err := newHand(hand, address, uint16(port))
	if err != nil {
		return err.Error()
	}
	defer h.tap.Close()
	byHand := make(chan string, 1)
	go func() { byHand <- h.open() }()
	c, err := y.dial(net.JoinHostPort(address, fmt.Sprint(port)), 0, 5*time.Second, nil)
	if err != nil {
		return why(err) + "; " + <-byHand
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	got := make([]byte, len(handSays))
	if _, err := io.ReadFull(c, got); err != nil {
		return why(err) + "; " + <-byHand
	}
	io.WriteString(c, "heard")
	return string(got) + "; " + <-byHand
}

// seen are the looks of the frames with bytes that came to the end, each
// once, sorted.
func (w *watcher) seen(x *trial, look func(frame) string) string {
	var all []string
	for _, f := range w.frames(x) {
		all = append(all, look(f))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " and ")
}
