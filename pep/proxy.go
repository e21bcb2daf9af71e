// Package pep is a performance enhancing proxy (RFC 3135): it splits TCP
// connections that cross a layer-2 path, so that each leg has a loss and
// window behaviour of its own, and neither end can tell.
//
//	          ┌──────────── Proxy, in its own namespace ───────────┐
//	client ──▶│ listener ─ accept ─▶ relay (splice) ─▶ dial ─ mark │──▶ server
//	          │   ▲ intercept                      congestion shelf │
//	          └───┴────────────────────────────────────────────────┘
//
// The near proxy (at the device) and the far one (at the network) are the
// same code; the emulated link lies between them. Addresses, ports, MAC
// addresses, VLAN tags and DSCP are the ends' own on every leg.
//
// Handshakes are deferred by default: the SYN is answered only when the far
// side has answered, a refusal is a reset, silence is silence. Early ones are
// answered at once and reset when the far side refuses.
package pep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"farlink/emulator/link"
	"farlink/pep/accept"
	"farlink/pep/congestion"
	"farlink/pep/intercept"
	"farlink/pep/relay"
)

// Proxy is one proxy in one network namespace. All its methods must be called
// by threads of that namespace: the process belongs to it as a whole.
type Proxy struct {
	space  *intercept.Space
	syns   *intercept.Syns
	shelf  *congestion.Shelf
	feed   *congestion.Feed
	way    link.Way // into which the wan port sends
	oracle oracle
	config atomic.Pointer[Config]

	applying sync.Mutex  // of config and short
	short    atomic.Bool // the link is, and nothing split
	log      *slog.Logger

	listeners [2]*net.TCPListener
	waiting   sync.Map // Ends of a held SYN -> *half that waits for its client
	flows     flows
	ending    ending
	room      room
	pipes     *relay.Pool
	asking    atomic.Int64 // SYNs held, and servers that wait for their clients
	counts    counters
}

// counters are what the proxy itself counts.
type counters struct {
	accepted, refused, unreachable, orphaned, resets, fallbacks atomic.Uint64
}

// Open makes the calling process's namespace a proxy between the ports of
// at; it is the namespace that at names.
func Open(at Place, c Config, log *slog.Logger) (*Proxy, error) {
	if err := intercept.Prepare(at.LAN, at.WAN); err != nil {
		return nil, err
	}
	feed, err := openFeed(at.Feed)
	if err != nil {
		return nil, err
	}
	space, err := intercept.Open(at.Pins, at.LAN, at.WAN, at.Older)
	if err != nil {
		return nil, errors.Join(err, feed.Close())
	}
	room, shelf := makeRoom(), congestion.Open(feed)
	if at.Older {
		shelf = congestion.OpenOlder(feed)
	}
	shelf.Withhold(at.Without)
	p := &Proxy{space: space, shelf: shelf, feed: feed, way: at.Way, log: log, room: room, pipes: relay.NewPool(room.pipes())}
	p.flows.entries = map[intercept.Ends]*Split{}
	if err := p.listen(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if p.syns, err = space.Syns(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if err := p.Configure(c); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// listen opens the listeners that split connections come to.
func (p *Proxy) listen() error {
	port := 0
	for i, at := range []struct{ network, address string }{{"tcp4", "127.0.0.1"}, {"tcp6", "::1"}} {
		lc := net.ListenConfig{KeepAlive: -1, Control: transparentListener}
		lc.SetMultipathTCP(false)
		l, err := lc.Listen(context.Background(), at.network, net.JoinHostPort(at.address, fmt.Sprint(port)))
		if err != nil {
			return fmt.Errorf("listen for split connections: %w", err)
		}
		p.listeners[i] = l.(*net.TCPListener)
		port = p.listeners[i].Addr().(*net.TCPAddr).Port
	}
	return p.space.Listen(p.listeners[0], p.listeners[1])
}

func transparentListener(network, _ string, c syscall.RawConn) error {
	var set error
	err := c.Control(func(fd uintptr) { set = transparent(int(fd), network == "tcp4") })
	return errors.Join(err, set)
}

// transparent lets a socket have an address that is not the machine's.
func transparent(fd int, v4 bool) error {
	if v4 {
		return unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TRANSPARENT, 1)
	}
	return unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_TRANSPARENT, 1)
}

// Configure puts a configuration in force for new connections; those that
// exist keep theirs.
func (p *Proxy) Configure(c Config) error {
	if err := c.Err(); err != nil {
		return err
	}
	c = c.withDefaults(p.room)
	p.shelf.Load(c.controls()...)
	for name, why := range p.shelf.Missing() {
		if slices.Contains(c.controls(), name) {
			p.log.Warn("congestion control is missing, its fallback is used", "name", name, "error", why)
		}
	}
	p.applying.Lock()
	defer p.applying.Unlock()
	short := p.isShort(&c)
	if err := p.enforce(&c, short); err != nil {
		return err
	}
	p.short.Store(short)
	p.config.Store(&c)
	return nil
}

// enforce tells the programs what to split: nothing over a short link.
func (p *Proxy) enforce(c *Config, short bool) error {
	rules := make([]intercept.Rule, len(c.Rules))
	for i, r := range c.Rules {
		rules[i] = r.Rule
	}
	return p.space.Apply(intercept.Settings{
		Enabled: c.Enabled && !short, Rules: rules, Fallback: c.Handshake, Most: uint32(c.Flows),
		Listener: uint16(p.listeners[0].Addr().(*net.TCPAddr).Port), Patience: uint32(c.DialTimeout.Seconds()) + 1,
	})
}

// isShort reports whether the link of the wan leg has so short a round trip
// that a split would cost more than it brings. What is not known is not short.
func (p *Proxy) isShort(c *Config) bool {
	t := p.feed.Now(congestion.Column(c.WAN.Link, p.way))
	return t.At != 0 && t.RTT >= 0 && t.RTT < c.LeastRTT
}

// look notices when a link has become short, or is so no more.
func (p *Proxy) look() error {
	p.applying.Lock()
	defer p.applying.Unlock()
	c := p.config.Load()
	short := p.isShort(c)
	if short == p.short.Load() {
		return nil
	}
	if err := p.enforce(c, short); err != nil {
		return fmt.Errorf("change over for a link of another round trip: %w", err)
	}
	p.short.Store(short)
	return nil
}

// Run serves until ctx ends. Connections that are split then are reset; the
// interception goes on as a wire.
func (p *Proxy) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		accept.Each(ctx, p.log, "split connection", func(c *net.TCPConn, _ int) { go p.serve(ctx, c) }, p.listeners[:]...)
		return nil
	})
	g.Go(func() error { return p.answer(ctx) })
	g.Go(func() error { return p.tick(ctx) })
	g.Go(func() error { return p.tidy(ctx) })
	g.Go(func() error { return p.mislead(ctx) })
	g.Go(func() error { return p.compare(ctx) })
	g.Go(func() error {
		<-ctx.Done()
		return p.syns.Close()
	})
	err := g.Wait()
	p.flows.reset()
	return err
}

// answer asks the far side for every held SYN.
func (p *Proxy) answer(ctx context.Context) error {
	for {
		h, err := p.syns.Next()
		if errors.Is(err, ringbuf.ErrClosed) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read held SYNs: %w", err)
		}
		n := p.flows.len() + int(p.asking.Load())
		if n >= p.config.Load().Flows { // more came before the programs knew
			p.warn(errors.Join(p.syns.Drop(h), p.space.Report(uint32(n))), h.Ends)
			continue
		}
		p.asking.Add(1)
		go p.ask(ctx, h)
	}
}

// tick tells the programs that the proxy lives, and how many connections are
// split.
func (p *Proxy) tick(ctx context.Context) error {
	const look, beat = 20 * time.Millisecond, 200 * time.Millisecond
	every := time.NewTicker(look)
	defer every.Stop()
	last, at := -1, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-every.C:
			if err := p.look(); err != nil {
				return err
			}
			if n := p.flows.len() + int(p.asking.Load()); n != last || now.Sub(at) >= beat {
				last, at = n, now
				if err := p.space.Report(uint32(n)); err != nil {
					return fmt.Errorf("report split connections: %w", err)
				}
			}
		}
	}
}

// Close lets go of everything; the pinned interception goes on as a wire.
func (p *Proxy) Close() error {
	var errs []error
	for _, l := range p.listeners {
		if l != nil {
			l.Close()
		}
	}
	p.pipes.Close()
	errs = append(errs, p.shelf.Close(), p.space.Close(), p.feed.Close())
	return errors.Join(errs...)
}
