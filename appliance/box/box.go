package box

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"farlink/appliance"
	"farlink/appliance/bus"
	"farlink/appliance/library"
	"farlink/appliance/relays"
	"farlink/appliance/spec"
	"farlink/appliance/store"
	"farlink/emulator/link"
)

// Box is the whole appliance.
type Box struct {
	name, version string
	started       time.Time
	ports         Ports
	engines       Engines
	store         *store.Store
	bus           bus.Bus
	reloads       chan []appliance.PairConfig
	library       library.Library
	relays        *relays.Relays // nil without a bundle of paths

	mu    sync.Mutex
	pairs []*pair
}

// Parts are what a box is made of.
type Parts struct {
	Name    string // of the box
	Version string // of the program
	Pairs   []appliance.PairConfig
	Ports   Ports
	Engines Engines
	Store   *store.Store
	// Multipath is the bundle of paths, if there is one; Carry starts what
	// carries connections over it.
	Multipath *appliance.MultipathConfig
	Carry     relays.Carry
}

// Open makes a box: it takes up the last want of each pair and takes the
// ports. Every reason why it cannot is in the error; nothing is held then.
func Open(ctx context.Context, parts Parts) (*Box, error) {
	b := &Box{name: parts.Name, version: parts.Version, started: time.Now(),
		ports: parts.Ports, engines: parts.Engines, store: parts.Store, library: library.New(parts.Store.Path("profiles"), parts.Store.Write), reloads: make(chan []appliance.PairConfig)}
	err := b.store.Sweep()
	for _, c := range parts.Pairs {
		p := newPair(b, c)
		b.pairs = append(b.pairs, p)
		err = errors.Join(err, p.restore(), p.restorePEP(), p.prepare(ctx))
	}
	if parts.Multipath != nil {
		var bad error
		b.relays, bad = relays.Open(relays.Parts{Config: *parts.Multipath, Carry: parts.Carry, Store: b.store, Tell: b.Tell})
		err = errors.Join(err, bad)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Run keeps the box going until ctx ends, then gives the ports back.
func (b *Box) Run(ctx context.Context) error {
	group, inner := errgroup.WithContext(ctx)
	for _, p := range b.all() {
		p.begin(inner, group)
	}
	if b.relays != nil {
		group.Go(func() error { return b.relays.Run(inner) })
	}
	group.Go(func() error { return b.tend(inner) })
	group.Go(func() error {
		for {
			select {
			case <-inner.Done():
				return nil
			case pairs := <-b.reloads:
				b.reload(inner, group, pairs)
			}
		}
	})
	err := group.Wait()
	b.bus.Publish(appliance.Event{Kind: appliance.KindShutdown, Text: "the daemon stops"})
	return err
}

// Reload goes over to other pairs: those that are new or changed are begun
// anew, those that are not there any more are ended, the others do not
// notice. Nothing happens if one of them cannot boot; the error says why.
func (b *Box) Reload(ctx context.Context, pairs []appliance.PairConfig) error {
	var all error
	for _, c := range pairs {
		if _, problems := b.compile(c.Boot, c.Memory); len(problems) > 0 {
			all = errors.Join(all, fmt.Errorf("pair %s: boot: %w", c.Name, problems))
		}
	}
	if all != nil {
		return all
	}
	select {
	case b.reloads <- pairs:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reload goes over to the configured pairs.
func (b *Box) reload(ctx context.Context, group *errgroup.Group, configs []appliance.PairConfig) {
	old := map[string]*pair{}
	for _, p := range b.all() {
		old[p.cfg.Name] = p
	}
	var pairs []*pair
	var fresh []*pair
	for _, c := range configs {
		p := old[c.Name]
		if p != nil && reflect.DeepEqual(p.cfg, c) {
			delete(old, c.Name)
		} else {
			p = newPair(b, c)
			fresh = append(fresh, p)
		}
		pairs = append(pairs, p)
	}
	for _, p := range old { // what is left has changed or is gone
		p.end()
		<-p.ended
	}
	b.mu.Lock()
	b.pairs = pairs
	b.mu.Unlock()
	for _, p := range fresh {
		if err := errors.Join(p.restore(), p.restorePEP()); err != nil {
			p.setWord(appliance.Fault, err.Error())
		}
		p.begin(ctx, group)
	}
	b.bus.Publish(appliance.Event{Kind: appliance.KindReload, Text: fmt.Sprintf("configuration read again: %d pairs, %d of them new or changed", len(pairs), len(fresh))})
}

// all returns the pairs.
func (b *Box) all() []*pair {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pairs
}

// State is the state of the whole box.
func (b *Box) State() appliance.State {
	s := appliance.State{Name: b.name, Version: b.version, Started: b.started, Now: time.Now(), Storage: b.storage()}
	for _, p := range b.all() {
		s.Pairs = append(s.Pairs, p.snapshot())
	}
	if b.relays != nil {
		s.Paths = b.relays.Look().Paths
	}
	return s
}

// pair finds a pair by name; "" is the only one.
func (b *Box) pair(name string) (*pair, error) {
	pairs := b.all()
	if name == "" && len(pairs) == 1 {
		return pairs[0], nil
	}
	var have []string
	for _, p := range pairs {
		if p.cfg.Name == name {
			return p, nil
		}
		have = append(have, p.cfg.Name)
	}
	return nil, appliance.NoPair{Name: name, Have: have}
}

// Want returns what was asked of the pair, and its version.
func (b *Box) Want(pair string) (appliance.Want, string, error) {
	p, err := b.pair(pair)
	if err != nil {
		return appliance.Want{}, "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.Want, p.state.ETag, nil
}

// Apply makes want the one in force on the pair: all of it, or nothing and
// every reason why not.
func (b *Box) Apply(ctx context.Context, name string, want appliance.Want, o appliance.Options) (appliance.Applied, error) {
	return b.change(ctx, name, func(ctx context.Context, p *pair) (appliance.Applied, error) { return p.apply(ctx, want, o) })
}

// Patch lays a merge patch (RFC 7396, a JSON document) over the want in
// force.
func (b *Box) Patch(ctx context.Context, name string, patch []byte, o appliance.Options) (appliance.Applied, error) {
	return b.change(ctx, name, func(ctx context.Context, p *pair) (appliance.Applied, error) { return p.patch(ctx, patch, o) })
}

// change has the pair's loop run f. What has begun ends, whether or not the
// caller still waits for it.
func (b *Box) change(ctx context.Context, name string, f func(context.Context, *pair) (appliance.Applied, error)) (a appliance.Applied, err error) {
	p, err := b.pair(name)
	if err != nil {
		return a, err
	}
	if asked := p.ask(ctx, func() { a, err = f(context.WithoutCancel(ctx), p) }); asked != nil {
		return appliance.Applied{}, asked
	}
	return a, err
}

// Disrupt begins a link event on the pair: it is cut for a time, or flaps.
func (b *Box) Disrupt(ctx context.Context, pair string, d appliance.Disruption, by string) (begun appliance.Disruption, err error) {
	p, err := b.pair(pair)
	if err != nil {
		return d, err
	}
	if problems := d.Check(); len(problems) > 0 {
		return d, problems
	}
	// The event outlives the call that asks for it.
	if asked := p.ask(ctx, func() { begun, err = p.disrupt(context.WithoutCancel(ctx), d, by) }); asked != nil {
		return d, asked
	}
	return begun, err
}

// Reset takes every pair back to what it boots with, in a new run, and ends
// link events.
func (b *Box) Reset(ctx context.Context, by string) error {
	var all error
	for _, p := range b.all() {
		var err error
		asked := p.ask(ctx, func() {
			p.disruptEnd(by)
			proxies := p.applyPEP(p.cfg.PEP, appliance.Options{By: by})
			_, err = p.apply(context.WithoutCancel(ctx), p.cfg.Boot, appliance.Options{By: by, NewRun: true})
			err = errors.Join(proxies, err)
		})
		all = errors.Join(all, asked, err)
	}
	if b.relays != nil {
		all = errors.Join(all, b.relays.Boot(appliance.Options{By: by}))
	}
	if all == nil {
		b.bus.Publish(appliance.Event{Kind: appliance.KindReset, By: by, Text: "back to the boot state"})
	}
	return all
}

// Subscribe returns the events after the id, as far as they are kept, and
// then those that come. Close it.
func (b *Box) Subscribe(after uint64) *bus.Subscription { return b.bus.Subscribe(after) }

// Hosts are the ends of the traffic that a pair makes itself; they are empty
// when the configuration gives it none.
func (b *Box) Hosts(pair string) (appliance.HostsConfig, error) {
	p, err := b.pair(pair)
	if err != nil {
		return appliance.HostsConfig{}, err
	}
	return p.cfg.Hosts, nil
}

// Tell makes something known that happened outside of the pairs' loops.
func (b *Box) Tell(e appliance.Event) { b.bus.Publish(e) }

// compile checks a want and makes of it what an engine is told.
func (b *Box) compile(w appliance.Want, memory link.Size) (spec.Spec, appliance.Problems) {
	return spec.Compile(w, memory, b.library.Find)
}

// Engine returns the engine that drives a pair now, nil if none does.
func (b *Box) Engine(pair string) Engine {
	p, err := b.pair(pair)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.engine
}

// Ready says why the box cannot be trusted with a run; nil when it can.
func (b *Box) Ready() error {
	var all error
	for _, s := range b.State().Pairs {
		switch {
		case s.Word == appliance.Fault || s.Word == appliance.Starting:
			all = errors.Join(all, appliance.NotReady{Pair: s.Name, Why: fmt.Sprintf("%s %s", s.Word, s.Why)})
		case s.Verdict.Word == appliance.Invalid:
			all = errors.Join(all, appliance.NotReady{Pair: s.Name, Why: "verdict INVALID: " + s.Verdict.Reason})
		case !s.Effective:
			all = errors.Join(all, appliance.NotReady{Pair: s.Name, Why: "not effective: " + s.NotYet})
		}
	}
	return all
}

// Close gives the ports back when Run was never called.
func (b *Box) Close() error {
	var all error
	for _, p := range b.all() {
		all = errors.Join(all, p.release())
	}
	return all
}
