package bundle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"farlink/emulator/netspace"
	"farlink/pep/accept"
	"farlink/pep/intercept"
)

// carried is a connection whose far side has answered and whose client has
// not yet.
type carried interface {
	Run(client *net.TCPConn) error // until both ends have ended
	Close()
}

// open asks the far side for a connection.
type open func(ctx context.Context, client, server netip.AddrPort) (carried, error)

// entrance takes the devices' connections out of the layer-2 path, each when
// the far side has answered: a refusal is a reset, silence is silence.
type entrance struct {
	space     *intercept.Space
	syns      *intercept.Syns
	listeners [2]*net.TCPListener
	port      uint16
	open      atomic.Pointer[open]
	log       *slog.Logger

	asking chan struct{} // a place for each that waits for an answer

	mu      sync.Mutex
	waiting map[intercept.Ends]half

	refused  atomic.Uint64
	carrying atomic.Int64
}

// half is a connection that is answered, and whose client has not come yet.
type half struct {
	carried
	since uint64 // of its flow
}

// mostAsking bounds how many connections wait for a far side's answer: each
// takes threads. What comes beyond is not heard; clients ask again.
const mostAsking = 1000

// Times of a handshake.
const (
	openTime = 30 * time.Second // how long a server may take to answer
	comeTime = 30 * time.Second // and then the client's last acknowledgement
	// How long a connection is known after its end: its last segments still
	// need the ends' MAC addresses.
	lingering = 65 * time.Second
)

// openEntrance attaches to the interception's namespace. Everything crosses
// until take.
func openEntrance(n Near, log *slog.Logger) (*entrance, error) {
	e := &entrance{log: log, asking: make(chan struct{}, mostAsking), waiting: map[intercept.Ends]half{}}
	err := netspace.Do(n.Intercept, func() (err error) {
		if err := intercept.Prepare(n.Devices, n.Router); err != nil {
			return err
		}
		if e.space, err = intercept.Open(n.Pins, n.Devices, n.Router, false); err != nil {
			return err
		}
		if err := e.listen(); err != nil {
			return err
		}
		e.syns, err = e.space.Syns()
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take connections in %s: %w", n.Intercept, err), e.Close())
	}
	return e, nil
}

// listen opens the listeners that taken connections come to.
func (e *entrance) listen() error {
	control := func(network, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) {
			level, option := unix.SOL_IPV6, unix.IPV6_TRANSPARENT
			if network == "tcp4" {
				level, option = unix.SOL_IP, unix.IP_TRANSPARENT
			}
			set = unix.SetsockoptInt(int(fd), level, option, 1)
		})
		return errors.Join(err, set)
	}
	for i, at := range []struct{ network, address string }{{"tcp4", "127.0.0.1"}, {"tcp6", "::1"}} {
		lc := net.ListenConfig{KeepAlive: -1, Control: control}
		lc.SetMultipathTCP(false)
		l, err := lc.Listen(context.Background(), at.network, net.JoinHostPort(at.address, fmt.Sprint(e.port)))
		if err != nil {
			return err
		}
		e.listeners[i] = l.(*net.TCPListener)
		e.port = uint16(e.listeners[i].Addr().(*net.TCPAddr).Port)
	}
	return e.space.Listen(e.listeners[0], e.listeners[1])
}

// take has new connections to the ports opened by f; nil, and no rule of the
// user before it, lets them cross. Those that are go on.
func (e *entrance) take(ports []uint16, rules []PathRule, f open) error {
	want := intercept.Settings{Enabled: f != nil, Fallback: intercept.Pass, Most: 1 << 20, Listener: e.port, Patience: uint32(openTime.Seconds()) + 1}
	for _, r := range rules {
		if r.Protocol == "" || r.Protocol == "tcp" {
			want.Rules = append(want.Rules, r.intercept()...)
		}
	}
	for _, p := range ports {
		want.Rules = append(want.Rules, intercept.Rule{Ports: [2]uint16{p, p}, Handshake: intercept.Deferred})
	}
	if len(want.Rules) > intercept.MostRules {
		return fmt.Errorf("ports and rules of TCP: %d, want at most %d", len(want.Rules), intercept.MostRules)
	}
	if f != nil {
		e.open.Store(&f)
	}
	return e.space.Apply(want)
}

// intercept lets what the rule matches cross.
func (r PathRule) intercept() (all []intercept.Rule) {
	base := intercept.Rule{Ports: [2]uint16{r.Port, r.Port}, Handshake: intercept.Pass}
	p, err := netip.ParsePrefix(r.Prefix)
	if err != nil {
		return append(all, base)
	}
	source, target := base, base
	source.Source, target.Target = p, p
	return append(all, source, target)
}

// run serves until ctx ends; connections that are then are reset.
func (e *entrance) run(ctx context.Context) {
	context.AfterFunc(ctx, func() { e.Close() })
	var all sync.WaitGroup
	all.Go(func() {
		accept.Each(ctx, e.log, "multipath: client", func(c *net.TCPConn, _ int) { go e.carry(ctx, c) }, e.listeners[:]...)
	})
	all.Go(func() {
		for {
			h, err := e.syns.Next()
			if errors.Is(err, ringbuf.ErrClosed) || ctx.Err() != nil {
				return
			}
			if err != nil {
				e.log.Warn("multipath: held SYNs", "error", err)
				return
			}
			select {
			case e.asking <- struct{}{}:
				go func() { e.ask(ctx, h); <-e.asking }()
			default:
				e.warn(e.syns.Drop(h), h.Ends)
			}
		}
	})
	all.Go(func() { e.beat(ctx) })
	all.Wait()
}

// beatEvery is how often the programs hear that this process lives; without
// it new connections cross.
const beatEvery = 250 * time.Millisecond

func (e *entrance) beat(ctx context.Context) {
	every := time.NewTicker(beatEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			if err := e.space.Report(uint32(e.carrying.Load())); err != nil && ctx.Err() == nil {
				e.log.Warn("multipath: interception", "error", err)
			}
		}
	}
}

// ask asks the far side for a held SYN and lets the SYN in, or has it refused.
func (e *entrance) ask(ctx context.Context, h intercept.Held) {
	asking, done := context.WithTimeout(ctx, openTime)
	c, err := (*e.open.Load())(asking, h.Client, h.Server)
	late := asking.Err() != nil
	done()
	if err != nil {
		e.refused.Add(1)
		e.log.Debug("multipath: connection", "client", h.Client, "server", h.Server, "error", err)
		if late { // silence is answered by silence
			e.warn(e.syns.Drop(h), h.Ends)
			return
		}
		e.warn(e.syns.Refuse(h), h.Ends)
		time.AfterFunc(time.Second, func() { e.warn(e.syns.Drop(h), h.Ends) })
		return
	}
	one := half{c, h.Since}
	e.mu.Lock()
	e.waiting[h.Ends] = one
	e.mu.Unlock()
	if err := e.syns.Open(h); err != nil {
		e.warn(err, h.Ends)
		e.abandon(h.Ends, one)
		return
	}
	time.AfterFunc(comeTime, func() { e.abandon(h.Ends, one) })
}

// abandon resets a connection whose client never came.
func (e *entrance) abandon(at intercept.Ends, c half) {
	e.mu.Lock()
	still := e.waiting[at] == c
	if still {
		delete(e.waiting, at)
	}
	e.mu.Unlock()
	if still {
		c.Close()
		e.warn(e.space.Forget(at, c.since), at)
	}
}

// carry joins a client to what waits for it.
func (e *entrance) carry(ctx context.Context, client *net.TCPConn) {
	at := intercept.Ends{Client: addrPort(client.RemoteAddr()), Server: addrPort(client.LocalAddr())}
	e.mu.Lock()
	c, expected := e.waiting[at]
	delete(e.waiting, at)
	e.mu.Unlock()
	if !expected {
		reset(client)
		return
	}
	e.carrying.Add(1)
	defer e.carrying.Add(-1)
	unhook := context.AfterFunc(ctx, c.Close)
	if err := c.Run(client); err != nil {
		reset(client)
	}
	unhook()
	time.AfterFunc(lingering, func() {
		if ctx.Err() == nil {
			e.warn(e.space.Forget(at, c.since), at)
		}
	})
}

// warn logs an error that ends one connection only.
func (e *entrance) warn(err error, at intercept.Ends) {
	if err != nil {
		e.log.Warn("multipath: connection", "client", at.Client, "server", at.Server, "error", err)
	}
}

// Close lets go of the layer-2 path; pinned, the programs go on as a wire.
func (e *entrance) Close() error {
	var errs []error
	for _, l := range e.listeners {
		if l != nil {
			l.Close()
		}
	}
	if e.syns != nil {
		errs = append(errs, e.syns.Close())
	}
	if e.space != nil {
		errs = append(errs, e.space.Close())
	}
	return errors.Join(errs...)
}

func addrPort(a net.Addr) netip.AddrPort {
	ap := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// reset closes with a reset.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}
