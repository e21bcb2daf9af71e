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
	"farlink/pep/relay"
)

// shape makes a socket behave as its leg says; it returns the congestion
// control that the socket uses.
func (p *Proxy) shape(fd int, l Leg) (string, error) {
	p.fit(&l)
	sends := p.way
	if l.away {
		sends = 1 - sends
	}
	used, err := p.shelf.Use(fd, l.Congestion, l.Fallback, congestion.Place{
		Column: congestion.Column(l.Link, p.way), Path: congestion.Column(l.Link, sends), Gain: l.Gain, Floor: uint32(l.Floor)})
	if err != nil {
		return "", err
	}
	if used != l.Congestion {
		p.counts.fallbacks.Add(1)
	}
	errs := []error{
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, int(l.Unsent)),
		// An end that vanished is noticed as RFC 1122 (4.2.3.6) has it, after
		// two hours: else its connection would be held for ever, since the
		// proxy answers the other end's own questions.
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1),
		// The urgent byte stays in its place in the stream.
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_OOBINLINE, 1),
	}
	if l.Buffer > 0 {
		errs = append(errs,
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, int(l.Buffer)),
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, int(l.Buffer)))
	}
	if pace := p.spacing(used, l); pace > 0 {
		errs = append(errs, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, int(pace/8)))
	}
	return used, errors.Join(errs...)
}

// spacing is the rate of payload beyond which a leg with Hybla over a link
// whose limit is known spaces its packets; 0 is none. Packet spacing is
// Hybla's complement (Caini, Firrincieli 2004): over 600 ms its window grows
// by 256 packets a round, more than the queue of many a satellite modem bears.
func (p *Proxy) spacing(used string, l Leg) link.Rate {
	t := p.feed.Now(congestion.Column(l.Link, p.way))
	if used != "hybla" || l.away || t.At == 0 {
		return 0
	}
	return t.Most * fullPayload / fullFrame
}

// A full frame, and the payload in it: Ethernet, IPv4, TCP with timestamps.
const (
	fullFrame   = 1514
	fullPayload = 1448
)

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
func (p *Proxy) dial(ctx context.Context, e intercept.Ends, fromLAN bool, l Leg) (c *net.TCPConn, used string, err error) {
	v4 := e.Server.Addr().Is4()
	control := func(_, _ string, raw syscall.RawConn) error {
		var set error
		err := raw.Control(func(fd uintptr) {
			set = errors.Join(
				transparent(int(fd), v4),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, intercept.Mark(!fromLAN)))
			if set == nil {
				used, set = p.shape(int(fd), l)
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
// as the server answered. Silence is answered by silence; an ICMP error the
// interception has passed on.
func (p *Proxy) ask(ctx context.Context, h intercept.Held) {
	p.abandon(h.Ends) // of a client that has begun anew
	_, leg := p.config.Load().legs(h.Rule, h.FromLAN)
	server, used, err := p.dial(ctx, h.Ends, h.FromLAN, leg)
	switch {
	case errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ECONNRESET):
		p.asking.Add(-1)
		p.counts.refused.Add(1)
		p.warn(p.syns.Refuse(h), h.Ends)
		time.AfterFunc(time.Second, func() { p.warn(p.syns.Drop(h), h.Ends) })
		return
	case err != nil:
		p.asking.Add(-1)
		p.counts.unreachable.Add(1)
		p.warn(p.syns.Drop(h), h.Ends)
		return
	}
	p.waiting.Store(h.Ends, &half{server, used, h.Since, time.Now()})
	if err := p.syns.Open(h); err != nil {
		p.abandon(h.Ends)
		p.warn(err, h.Ends)
	}
}

// patience is how long an answered server waits for its client's last
// acknowledgement: the client's SYN was replayed, so a few retransmissions.
const patience = 30 * time.Second

// half is a connection to a server whose client has not come yet.
type half struct {
	conn  *net.TCPConn
	used  string
	since uint64 // of its flow
	at    time.Time
}

// abandon resets a server whose client never completed its handshake.
func (p *Proxy) abandon(e intercept.Ends) {
	v, ok := p.waiting.LoadAndDelete(e)
	if !ok {
		return
	}
	p.asking.Add(-1)
	p.counts.orphaned.Add(1)
	relay.Abort(v.(*half).conn)
	p.warn(p.space.Forget(e, v.(*half).since), e)
}

// abandonOld gives up on the clients that have let their servers wait.
func (p *Proxy) abandonOld(before time.Time) {
	p.waiting.Range(func(e, v any) bool {
		if v.(*half).at.Before(before) {
			p.abandon(e.(intercept.Ends))
		}
		return true
	})
}

// warn logs an error that ends one connection only.
func (p *Proxy) warn(err error, e intercept.Ends) {
	if err != nil {
		p.log.Warn("split connection", "client", e.Client, "server", e.Server, "error", err)
	}
}
