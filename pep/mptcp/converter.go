package mptcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farlink/pep/accept"
	"farlink/pep/convert"
)

// Converter is a transport converter (RFC 8803): clients that know it ask by
// MPTCP for a server, and it goes on by plain TCP. Its answer to a Connect is
// the first of the stream: kernel sockets cannot put it into the SYN+ACK.
type Converter struct {
	dial   Dial
	secret []byte // of cookies; none asks for none
	log    *slog.Logger

	opened, refused atomic.Uint64
}

// NewConverter returns a converter. With a secret, a client must come with the
// cookie that it is given at its first try.
func NewConverter(dial Dial, secret []byte, log *slog.Logger) *Converter {
	return &Converter{dial: dial, secret: secret, log: log}
}

// Counts returns how many connections were opened and refused.
func (v *Converter) Counts() (opened, refused uint64) { return v.opened.Load(), v.refused.Load() }

// messageTime is how long a client may take to say what it wants.
const messageTime = 10 * time.Second

// Serve takes clients until ctx ends.
func (v *Converter) Serve(ctx context.Context, listeners ...*net.TCPListener) error {
	var open sync.WaitGroup
	accept.Each(ctx, v.log, "converter", func(c *net.TCPConn, _ int) { open.Go(func() { v.carry(ctx, c) }) }, listeners...)
	open.Wait()
	return nil
}

// carry answers one client.
func (v *Converter) carry(ctx context.Context, c *net.TCPConn) {
	unhook := context.AfterFunc(ctx, func() { abort(c) })
	defer unhook()
	server, answer, err := v.answer(ctx, c)
	if err != nil {
		v.refused.Add(1)
		v.log.Debug("converter", "client", c.RemoteAddr(), "error", err)
	}
	if _, bad := c.Write(answer.Append(nil)); bad != nil && err == nil {
		err = bad
	}
	if err != nil || server == nil {
		if server != nil {
			abort(server)
		}
		c.CloseWrite()
		time.AfterFunc(time.Second, func() { c.Close() })
		return
	}
	v.opened.Add(1)
	drop := context.AfterFunc(ctx, func() { abort(server) })
	defer drop()
	relay(c, server)
}

// answer reads what a client wants and does it.
func (v *Converter) answer(ctx context.Context, c *net.TCPConn) (*net.TCPConn, convert.Message, error) {
	refuse := func(err error) (*net.TCPConn, convert.Message, error) {
		return nil, convert.Message{Error: refusal(err)}, err
	}
	c.SetReadDeadline(time.Now().Add(messageTime))
	m, err := convert.Read(c)
	if err != nil {
		return refuse(err)
	}
	c.SetReadDeadline(time.Time{})
	client, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return refuse(err)
	}
	if want := v.cookie(client.Addr()); want != nil && !hmac.Equal(want, m.Cookie) {
		return refuse(&convert.Refusal{Code: convert.MissingCookie, Value: want})
	}
	switch {
	case m.Info:
		return nil, convert.Message{Kinds: []byte{tcpOptionMPTCP}}, nil
	case !m.Server.IsValid():
		return refuse(&convert.Refusal{Code: convert.UnsupportedMessage})
	}
	server, err := v.dial(ctx, client, m.Server)
	if err != nil {
		return refuse(err)
	}
	return server, convert.Message{}, nil
}

// tcpOptionMPTCP is the kind of MPTCP's option (RFC 8684).
const tcpOptionMPTCP = 30

// cookie is what a client at an address must come with.
func (v *Converter) cookie(client netip.Addr) []byte {
	if len(v.secret) == 0 {
		return nil
	}
	m := hmac.New(sha256.New, v.secret)
	m.Write(client.Unmap().AsSlice())
	return m.Sum(nil)[:8]
}

// refusal says an error in the protocol's words.
func refusal(err error) *convert.Refusal {
	var known *convert.Refusal
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, convert.ErrMalformed):
		return &convert.Refusal{Code: convert.Malformed}
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ECONNRESET):
		return &convert.Refusal{Code: convert.ConnectionReset}
	case errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ENETUNREACH):
		return &convert.Refusal{Code: convert.Unreachable}
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOBUFS):
		return &convert.Refusal{Code: convert.ResourceExceeded}
	}
	return &convert.Refusal{Code: convert.NetworkFailure}
}

// ByConverter is a Dial that goes by MPTCP to a converter and asks it to go
// on; a Terminator with it serves plain TCP clients. What the converter
// refuses becomes a reset at the client. It comes again once with a cookie
// that is asked for.
func ByConverter(at netip.AddrPort, congestion string) Dial {
	var mu sync.Mutex
	var cookie []byte
	return func(ctx context.Context, _, server netip.AddrPort) (*net.TCPConn, error) {
		mu.Lock()
		m := convert.Message{Server: server, Cookie: cookie}
		mu.Unlock()
		for again := false; ; again = true {
			c, err := ask(ctx, at, congestion, m)
			var refused *convert.Refusal
			if again || !errors.As(err, &refused) || refused.Code != convert.MissingCookie {
				return c, err
			}
			m.Cookie = refused.Value
			mu.Lock()
			cookie = m.Cookie
			mu.Unlock()
		}
	}
}

// ask opens a connection to a converter and hears what it says.
func ask(ctx context.Context, at netip.AddrPort, congestion string, m convert.Message) (*net.TCPConn, error) {
	d := net.Dialer{KeepAlive: -1}
	d.SetMultipathTCP(true)
	conn, err := d.DialContext(ctx, "tcp", at.String())
	if err != nil {
		return nil, fmt.Errorf("converter %v: %w", at, err)
	}
	c := conn.(*net.TCPConn)
	raw, err := c.SyscallConn()
	if err == nil {
		err = control(raw, func(fd int) error { return shape(fd, congestion, 0) })
	}
	if err == nil {
		_, err = c.Write(m.Append(nil))
	}
	if err == nil {
		c.SetReadDeadline(time.Now().Add(3 * messageTime))
		var answer convert.Message
		if answer, err = convert.Read(c); err == nil && answer.Error != nil {
			err = answer.Error
		}
		c.SetReadDeadline(time.Time{})
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
