package pep

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"farlink/pep/intercept"
	"farlink/pep/relay"
)

// serve joins an accepted client to its server and relays until both have
// ended.
func (p *Proxy) serve(ctx context.Context, client *net.TCPConn) {
	p.counts.accepted.Add(1)
	e := intercept.Ends{Client: addrPort(client.RemoteAddr()), Server: addrPort(client.LocalAddr())}
	flow, ok, err := p.space.Flow(e)
	if err != nil || !ok {
		p.warn(errors.Join(err, errNoFlow), e)
		relay.Abort(client)
		return
	}
	s, err := p.join(ctx, e, flow, client)
	if err != nil {
		p.warn(ignoreRefusal(err), e)
		relay.Abort(client)
		p.warn(p.space.Forget(e, flow.Since), e)
		return
	}
	p.flows.add(s)
	if s.relay.Run(p.pipes) {
		p.counts.resets.Add(1)
	}
	p.flows.remove(s)
	p.ending.add(ended{e, flow.Since, time.Now()})
}

var errNoFlow = errors.New("the interception does not know it any more")

// ignoreRefusal drops what is the server's answer and no fault.
func ignoreRefusal(err error) error {
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// join finds the server that was dialled for the client's SYN, or dials it
// now (an early handshake).
func (p *Proxy) join(ctx context.Context, e intercept.Ends, f intercept.Flow, client *net.TCPConn) (*Split, error) {
	toClient, toServer := p.config.Load().legs(f.Rule, f.FromLAN)
	used, err := p.shapeAccepted(client, toClient)
	if err != nil {
		return nil, err
	}
	s := &Split{Ends: e, FromLAN: f.FromLAN, Since: time.Now(), flow: f.Since, relay: relay.Relay{Client: client}, clientCC: used}
	if v, ok := p.waiting.LoadAndDelete(e); ok {
		p.asking.Add(-1)
		s.relay.Server, s.serverCC = v.(*half).conn, v.(*half).used
		return s, nil
	}
	s.relay.Server, s.serverCC, err = p.dial(ctx, e, f.FromLAN, toServer)
	if err != nil {
		if errors.Is(err, unix.ECONNREFUSED) {
			p.counts.refused.Add(1)
		} else {
			p.counts.unreachable.Add(1)
		}
	}
	return s, err
}

// shapeAccepted is shape for a socket that the listener gave.
func (p *Proxy) shapeAccepted(c syscall.Conn, l Leg) (used string, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return "", err
	}
	var set error
	err = raw.Control(func(fd uintptr) { used, set = p.shape(int(fd), l) })
	return used, errors.Join(err, set)
}

func addrPort(a net.Addr) netip.AddrPort {
	ap := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
