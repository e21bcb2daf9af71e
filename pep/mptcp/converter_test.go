package mptcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"farlink/pep/convert"
)

func local(t *testing.T, mptcp bool) *net.TCPListener {
	t.Helper()
	lc := net.ListenConfig{}
	lc.SetMultipathTCP(mptcp)
	l, err := lc.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

func at(l *net.TCPListener) netip.AddrPort { return netip.MustParseAddrPort(l.Addr().String()) }

// converter starts one, with a secret or without.
func converter(t *testing.T, secret string) (*Converter, netip.AddrPort) {
	t.Helper()
	l := local(t, true)
	v := NewConverter(func(ctx context.Context, _, server netip.AddrPort) (*net.TCPConn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", server.String())
		if err != nil {
			return nil, err
		}
		return c.(*net.TCPConn), nil
	}, []byte(secret), slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- v.Serve(ctx, l) }()
	t.Cleanup(func() { stop(); must(t, <-done) })
	return v, at(l)
}

// A plain client is carried by a terminator to a converter and on to the
// server, with a cookie where one is wanted; a refusal is a reset.
func TestConverter(t *testing.T) {
	for _, secret := range []string{"", "a secret"} {
		server, entrance := local(t, false), local(t, false)
		go serve(server)
		v, where := converter(t, secret)
		closed := local(t, false)
		nobody := at(closed)
		closed.Close()
		target := at(server)
		by := ByConverter(where, "")
		terminator := NewTerminator(Config{}, func(ctx context.Context, client, _ netip.AddrPort) (*net.TCPConn, error) {
			return by(ctx, client, target)
		}, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- terminator.Serve(ctx, entrance) }()
		for range 2 {
			c, err := net.Dial("tcp", entrance.Addr().String())
			must(t, err)
			c.SetDeadline(time.Now().Add(5 * time.Second))
			c.Write([]byte("hello"))
			c.(*net.TCPConn).CloseWrite()
			if got, err := io.ReadAll(c); string(got) != "hello" || err != nil {
				t.Errorf("secret %q: %q came back, %v", secret, got, err)
			}
			c.Close()
		}
		refused := uint64(0)
		if secret != "" {
			refused = 1 // the first try, without the cookie
		}
		if o, r := v.Counts(); o != 2 || r != refused {
			t.Errorf("secret %q: %d opened, %d refused; want 2, %d", secret, o, r, refused)
		}
		target = nobody
		if c, err := net.Dial("tcp", entrance.Addr().String()); err == nil {
			c.SetDeadline(time.Now().Add(5 * time.Second))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("a server that refuses: %v, want a reset", err)
			}
			c.Close()
		}
		stop()
		must(t, <-done)
	}
}

// What a converter says to what it cannot do.
func TestConverterRefuses(t *testing.T) {
	v, where := converter(t, "")
	closed := local(t, false)
	nobody := at(closed)
	closed.Close()
	for _, c := range []struct {
		name string
		say  []byte
		want convert.Code
	}{
		{"nonsense", []byte("GET / HTTP/1.1\r\n\r\n"), convert.Malformed},
		{"another version", []byte{2, 1, 0x22, 0x63}, convert.UnsupportedVersion},
		{"nothing asked", (&convert.Message{}).Append(nil), convert.UnsupportedMessage},
		{"a server that refuses", (&convert.Message{Server: nobody}).Append(nil), convert.ConnectionReset},
	} {
		conn, err := net.Dial("tcp", where.String())
		must(t, err)
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		conn.Write(c.say)
		m, err := convert.Read(conn)
		if err != nil || m.Error == nil || m.Error.Code != c.want {
			t.Errorf("%s: %+v, %v; want %v", c.name, m.Error, err, c.want)
		}
		conn.Close()
	}
	if _, r := v.Counts(); r != 4 {
		t.Errorf("%d refused, want 4", r)
	}
	conn, err := net.Dial("tcp", where.String())
	must(t, err)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	conn.Write((&convert.Message{Info: true}).Append(nil))
	if m, err := convert.Read(conn); err != nil || len(m.Kinds) != 1 || m.Kinds[0] != 30 {
		t.Errorf("info: %+v, %v; want option 30", m, err)
	}
}
