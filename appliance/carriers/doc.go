// Package carriers makes laboratories of several emulated carriers between
// the two relays of pep/multipath, and measures what they carry together.
//
//	NAME-d       NAME-a                       NAME-box                        NAME-b       NAME-s
//	device ───── router ─ a0 ═══════════ a1 ─ engine ─ b1 ═══════════ b0 ─ proxy ───── server
//	10.78.0.2    10.77.1.1 ┄┄┄┄┄┄┄┄┄┄┄┄ link 0: lte/skt ┄┄┄┄┄┄┄┄┄┄┄┄ 10.77.1.2    10.79.0.2
//	             10.77.2.1 ┄┄┄┄┄┄┄┄┄┄┄┄ link 1: lte/kt  ┄┄┄┄┄┄┄┄┄┄┄┄ 10.77.2.2
//
// Device and server speak to each other by their own addresses; TCP for Ports
// is taken by the relays on its way, everything else is routed by the carrier
// of the greatest rate.
// All carriers are links of one engine; the classifier tells them apart by
// prefix. What is sent goes up: from the device side to the network side.
package carriers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"github.com/vishvananda/netlink"

	"farlink/emulator/link"
	"farlink/emulator/netlab"
	"farlink/emulator/wire"
	"farlink/emulator/wire/steer"
	"farlink/pep/congestion"
	"farlink/pep/multipath"
	"farlink/pep/reroute"
	"farlink/profiles"
)

// Options of a lab.
type Options struct {
	Name     string   // at most 11 characters, unique on the machine
	Profiles []string // of the carriers, by name of the library
	Custom   []*profiles.Profile
	Seed     uint64
	Config   multipath.Config // window 0: by the rule
}

// Lab is carriers with a relay at either end.
type Lab struct {
	*netlab.Lab
	Device   netlab.End
	Server   netlab.End
	Engine   *wire.Engine
	Router   *multipath.Router
	Proxy    *multipath.Proxy
	Profiles []*profiles.Profile
	Shelf    *congestion.Shelf

	feed     *congestion.Feed // what the engine grants, for xlayer
	seed     uint64
	cut      []bool
	entrance []*net.TCPListener
	server   *net.TCPListener
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// loaded is how much longer than idle a round trip is taken to get when the
// carriers are full, for the window: queues of an eNodeB hold that much. Over
// a satellite it is twice as long as idle (BBR keeps two rounds in flight).
const loaded = 250 * link.Millisecond

// Up makes a lab. What it cannot finish it takes down again.
func Up(ctx context.Context, o Options) (*Lab, error) {
	l := &Lab{seed: o.Seed, Profiles: o.Custom}
	for _, name := range o.Profiles {
		d, err := profiles.Lookup(name)
		if err != nil {
			return nil, err
		}
		l.Profiles = append(l.Profiles, d.Profile)
	}
	if len(l.Profiles) == 0 {
		return nil, errors.New("carriers: none; want profiles, lte/skt,lte/kt for one")
	}
	l.cut = make([]bool, len(l.Profiles))
	lab, err := netlab.New(o.Name, netlab.Options{})
	if err != nil {
		return nil, err
	}
	l.Lab = lab
	if err := l.make(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("make carriers: %w", err), l.Close())
	}
	return l, nil
}

func (l *Lab) make(ctx context.Context, o Options) (err error) {
	if err := l.address(); err != nil {
		return err
	}
	if err := l.ends(o.Name); err != nil {
		return err
	}
	doc, err := l.document()
	if err != nil {
		return err
	}
	if l.feed, err = congestion.CreateFeed(l.feedPin()); err != nil {
		return err
	}
	l.Engine, err = wire.Start(ctx, wire.Config{Pair: l.Box, A: l.PortA, B: l.PortB, Netns: l.Box, Doc: doc, Feed: l.feedPin()})
	if err != nil {
		return err
	}
	if o.Config.Window == 0 {
		o.Config.Window = l.window()
	}
	return l.relays(o.Config)
}

// feedPin is where the engine tells what the carriers grant.
func (l *Lab) feedPin() string { return feedOf(l.Box) }

func feedOf(box string) string { return filepath.Join(steer.Root, box+"-feed") }

// Left reports whether there is anything of a lab of this name.
func Left(name string) bool {
	for _, ns := range Namespaces(name) {
		if _, err := os.Stat(filepath.Join("/run/netns", ns)); err == nil {
			return true
		}
	}
	return false
}

// Remove takes away what a lab has left whose process was killed. What is not
// there is no error.
func Remove(name string) error {
	box := name + "-box"
	err := errors.Join(wire.Remove(box), netlab.Remove(Namespaces(name)...))
	if gone := os.Remove(feedOf(box)); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// window is the rule for all carriers.
func (l *Lab) window() link.Size {
	var sum link.Rate
	var rtt link.Duration
	for _, p := range l.Profiles {
		sum += max(p.Expect.Up, p.Expect.Down)
		rtt = max(rtt, p.Expect.RTT+loaded, 2*p.Expect.RTT)
	}
	return max(multipath.Window(sum, rtt), 4<<20)
}

// at is the address of a side on carrier i: side 1 is the router's.
func at(i, side int) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, byte(i + 1), byte(side)}) }

// address gives both ends an address per carrier.
func (l *Lab) address() error {
	for side, e := range []netlab.End{l.A, l.B} {
		err := e.Do(func() error {
			dev, err := netlink.LinkByName(e.Dev)
			if err != nil {
				return err
			}
			for i := range l.Profiles {
				ip := &net.IPNet{IP: at(i, side+1).AsSlice(), Mask: net.CIDRMask(24, 32)}
				if err := netlink.AddrAdd(dev, &netlink.Addr{IPNet: ip}); err != nil {
					return fmt.Errorf("address %v of carrier %d: %w", ip, i, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// nothing is the patch that lets nothing enter a link.
const nothing = `{"up":{"cut":[{"at":"0s","for":"3000s"}]},"down":{"cut":[{"at":"0s","for":"3000s"}]}}`

// document is what the engine is told.
func (l *Lab) document() ([]byte, error) {
	type entry struct {
		Name    string          `json:"name"`
		Seed    uint64          `json:"seed"`
		Profile json.RawMessage `json:"profile"`
	}
	type rule struct {
		Prefix string `json:"prefix"`
		Link   string `json:"link"`
	}
	var links []entry
	var rules []rule
	for i, p := range l.Profiles {
		if l.cut[i] {
			q, problems := p.Merge([]byte(nothing))
			if q == nil {
				return nil, fmt.Errorf("cut carrier %d: %v", i, problems)
			}
			p = q
		}
		name := fmt.Sprint("carrier", i)
		links = append(links, entry{name, l.seed + uint64(i), p.JSON()})
		rules = append(rules, rule{fmt.Sprintf("10.77.%d.0/24", i+1), name})
	}
	for _, device := range []string{deviceNet + "0/24", device6 + "/64"} {
		rules = append(rules, rule{device, fmt.Sprint("carrier", l.best())})
	}
	return json.Marshal(map[string]any{"line": "1Gbit/s", "default": "pass", "links": links, "rules": rules})
}

// Cut makes a carrier silent, or lets it speak again.
func (l *Lab) Cut(i int, cut bool) error {
	l.cut[i] = cut
	doc, err := l.document()
	if err != nil {
		return err
	}
	_, err = l.Engine.Apply(doc)
	return err
}

// relays starts router and proxy.
func (l *Lab) relays(c multipath.Config) error {
	key := make([]byte, 32)
	rand.Read(key)
	log, groups := slog.New(slog.DiscardHandler), new(multipath.Groups)
	l.Shelf = congestion.Open(l.feed)
	var carriers []multipath.Carrier
	var listeners []*net.TCPListener
	var names []string
	for i, p := range l.Profiles {
		hear, err := listen(l.B, at(i, 2))
		if err != nil {
			return err
		}
		port := uint16(hear.Addr().(*net.TCPAddr).Port)
		listeners, names = append(listeners, hear), append(names, p.Name)
		carriers = append(carriers, multipath.Carrier{Name: p.Name, Local: at(i, 1), Proxy: netip.AddrPortFrom(at(i, 2), port)})
	}
	var err error
	if l.Proxy, err = multipath.NewProxy(c, key, l.dial, l.Shelf, groups, log); err != nil {
		return err
	}
	if l.Router, err = multipath.NewRouter(c, key, carriers, l.Shelf, groups, log); err != nil {
		return err
	}
	l.Router.In = l.A.Do
	l.Router.Follow(link.Up)
	l.Proxy.Follow(link.Down)
	if err := l.capture(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.running.Go(func() { l.Proxy.Serve(ctx, names, listeners...) })
	for _, entrance := range l.entrance {
		l.running.Go(func() { l.Router.Serve(ctx, entrance, reroute.Original) })
	}
	return nil
}

// capture puts the relays in the way between device and server.
func (l *Lab) capture() error {
	out, back := reroute.Capture{Dev: "x0", Ports: Ports}, reroute.Capture{Dev: "x0", Ports: Ports, Back: true}
	err := l.A.Do(func() (err error) {
		if err := out.Apply(); err != nil {
			return err
		}
		l.entrance, err = out.Listen(context.Background(), false)
		return err
	})
	if err != nil {
		return err
	}
	if err := l.B.Do(back.Apply); err != nil {
		return err
	}
	return l.Server.Do(func() error {
		s, err := net.ListenTCP("tcp", &net.TCPAddr{Port: bulkPort})
		l.server = s
		return err
	})
}

// dial opens the proxy's connection to a server, as the client.
func (l *Lab) dial(ctx context.Context, client, server netip.AddrPort) (c *net.TCPConn, err error) {
	err = l.B.Do(func() (err error) {
		c, err = reroute.DialAs(ctx, client, server, false)
		return err
	})
	return c, err
}

func listen(e netlab.End, at netip.Addr) (l *net.TCPListener, err error) {
	lc := net.ListenConfig{KeepAlive: -1}
	lc.SetMultipathTCP(false)
	err = e.Do(func() error {
		any, err := lc.Listen(context.Background(), "tcp", netip.AddrPortFrom(at, 0).String())
		if err == nil {
			l = any.(*net.TCPListener)
		}
		return err
	})
	return l, err
}

// Configure changes scheduler and congestion control at both ends, for new
// connections.
func (l *Lab) Configure(c multipath.Config) error {
	if c.Window == 0 {
		c.Window = l.window()
	}
	return errors.Join(l.Router.Configure(c), l.Proxy.Configure(c))
}

// Close takes the lab down; closing one half made is no error.
func (l *Lab) Close() error {
	var errs []error
	if l.stop != nil {
		l.stop()
		if l.server != nil {
			l.server.Close()
		}
		l.running.Wait()
	}
	if l.Engine != nil {
		errs = append(errs, l.Engine.Close(), wire.Remove(l.Box))
	}
	errs = append(errs, l.Lab.Close())
	for _, e := range []netlab.End{l.Device, l.Server} {
		if e.Netns != "" {
			errs = append(errs, netlab.Remove(e.Netns))
		}
	}
	if l.Shelf != nil {
		errs = append(errs, l.Shelf.Close())
	}
	if l.feed != nil {
		errs = append(errs, l.feed.Close(), os.Remove(l.feedPin()))
	}
	return errors.Join(errs...)
}
