package bundle

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"farlink/emulator/netspace"
	"farlink/pep/congestion"
	"farlink/pep/mptcp"
	"farlink/pep/multipath"
	"farlink/pep/reroute"
)

// Bundle is the paths of a site held together.
type Bundle struct {
	site Site
	log  *slog.Logger
	eyes *eyes
	stop context.CancelFunc
	runs sync.WaitGroup
	ctx  context.Context

	// What takes connections and what carries them.
	entrance *entrance
	servers  *reroute.Mine // of the far side: what servers answer
	arriving *reroute.Mine // of the far side: MPTCP that comes by the paths
	leaving  *reroute.Mine // of the near side: what comes back by the paths
	shelf    *congestion.Shelf
	router   *multipath.Router
	proxy    *multipath.Proxy
	near     *mptcp.Terminator // plain clients, MPTCP by the paths
	far      *mptcp.Terminator // MPTCP by the paths, plain servers
	manager  *mptcp.Manager    // of the near side

	mu     sync.Mutex
	config Carriage
	up     []bool
	seen   []sight
	heard  map[uint16]bool // ports with MPTCP listeners
	added  map[netip.Addr]mptcp.Endpoint
	wired  bool // mode wire was in force
}

// Open makes a site ready, in mode off.
func Open(s Site, log *slog.Logger) (b *Bundle, err error) {
	b = &Bundle{site: s, log: log, up: make([]bool, len(s.Paths)), seen: make([]sight, len(s.Paths)),
		heard: map[uint16]bool{}, added: map[netip.Addr]mptcp.Endpoint{}, shelf: congestion.Open(nil)}
	b.config = Carriage{}.withDefaults(&b.site)
	b.ctx, b.stop = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("bundle of paths: %w", err), b.Close())
		}
	}()
	if b.eyes, err = openEyes(&b.site); err != nil {
		return b, err
	}
	for i, p := range b.eyes.look() {
		b.up[i] = p.up
	}
	if err := b.openFar(); err != nil {
		return b, err
	}
	if s.Near.Netns != "" {
		if err := b.openNear(); err != nil {
			return b, err
		}
	}
	if err := b.route(); err != nil {
		return b, err
	}
	b.runs.Go(func() { b.watch(b.ctx) })
	return b, nil
}

// openFar makes the servers' side ready.
func (b *Bundle) openFar() error {
	b.far = mptcp.NewTerminator(mptcp.Config{}, b.toServer, b.log)
	return netspace.Do(b.site.Far.Netns, func() (err error) {
		if b.servers, err = reroute.OpenMine(b.site.Far.LAN); err != nil {
			return err
		}
		var devs []string
		for _, p := range b.site.Paths {
			devs = append(devs, p.FarDev)
		}
		if b.arriving, err = reroute.OpenMine(devs...); err != nil {
			return err
		}
		return ready()
	})
}

// ready makes the calling thread's namespace ready for MPTCP over all paths.
func ready() error {
	if err := mptcp.Prepare(true); err != nil {
		return err
	}
	m, err := mptcp.Open()
	if err != nil {
		return err
	}
	defer m.Close()
	return m.SetLimits(8, 8)
}

// openNear makes the devices' side ready, and the relays.
func (b *Bundle) openNear() (err error) {
	err = netspace.Do(b.site.Near.Netns, func() (err error) {
		var devs []string
		for _, p := range b.site.Paths {
			devs = append(devs, p.NearDev)
		}
		if b.leaving, err = reroute.OpenMine(devs...); err != nil {
			return err
		}
		if err := ready(); err != nil {
			return err
		}
		b.manager, err = mptcp.Open()
		return err
	})
	if err != nil {
		return err
	}
	b.near = mptcp.NewTerminator(mptcp.Config{}, nil, b.log)
	if err := b.relays(); err != nil {
		return err
	}
	if b.entrance, err = openEntrance(b.site.Near, b.log); err != nil {
		return err
	}
	b.runs.Go(func() { b.entrance.run(b.ctx) })
	return nil
}

// relays starts router and proxy of mode lab; nothing comes to them yet.
func (b *Bundle) relays() (err error) {
	key := make([]byte, 32)
	rand.Read(key)
	groups, c := new(multipath.Groups), b.config.lab(&b.site)
	var carriers []multipath.Carrier
	var listeners []*net.TCPListener
	for _, p := range b.site.Paths {
		var l net.Listener
		lc := net.ListenConfig{KeepAlive: -1}
		lc.SetMultipathTCP(false)
		err := netspace.Do(b.site.Far.Netns, func() (err error) {
			l, err = lc.Listen(b.ctx, "tcp", netip.AddrPortFrom(p.Far, 0).String())
			return err
		})
		if err != nil {
			return fmt.Errorf("listen on path %s: %w", p.Name, err)
		}
		listeners = append(listeners, l.(*net.TCPListener))
		port := uint16(l.Addr().(*net.TCPAddr).Port)
		carriers = append(carriers, multipath.Carrier{Name: p.Name, Local: p.Near, Proxy: netip.AddrPortFrom(p.Far, port)})
	}
	if b.proxy, err = multipath.NewProxy(c, key, b.toServer, b.shelf, groups, b.log); err != nil {
		return err
	}
	if b.router, err = multipath.NewRouter(c, key, carriers, b.shelf, groups, b.log); err != nil {
		return err
	}
	b.router.In = func(f func() error) error { return netspace.Do(b.site.Near.Netns, f) }
	b.runs.Go(func() { b.proxy.Serve(b.ctx, b.site.names(), listeners...) })
	return nil
}

// toServer goes on to a server as the client, by plain TCP.
func (b *Bundle) toServer(ctx context.Context, client, server netip.AddrPort) (c *net.TCPConn, err error) {
	err = netspace.Do(b.site.Far.Netns, func() (err error) {
		c, err = reroute.DialAs(ctx, client, server, false)
		return err
	})
	return c, err
}

// Configure puts a configuration in force: all of it, or nothing and the
// error. Connections that are go on as they began.
func (b *Bundle) Configure(c Carriage) error {
	if err := c.Err(&b.site); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.config
	b.config = c.withDefaults(&b.site)
	if err := b.put(); err != nil {
		b.config = before
		return errors.Join(err, b.put())
	}
	return nil
}

// Config returns the configuration in force.
func (b *Bundle) Config() Carriage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.config
}

// put makes everything as the configuration says. What takes connections is
// told last.
func (b *Bundle) put() error {
	c := &b.config
	errs := []error{b.route(), b.endpoints(), b.hear()}
	// A path's own control is by route: a socket's would hold for all.
	ends := mptcp.Config{Buffer: c.Buffer}
	errs = append(errs, b.far.Configure(ends))
	var arriving []uint16
	if c.Mode == Wire {
		arriving = c.Ports
	}
	if b.router != nil {
		lab := c.lab(&b.site)
		errs = append(errs, b.near.Configure(ends), b.router.Configure(lab), b.proxy.Configure(lab))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	errs = []error{b.arriving.Take(arriving)}
	if b.entrance != nil {
		errs = append(errs, b.entrance.take(c.Ports, c.Rules, b.opener()))
	}
	return errors.Join(errs...)
}

// route makes the routes of both sides as they are to be.
func (b *Bundle) route() (all error) {
	for _, v := range b.site.sides() {
		all = errors.Join(all, b.site.apply(b.config, v, b.up))
	}
	return all
}

// opener is how connections of devices are opened in the mode; nil lets them
// cross.
func (b *Bundle) opener() open {
	switch b.config.Mode {
	case Lab:
		return func(ctx context.Context, client, server netip.AddrPort) (carried, error) {
			t, err := b.router.Open(ctx, client, server)
			if err != nil {
				return nil, err
			}
			return t, nil
		}
	case Wire:
		return b.byMPTCP
	}
	return nil
}

// Close lets everything pass on its way again; connections that are carried
// are reset.
func (b *Bundle) Close() error {
	b.stop()
	b.runs.Wait()
	var errs []error
	for _, m := range []*reroute.Mine{b.servers, b.arriving, b.leaving} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	if b.manager != nil {
		for _, e := range b.added {
			errs = append(errs, b.manager.Delete(e))
		}
		b.manager.Close()
	}
	if b.eyes != nil {
		errs = append(errs, b.eyes.Close())
	}
	return errors.Join(append(errs, b.shelf.Close())...)
}
