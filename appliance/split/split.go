// Package split puts proxies into a pair's path.
//
//	port A ══ steer ══ nl ┊ near namespace: lan ─ proxy ─ wan ┊ nw ══ engine ══ fw ┊ wan ─ proxy ─ lan :far namespace ┊ fl ══ steer ══ port B
//
// The test ports stay where they are; frames reach the proxies by XDP
// redirects between port and veth, and the emulated link lies between the two
// inner veths. With one side only, the other test port is the link's own end.
// Everything falls back to a wire by itself: a proxy without a process passes
// all, and so do steer and engine.
package split

import (
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/vishvananda/netlink"

	"farlink/appliance/custody"
	"farlink/emulator/link"
	"farlink/emulator/netspace"
	"farlink/emulator/wire/steer"
	"farlink/pep"
	"farlink/pep/congestion"
	"farlink/pep/intercept"
)

// ProxyVariable, in the environment, makes this program a proxy: main calls
// pep.Main with the socket that is descriptor 3.
const ProxyVariable = "FARLINK_PROXY"

// Command is this program in its proxy role.
func Command() *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), ProxyVariable+"=1")
	c.Stderr = os.Stderr
	return c
}

// Sides says which proxies there are.
type Sides struct{ Near, Far bool }

// Config of a path.
type Config struct {
	Name    string // of the pair, unique on the machine
	Netns   string // named namespace of the test ports; "" is the caller's
	A, B    string // the test ports
	MTU     int    // of the veths, bytes; 0 is 1500
	Sides   Sides
	PEP     pep.Config
	Command func() *exec.Cmd // this program in its proxy role
}

// Path is a path with proxies in it.
type Path struct {
	config Config
	sides  []*side
	feed   *congestion.Feed
	ended  chan string

	changing sync.Mutex // held while proxies start or are configured; of config.PEP
	mu       sync.Mutex // of the sides' proxies and closed; nobody waits for a proxy with it
	closed   bool
	adopted  bool // of a path before
}

// side is one proxy and the wire between it and its test port.
type side struct {
	name  string // "near" or "far"
	netns string
	port  string // the test port
	outer string // veth towards the test port, in the pair's namespace
	inner string // veth towards the link, in the pair's namespace
	wire  *steer.Wire
	proxy *pep.Process
}

// device is the name of a veth in the pair's namespace: unique for the pair,
// and within the kernel's 15 characters.
func device(pair, which string) string {
	h := fnv.New32a()
	h.Write([]byte(pair))
	return fmt.Sprintf("fl%08x%s", h.Sum32(), which)
}

func newSide(c Config, name, port string) *side {
	return &side{name: name, netns: c.Name + "-" + name, port: port,
		outer: device(c.Name, name[:1]+"o"), inner: device(c.Name, name[:1]+"i")}
}

// way is the way into which a side's proxy sends over the link.
func (s *side) way() link.Way {
	if s.name == "near" {
		return link.Up
	}
	return link.Down
}

// pins is where the interception of a side is pinned.
func (s *side) pins() string { return filepath.Join(steer.Root, "farlink-pep", s.netns) }

// feedPin is where the capacities of a pair's links are pinned.
func feedPin(pair string) string { return filepath.Join(steer.Root, "farlink-pep", pair+"-feed") }

// Adopted reports whether the path was there already: what drives its link is
// to be taken over, too.
func (p *Path) Adopted() bool { return p.adopted }

// Name is the name of the pair.
func (p *Path) Name() string { return p.config.Name }

// Feed is where the engine is to tell what its links grant.
func (p *Path) Feed() string { return feedPin(p.config.Name) }

// Open makes the namespaces and starts the proxies; frames reach them after
// Join. What a path of the same sides has left whose daemon was killed it
// takes over as it stands, so that frames go on passing; anything else that
// there is it takes away. What it cannot finish it takes down again.
func Open(c Config) (*Path, error) {
	p := &Path{config: c, ended: make(chan string, 16)}
	if c.Sides.Near {
		p.sides = append(p.sides, newSide(c, "near", c.A))
	}
	if c.Sides.Far {
		p.sides = append(p.sides, newSide(c, "far", c.B))
	}
	if len(p.sides) == 0 {
		return nil, errors.New("split path: want a near or a far proxy")
	}
	if p.adopted = p.stands(); !p.adopted {
		if err := Remove(c.Name); err != nil {
			return nil, err
		}
	}
	var err error
	if p.feed, err = congestion.CreateFeed(p.Feed()); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	for _, s := range p.sides {
		if err := p.open(s); err != nil {
			return nil, errors.Join(fmt.Errorf("%s proxy: %w", s.name, err), p.Close())
		}
	}
	return p, nil
}

func (p *Path) open(s *side) error {
	if p.adopted {
		return p.start(s)
	}
	if err := netspace.Make(s.netns); err != nil {
		return err
	}
	if err := custody.Give(s.netns); err != nil {
		return err
	}
	mtu := p.config.mtu()
	err := netspace.Do(p.config.Netns, func() error {
		return errors.Join(cable(p.config.Netns, s.outer, s.netns, "lan", mtu), cable(p.config.Netns, s.inner, s.netns, "wan", mtu))
	})
	if err != nil {
		return err
	}
	return p.start(s)
}

// start starts the process of a side's proxy.
func (p *Path) start(s *side) error {
	at := pep.Place{Netns: s.netns, LAN: "lan", WAN: "wan", Pins: s.pins(), Feed: p.Feed(), Way: s.way()}
	p.changing.Lock()
	defer p.changing.Unlock()
	if p.shut() {
		return errClosed
	}
	proxy, err := pep.Start(p.config.Command(), at, p.config.PEP)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.Join(errClosed, proxy.Stop())
	}
	s.proxy = proxy
	go func() {
		<-proxy.Done()
		p.ended <- s.name
	}()
	return nil
}

var errClosed = errors.New("the path is closed")

func (p *Path) shut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Revive starts the proxy of a side whose process has ended. Until then its
// namespace was a wire; connections that are new are split again.
func (p *Path) Revive(side string) error {
	for _, s := range p.sides {
		if s.name == side {
			return p.start(s)
		}
	}
	return fmt.Errorf("no %s proxy", side)
}

// Ended yields the side of a proxy whose process has ended.
func (p *Path) Ended() <-chan string { return p.ended }

// Join leads the frames of the test ports to the proxies. The ports must be
// free of other XDP programs.
func (p *Path) Join() error {
	for _, s := range p.sides {
		if err := netspace.Do(p.config.Netns, func() error { return s.join(p.config.Name) }); err != nil {
			return fmt.Errorf("%s proxy: %w", s.name, err)
		}
	}
	return nil
}

// Sides returns which proxies there are.
func (p *Path) Sides() Sides { return p.config.Sides }

// join redirects between the test port and the proxy, in the kernel.
func (s *side) join(pair string) (err error) {
	s.wire, err = redirect(pair+"-"+s.name, steer.Generic, s.port, s.outer)
	return err
}

// redirect leads frames from a to b and back.
func redirect(name string, how steer.Attach, a, b string) (*steer.Wire, error) {
	var ports [2]steer.Port
	for i, name := range []string{a, b} {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return nil, fmt.Errorf("port %s: %w", name, err)
		}
		ports[i] = steer.Port{Name: name, Index: l.Attrs().Index}
	}
	w, err := steer.Open(steer.Options{Dir: steer.Dir(name), Ports: ports, Attach: how})
	if err == nil {
		w.SetMode(steer.Bypass)
	}
	return w, err
}

// Direct leads frames from one test port to the other while one path makes
// room for the next; the ports must be free of other XDP programs. An engine
// of the pair takes it over.
func Direct(c Config) error {
	return netspace.Do(c.Netns, func() error {
		w, err := redirect(c.Name, steer.Auto, c.A, c.B)
		if err != nil {
			return fmt.Errorf("wire between the ports: %w", err)
		}
		return w.Close()
	})
}

// Ends are the two ports between which the emulated link lies, A's side
// first.
func (p *Path) Ends() (a, b string) {
	a, b = p.config.A, p.config.B
	for _, s := range p.sides {
		if s.name == "near" {
			a = s.inner
		} else {
			b = s.inner
		}
	}
	return a, b
}

// Configure puts a configuration in force at every proxy.
func (p *Path) Configure(c pep.Config) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	p.config.PEP = c // also for one that is started again
	var all error
	p.Proxies(func(side string, proxy *pep.Process) {
		if err := proxy.Configure(c); err != nil {
			all = errors.Join(all, fmt.Errorf("%s proxy: %w", side, err))
		}
	})
	return all
}

// Proxies calls yield with each proxy and its side, "near" or "far".
func (p *Path) Proxies(yield func(side string, proxy *pep.Process)) {
	for side, proxy := range p.proxies() {
		yield(side, proxy)
	}
}

// proxies are those there are now, near first.
func (p *Path) proxies() iter.Seq2[string, *pep.Process] {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := make([]*pep.Process, len(p.sides))
	for i, s := range p.sides {
		now[i] = s.proxy
	}
	return func(yield func(string, *pep.Process) bool) {
		for i, s := range p.sides {
			if now[i] != nil && !yield(s.name, now[i]) {
				return
			}
		}
	}
}

// Close stops the proxies and removes what Open made; the test ports are as
// they were.
func (p *Path) Close() error {
	p.changing.Lock()
	defer p.changing.Unlock()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	var all error
	p.Proxies(func(_ string, proxy *pep.Process) { all = errors.Join(all, proxy.Stop()) })
	for _, s := range p.sides {
		if s.wire != nil {
			all = errors.Join(all, s.wire.Close())
		}
	}
	if p.feed != nil {
		all = errors.Join(all, p.feed.Close())
	}
	return errors.Join(all, Remove(p.config.Name))
}

// Remove takes away what a path of the name has left, alive or dead.
func Remove(name string) error {
	var all error
	if err := os.Remove(feedPin(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		all = fmt.Errorf("remove feed: %w", err)
	}
	for _, which := range []string{"near", "far"} {
		s := newSide(Config{Name: name}, which, "")
		all = errors.Join(all, steer.Remove(steer.Dir(name+"-"+which)), intercept.Remove(s.pins()))
		for dir := s.pins(); dir != steer.Root; dir = filepath.Dir(dir) {
			os.Remove(dir) // the last path takes the directory along
		}
		// With the namespace go the veths, and their peers.
		if err := deleteNetns(s.netns); err != nil && !errors.Is(err, os.ErrNotExist) {
			all = errors.Join(all, fmt.Errorf("delete namespace %s: %w", s.netns, err))
		}
	}
	return all
}

// Alive reports whether every proxy's process runs.
func (p *Path) Alive() bool {
	for _, proxy := range p.proxies() {
		select {
		case <-proxy.Done():
			return false
		default:
		}
	}
	return true
}
