package multipath

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"farlink/pep/accept"
	"farlink/pep/congestion"
	"farlink/pep/framing"
)

// Dial opens the plain connection to a server for a client.
type Dial func(ctx context.Context, client, server netip.AddrPort) (*net.TCPConn, error)

// Proxy is the relay near the servers.
type Proxy struct {
	*end
	dial Dial

	guard sync.Mutex
	seen  framing.Seen
	known map[token]fate // connections that are or were: nobody begins them again
}

// fate is when a connection was last heard of, and whether it ended properly.
type fate struct {
	at     time.Time
	proper bool
}

// NewProxy returns a proxy that opens plain connections by dial.
func NewProxy(c Config, key []byte, dial Dial, shelf *congestion.Shelf, groups *Groups, log *slog.Logger) (*Proxy, error) {
	e, err := newEnd(c, key, shelf, groups, log)
	if err != nil {
		return nil, err
	}
	return &Proxy{end: e, dial: dial, known: map[token]fate{}}, nil
}

// Serve takes subflows from the listeners, one per carrier, until ctx ends.
func (p *Proxy) Serve(ctx context.Context, carriers []string, listeners ...*net.TCPListener) error {
	accept.Each(ctx, p.log, "multipath: subflow", func(c *net.TCPConn, i int) { go p.welcome(ctx, c, carriers[i]) }, listeners...)
	return nil
}

// helloTime is how long a subflow may take to say who it is.
const helloTime = 5 * time.Second

// welcome reads a subflow's hello and makes it part of its connection.
func (p *Proxy) welcome(ctx context.Context, c *net.TCPConn, carrier string) {
	s, f, err := p.admit(ctx, c, carrier)
	if ended := (*endedError)(nil); errors.As(err, &ended) {
		farewell(c, ended.proper)
		return
	}
	if err != nil {
		p.totals.refused.Add(1)
		p.log.Warn("multipath: subflow refused", "from", c.RemoteAddr(), "carrier", carrier, "error", err)
		abort(c)
		return
	}
	if err := s.join(f); err != nil {
		c.Close()
		return
	}
	var once sync.Once
	s.listen(f, func(payload []byte) {
		client, server, err := readConnect(payload)
		if err != nil {
			s.stop(err)
			return
		}
		once.Do(func() { p.connect(s, client, server) })
	})
}

func (p *Proxy) admit(ctx context.Context, c *net.TCPConn, carrier string) (*session, *subflow, error) {
	c.SetReadDeadline(time.Now().Add(helloTime))
	h, err := framing.ReadHello(c, p.key)
	if err != nil {
		return nil, nil, err
	}
	c.SetReadDeadline(time.Time{})
	if h.Subflow >= framing.MostPaths {
		return nil, nil, fmt.Errorf("subflow %d, at most %d", h.Subflow, framing.MostPaths-1)
	}
	s, err := p.session(ctx, &h)
	if err != nil {
		return nil, nil, err
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	var law string
	var set error
	err = raw.Control(func(fd uintptr) { law, set = p.shape(int(fd), &s.conf, s.group, int(h.Subflow)) })
	if err = errors.Join(err, set); err != nil {
		return nil, nil, err
	}
	f, err := newSubflow(int(h.Subflow), carrier, c, law)
	if err != nil {
		return nil, nil, err
	}
	f.backup = s.conf.backup(f.index)
	return s, f, p.fit(f, &s.conf)
}

// session finds the connection of a hello, or begins it.
func (p *Proxy) session(ctx context.Context, h *framing.Hello) (*session, error) {
	p.guard.Lock()
	defer p.guard.Unlock()
	now := time.Now()
	if err := p.seen.Check(h, now.Unix()); err != nil {
		return nil, err
	}
	p.mu.Lock()
	s := p.sessions[h.Token]
	p.mu.Unlock()
	if s != nil {
		return s, nil
	}
	if was, known := p.known[h.Token]; known {
		return nil, &endedError{was.proper}
	}
	p.note(h.Token, false)
	s, err := p.newSession(ctx, h.Token)
	if err != nil {
		return nil, err
	}
	go s.pump()
	context.AfterFunc(s.ctx, func() {
		p.guard.Lock()
		defer p.guard.Unlock()
		p.note(h.Token, errors.Is(context.Cause(s.ctx), errDone))
	})
	time.AfterFunc(openTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.isOpen {
			s.stop(errors.New("never opened"))
		}
	})
	return s, nil
}

// endedError is a subflow of a connection that is no more.
type endedError struct{ proper bool }

func (e *endedError) Error() string {
	return fmt.Sprintf("the connection has ended, properly: %v", e.proper)
}

// farewell tells a router that its connection is over: what said so first may
// have been lost with a path, and who joins without being told would try for
// good.
func farewell(c *net.TCPConn, proper bool) {
	f := framing.Frame{Type: framing.Reset, Payload: []byte("the connection has ended")}
	if proper {
		f.Flags = framing.Last
	}
	c.Write(f.Append(nil))
	c.CloseWrite()
	time.AfterFunc(lingers, func() { c.Close() })
}

// note remembers a connection for as long as one of its subflows may still be
// on its way after its end.
func (p *Proxy) note(t token, proper bool) {
	p.known[t] = fate{time.Now(), proper}
	if len(p.known) < 1<<14 {
		return
	}
	for t, was := range p.known {
		if time.Since(was.at) > framing.Tolerance*time.Second {
			delete(p.known, t)
		}
	}
}

// connect dials the server, once a connection, and says that it answered.
func (p *Proxy) connect(s *session, client, server netip.AddrPort) {
	s.mu.Lock()
	first := !s.isDialed
	s.client, s.server = client, server
	s.isDialed = true
	if !first && s.isOpen {
		s.say(&framing.Frame{Type: framing.Opened})
	}
	s.mu.Unlock()
	if !first {
		return
	}
	go func() {
		app, err := p.dial(s.ctx, client, server)
		if err != nil {
			s.stop(err)
			return
		}
		s.mu.Lock()
		s.isOpen = true
		s.say(&framing.Frame{Type: framing.Opened})
		s.mu.Unlock()
		s.run(app)
	}()
}
