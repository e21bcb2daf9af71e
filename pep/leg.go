package pep

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/link"
	"farlink/pep/congestion"
	"farlink/pep/intercept"
)

// shape makes a socket behave as its leg says; it returns the congestion
// control that the socket uses.
func (p *Proxy) shape(fd int, l Leg, tos uint8, v4 bool) (string, error) {
	p.fit(&l)
	used, err := p.shelf.Use(fd, l.Congestion, l.Fallback, congestion.Place{Column: congestion.Column(l.Link, p.way), Gain: l.Gain, Floor: uint32(l.Floor)})
	if err != nil {
		return "", err
	}
	if used != l.Congestion {
		p.counts.fallbacks.Add(1)
	}
	level, option := unix.SOL_IPV6, unix.IPV6_TCLASS
	if v4 {
		level, option = unix.SOL_IP, unix.IP_TOS
	}
	errs := []error{
		unix.SetsockoptInt(fd, level, option, int(tos&^3)), // ECN is each leg's own
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, int(l.Unsent)),
		// The urgent byte stays in its place in the stream.
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_OOBINLINE, 1),
	}
	if l.Buffer > 0 {
		errs = append(errs,
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, int(l.Buffer)),
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, int(l.Buffer)))
	}
	return used, errors.Join(errs...)
}

const (
	unsentLeast = 128 << 10 // bytes; the relay comes often enough
	bufferLeast = 2 << 20
	bufferMost  = 64 << 20
	leastRTT    = 200 * link.Millisecond // of a leg that is not the link's
)

// fit bounds what a leg holds by what its link can carry, where that is known
// and nothing else is asked for: three bandwidth-delay products of the wider
// way, since what was lost and lost again must be kept for three rounds; and
// 50 ms of unsent bytes, since the relay may come late by that on a busy
// machine.
func (p *Proxy) fit(l *Leg) {
	var rate link.Rate
	rtt := leastRTT
	for _, w := range link.Ways {
		t := p.feed.Now(congestion.Column(l.Link, w))
		if t.At == 0 {
			rate = 0 // a way without a limit
			break
		}
		rate, rtt = max(rate, t.Most), max(rtt, t.RTT)
	}
	if l.Unsent == 0 {
		l.Unsent = max(unsentLeast, rate.Bytes(50*link.Millisecond))
	}
	if l.Buffer == 0 && rate > 0 {
		l.Buffer = min(max(3*rate.Bytes(rtt), bufferLeast), bufferMost)
	}
}

// dial opens the leg towards the server with the client's own address, by the
// port away from the client.
func (p *Proxy) dial(ctx context.Context, e intercept.Ends, fromLAN bool, l Leg, tos uint8) (c *net.TCPConn, used string, err error) {
	v4 := e.Server.Addr().Is4()
	control := func(_, _ string, raw syscall.RawConn) error {
		var set error
		err := raw.Control(func(fd uintptr) {
			set = errors.Join(
				transparent(int(fd), v4),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, intercept.Mark(!fromLAN)))
			if set == nil {
				used, set = p.shape(int(fd), l, tos, v4)
			}
		})
		return errors.Join(err, set)
	}
	d := net.Dialer{
		LocalAddr: net.TCPAddrFromAddrPort(e.Client), Control: control, KeepAlive: -1,
		Timeout: time.Duration(p.config.Load().DialTimeout),
	}
	d.SetMultipathTCP(false)
	conn, err := d.DialContext(ctx, "tcp", e.Server.String())
	if err != nil {
		return nil, "", err
	}
	return conn.(*net.TCPConn), used, nil
}

// ask dials the server for a held SYN and lets the SYN in, or has it refused,
// as the server answered. Silence is answered by silence.
func (p *Proxy) ask(ctx context.Context, h intercept.Held) {
	_, leg := p.config.Load().legs(h.Rule, h.FromLAN)
	server, used, err := p.dial(ctx, h.Ends, h.FromLAN, leg, h.TOS)
	switch {
	case errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ECONNRESET):
		p.counts.refused.Add(1)
		p.warn(p.syns.Refuse(h), h.Ends)
		time.AfterFunc(time.Second, func() { p.warn(p.syns.Drop(h), h.Ends) })
		return
	case err != nil:
		p.counts.unreachable.Add(1)
		p.warn(p.syns.Drop(h), h.Ends)
		return
	}
	p.waiting.Store(h.Ends, &half{server, used})
	if err := p.syns.Open(h); err != nil {
		p.waiting.Delete(h.Ends)
		server.Close()
		p.warn(err, h.Ends)
		return
	}
	time.AfterFunc(patience, func() { p.abandon(h.Ends, server) })
}

// patience is how long an answered server waits for its client's last
// acknowledgement: the client's SYN was replayed, so a few retransmissions.
const patience = 30 * time.Second

// half is a connection to a server whose client has not come yet.
type half struct {
	conn *net.TCPConn
	used string
}

// abandon resets a server whose client never completed its handshake.
func (p *Proxy) abandon(e intercept.Ends, server *net.TCPConn) {
	v, ok := p.waiting.Load(e)
	if !ok || v.(*half).conn != server || !p.waiting.CompareAndDelete(e, v) {
		return
	}
	p.counts.orphaned.Add(1)
	abort(server)
	p.warn(p.space.Forget(e), e)
}

// warn logs an error that ends one connection only.
func (p *Proxy) warn(err error, e intercept.Ends) {
	if err != nil {
		p.log.Warn("split connection", "client", e.Client, "server", e.Server, "error", err)
	}
}

// abort closes with a reset.
func abort(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}
