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

	"golang.org/x/sync/errgroup"

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
	gone  map[token]time.Time // connections that have ended: nobody joins them
}

// NewProxy returns a proxy that opens plain connections by dial.
func NewProxy(c Config, key []byte, dial Dial, shelf *congestion.Shelf, groups *Groups, log *slog.Logger) (*Proxy, error) {
	e, err := newEnd(c, key, shelf, groups, log)
	if err != nil {
		return nil, err
	}
	return &Proxy{end: e, dial: dial, gone: map[token]time.Time{}}, nil
}

// Serve takes subflows from the listeners, one per carrier, until ctx ends.
func (p *Proxy) Serve(ctx context.Context, carriers []string, listeners ...*net.TCPListener) error {
	g, ctx := errgroup.WithContext(ctx)
	for i, l := range listeners {
		context.AfterFunc(ctx, func() { l.Close() })
		g.Go(func() error {
			for {
				c, err := l.AcceptTCP()
				if ctx.Err() != nil {
					return nil
				}
				if err != nil {
					return fmt.Errorf("multipath: accept a subflow: %w", err)
				}
				go p.welcome(ctx, c, carriers[i])
			}
		})
	}
	return g.Wait()
}

// helloTime is how long a subflow may take to say who it is.
const helloTime = 5 * time.Second

// welcome reads a subflow's hello and makes it part of its connection.
func (p *Proxy) welcome(ctx context.Context, c *net.TCPConn, carrier string) {
	s, f, err := p.admit(ctx, c, carrier)
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
	return s, f, err
}

// session finds the connection of a hello, or begins it.
func (p *Proxy) session(ctx context.Context, h *framing.Hello) (*session, error) {
	p.guard.Lock()
	defer p.guard.Unlock()
	now := time.Now()
	if err := p.seen.Check(h, now.Unix()); err != nil {
		return nil, err
	}
	if _, gone := p.gone[h.Token]; gone {
		return nil, fmt.Errorf("the connection has ended")
	}
	p.mu.Lock()
	s := p.sessions[h.Token]
	p.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := p.newSession(ctx, h.Token)
	if err != nil {
		return nil, err
	}
	go s.pump()
	context.AfterFunc(s.ctx, func() { p.forget(h.Token) })
	time.AfterFunc(openTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.isOpen {
			s.stop(errors.New("never opened"))
		}
	})
	return s, nil
}

// forget notes that a connection has ended, for as long as one of its
// subflows may still be on its way.
func (p *Proxy) forget(t token) {
	p.guard.Lock()
	defer p.guard.Unlock()
	p.gone[t] = time.Now()
	if len(p.gone) < 1<<14 {
		return
	}
	for t, at := range p.gone {
		if time.Since(at) > framing.Tolerance*time.Second {
			delete(p.gone, t)
		}
	}
}

// connect dials the server, once a connection, and says that it answered.
func (p *Proxy) connect(s *session, client, server netip.AddrPort) {
	s.mu.Lock()
	first := !s.isDialed
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
