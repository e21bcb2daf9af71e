package multipath

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"farlink/pep/accept"
	"farlink/pep/congestion"
	"farlink/pep/framing"
)

// Carrier is a way from the router to the proxy.
type Carrier struct {
	Name   string
	Local  netip.Addr     // by which subflows leave
	Proxy  netip.AddrPort // where the proxy listens on this carrier
	Backup bool           // only while no other carrier is up
}

// Router is the relay near the clients. Its methods must be called, and its
// sockets are opened, in the network namespace of the calling threads; In,
// where set, runs a function in the namespace of the carriers.
type Router struct {
	*end
	carriers []Carrier
	links    *links
	In       func(func() error) error
}

// NewRouter returns a router over carriers.
func NewRouter(c Config, key []byte, carriers []Carrier, shelf *congestion.Shelf, groups *Groups, log *slog.Logger) (*Router, error) {
	if len(carriers) == 0 || len(carriers) > framing.MostPaths {
		return nil, fmt.Errorf("multipath: %d carriers, want 1 to %d", len(carriers), framing.MostPaths)
	}
	e, err := newEnd(c, key, shelf, groups, log)
	if err != nil {
		return nil, err
	}
	return &Router{end: e, carriers: carriers, links: newLinks(len(carriers)), In: func(f func() error) error { return f() }}, nil
}

// Tunnel is a connection that the router has opened to a server.
type Tunnel struct{ session *session }

// Open asks the proxy, by every carrier, to connect client to server. It
// returns when the server has answered, or why not.
func (r *Router) Open(ctx context.Context, client, server netip.AddrPort) (*Tunnel, error) {
	var t token
	rand.Read(t[:])
	s, err := r.newSession(context.WithoutCancel(ctx), t)
	if err != nil {
		return nil, err
	}
	payload, err := connectPayload(client, server)
	if err != nil {
		s.stop(err)
		return nil, err
	}
	s.mu.Lock()
	s.client, s.server = client, server
	s.mu.Unlock()
	for i := range r.carriers {
		go r.keep(s, i, payload)
	}
	go s.pump()
	select {
	case <-s.opened:
		return &Tunnel{s}, nil
	case <-ctx.Done():
		s.stop(ctx.Err())
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
}

// Run carries a client's connection until it has ended, and returns why it
// did; nil for a proper end.
func (t *Tunnel) Run(app *net.TCPConn) error {
	t.session.run(app)
	if err := context.Cause(t.session.ctx); !errors.Is(err, errDone) {
		return err
	}
	return nil
}

// Close resets the connection.
func (t *Tunnel) Close() { t.session.stop(errors.New("closed")) }

// rejoin is how long a path that could not be had, or was lost, is left
// alone.
const rejoin = 500 * time.Millisecond

// keep holds the session's subflow on carrier i: dials it, reads it, and
// dials again when it is lost.
func (r *Router) keep(s *session, i int, connect []byte) {
	for r.links.await(s.ctx, i) == nil {
		f, err := r.dial(s, i)
		if err == nil {
			err = s.use(f, connect)
		}
		if s.ctx.Err() == nil {
			r.log.Debug("multipath: subflow lost", "carrier", r.carriers[i].Name, "error", err)
		}
		r.links.pause(s.ctx, i)
	}
}

// use makes a new subflow part of the session, and reads it to its end.
func (s *session) use(f *subflow, connect []byte) error {
	defer f.conn.Close()
	if err := s.begin(f, connect); err != nil {
		return err
	}
	if err := s.join(f); err != nil {
		return err
	}
	return s.listen(f, nil)
}

// begin asks for the connection on a new subflow, while it is not open.
func (s *session) begin(f *subflow, connect []byte) error {
	select {
	case <-s.opened:
		return nil
	default:
		return f.insist(&framing.Frame{Type: framing.Connect, Payload: connect})
	}
}

// dial opens a subflow and says hello.
func (r *Router) dial(s *session, i int) (*subflow, error) {
	c := r.carriers[i]
	var law string
	d := net.Dialer{
		LocalAddr: &net.TCPAddr{IP: c.Local.AsSlice()}, Timeout: 10 * time.Second, KeepAlive: -1,
		Control: func(_, _ string, raw syscall.RawConn) error {
			var set error
			err := raw.Control(func(fd uintptr) { law, set = r.shape(int(fd), &s.conf, s.group, i) })
			return errors.Join(err, set)
		},
	}
	d.SetMultipathTCP(false)
	var conn net.Conn
	err := r.In(func() (err error) {
		conn, err = d.DialContext(s.ctx, "tcp", c.Proxy.String())
		return err
	})
	if err != nil {
		return nil, err
	}
	h := framing.Hello{Subflow: uint8(i), Token: s.token, Unix: time.Now().Unix()}
	rand.Read(h.Nonce[:])
	greeting, err := conn.Write(h.Append(nil, r.key))
	if err != nil {
		conn.Close()
		return nil, err
	}
	f, err := newSubflow(i, c.Name, conn.(*net.TCPConn), law)
	if err == nil {
		err = r.fit(f, &s.conf)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	f.backup = c.Backup || s.conf.backup(i)
	f.sent.Add(uint64(greeting))
	return f, nil
}

// Serve takes clients from a listener and carries each to target's server,
// until ctx ends.
func (r *Router) Serve(ctx context.Context, l *net.TCPListener, target func(*net.TCPConn) netip.AddrPort) error {
	var clients sync.WaitGroup
	accept.Each(ctx, r.log, "multipath: client", func(c *net.TCPConn, _ int) {
		clients.Go(func() { r.carry(ctx, c, target(c)) })
	}, l)
	clients.Wait()
	return nil
}

// openTime is how long a server may take to answer.
const openTime = 30 * time.Second

// carry opens a tunnel for a client that is there already: what its server
// refuses is a reset.
func (r *Router) carry(ctx context.Context, c *net.TCPConn, server netip.AddrPort) {
	client, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	ask, done := context.WithTimeout(ctx, openTime)
	t, err := r.Open(ask, client, server)
	done()
	if err == nil {
		unhook := context.AfterFunc(ctx, t.Close)
		err = t.Run(c)
		unhook()
	}
	if err != nil {
		abort(c)
		r.log.Debug("multipath: connection", "client", client, "server", server, "error", err)
	}
}

func isNotConnected(err error) bool { return errors.Is(err, unix.ENOTCONN) }

// connectPayload says who connects to whom: two times an address in 16 bytes
// and a port.
func connectPayload(client, server netip.AddrPort) ([]byte, error) {
	if !server.IsValid() || !client.IsValid() {
		return nil, fmt.Errorf("multipath: connect %v to %v: want an address and a port", client, server)
	}
	var b []byte
	for _, a := range []netip.AddrPort{client, server} {
		ip := a.Addr().As16()
		b = append(append(b, ip[:]...), byte(a.Port()>>8), byte(a.Port()))
	}
	return b, nil
}

func readConnect(b []byte) (client, server netip.AddrPort, err error) {
	if len(b) != 36 {
		return client, server, fmt.Errorf("%w: connect of %d bytes, want 36", framing.ErrCorrupt, len(b))
	}
	at := func(b []byte) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b)).Unmap(), uint16(b[16])<<8|uint16(b[17]))
	}
	return at(b), at(b[18:]), nil
}
