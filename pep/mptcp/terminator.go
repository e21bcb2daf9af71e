package mptcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"farlink/emulator/link"
	"farlink/pep/accept"
	"farlink/pep/reroute"
)

// Config of a terminator.
type Config struct {
	Congestion string    `toml:"congestion" json:"congestion"` // of all subflows; "" leaves it to routes (congctl) and the system
	Buffer     link.Size `toml:"buffer" json:"buffer"`         // that a connection may queue; 0 is the kernel's. About twice what all paths hold
}

// Dial goes on for a client to a server.
type Dial func(ctx context.Context, client, server netip.AddrPort) (*net.TCPConn, error)

// Terminator ends connections at one side and goes on at the other: MPTCP on
// one of them, or on both.
type Terminator struct {
	dial Dial
	log  *slog.Logger

	mu        sync.Mutex
	config    Config
	listeners []*net.TCPListener
	pairs     map[*net.TCPConn]*net.TCPConn

	opened, fallbacks, failed atomic.Uint64
}

// NewTerminator returns one that goes on by dial.
func NewTerminator(c Config, dial Dial, log *slog.Logger) *Terminator {
	return &Terminator{config: c, dial: dial, log: log, pairs: map[*net.TCPConn]*net.TCPConn{}}
}

// Configure puts a configuration in force for new connections.
func (t *Terminator) Configure(c Config) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.listeners {
		if raw, err := l.SyscallConn(); err != nil {
			return err
		} else if err := control(raw, func(fd int) error { return shape(fd, c.Congestion, int(c.Buffer)) }); err != nil {
			return fmt.Errorf("shape the listener at %v: %w", l.Addr(), err)
		}
	}
	t.config = c
	return nil
}

// Shape makes a connection that somebody else opened as the terminator's are.
func (t *Terminator) Shape(c *net.TCPConn) error {
	t.mu.Lock()
	config := t.config
	t.mu.Unlock()
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return control(raw, func(fd int) error { return shape(fd, config.Congestion, int(config.Buffer)) })
}

// Serve takes connections from listeners until ctx ends, and then resets
// those that are left.
func (t *Terminator) Serve(ctx context.Context, listeners ...*net.TCPListener) error {
	t.mu.Lock()
	t.listeners = append(t.listeners, listeners...)
	c := t.config
	t.mu.Unlock()
	if err := t.Configure(c); err != nil {
		return err
	}
	var open sync.WaitGroup
	accept.Each(ctx, t.log, "MPTCP terminator", func(c *net.TCPConn, _ int) { open.Go(func() { t.carry(ctx, c) }) }, listeners...)
	open.Wait()
	return nil
}

// carry goes on for one client.
func (t *Terminator) carry(ctx context.Context, c *net.TCPConn) {
	client, err := netip.ParseAddrPort(c.RemoteAddr().String())
	client = netip.AddrPortFrom(client.Addr().Unmap(), client.Port())
	var server *net.TCPConn
	if err == nil {
		server, err = t.dial(ctx, client, reroute.Original(c))
	}
	if err != nil {
		t.failed.Add(1)
		t.log.Debug("MPTCP terminator", "client", client, "error", err)
		abort(c)
		return
	}
	t.Carry(ctx, c, server)
}

// Carry relays what a client says and its server until both have ended; ctx
// ends it before. Meanwhile it is among the connections of Stats.
func (t *Terminator) Carry(ctx context.Context, c, server *net.TCPConn) {
	t.opened.Add(1)
	t.mu.Lock()
	t.pairs[c] = server
	t.mu.Unlock()
	unhook := context.AfterFunc(ctx, func() { abort(c); abort(server) })
	counted := t.fellBack(c, false)
	exchange(c, server)
	t.fellBack(c, counted) // a middlebox may have taken the option out later
	unhook()
	c.Close()
	server.Close()
	t.mu.Lock()
	delete(t.pairs, c)
	t.mu.Unlock()
}

// fellBack counts a client that speaks plain TCP, once.
func (t *Terminator) fellBack(c *net.TCPConn, counted bool) bool {
	if s, err := Look(c); err == nil && s.Fallback && !counted {
		t.fallbacks.Add(1)
		return true
	}
	return counted
}

// relay moves bytes both ways until both have ended, and closes both.
func relay(a, b *net.TCPConn) {
	exchange(a, b)
	a.Close()
	b.Close()
}

// exchange moves bytes both ways until both have ended; a reset is passed on.
func exchange(a, b *net.TCPConn) {
	var both sync.WaitGroup
	for _, way := range [][2]*net.TCPConn{{a, b}, {b, a}} {
		both.Go(func() {
			if _, err := io.Copy(way[1], way[0]); err != nil && !errors.Is(err, net.ErrClosed) {
				abort(a)
				abort(b)
				return
			}
			way[1].CloseWrite()
		})
	}
	both.Wait()
}

func abort(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// Connection is one that a terminator carries.
type Connection struct {
	Client netip.AddrPort `json:"client"`
	Server netip.AddrPort `json:"server"`
	Near   State          `json:"near"` // towards who began it
	Far    State          `json:"far"`
}

// Stats is a terminator now, and since it began.
type Stats struct {
	Scheduler   string       `json:"scheduler"`
	Opened      uint64       `json:"opened"`
	Fallbacks   uint64       `json:"fallbacks"` // clients that came by plain TCP
	Failed      uint64       `json:"failed"`
	Connections []Connection `json:"connections"`
}

// Stats returns what the terminator does.
func (t *Terminator) Stats() Stats {
	s := Stats{Scheduler: Scheduler, Opened: t.opened.Load(), Fallbacks: t.fallbacks.Load(), Failed: t.failed.Load(), Connections: []Connection{}}
	t.mu.Lock()
	defer t.mu.Unlock()
	for near, far := range t.pairs {
		c := Connection{Server: reroute.Original(near)}
		c.Client, _ = netip.ParseAddrPort(near.RemoteAddr().String())
		c.Near, _ = Look(near)
		c.Far, _ = Look(far)
		s.Connections = append(s.Connections, c)
	}
	return s
}
