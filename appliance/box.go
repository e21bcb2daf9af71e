package appliance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Box is the whole appliance.
type Box struct {
	name, version string
	started       time.Time
	ports         Ports
	engines       Engines
	store         *Store
	bus           bus
	reloads       chan []PairConfig
	carrier       *carrier // nil without a bundle of paths

	mu    sync.Mutex
	pairs []*pair
}

// Parts are what a box is made of.
type Parts struct {
	Name    string // of the box
	Version string // of the program
	Pairs   []PairConfig
	Ports   Ports
	Engines Engines
	Store   *Store
	// Multipath is the bundle of paths, if there is one; Carry starts what
	// carries connections over it.
	Multipath *MultipathConfig
	Carry     Carry
}

// Open makes a box: it takes up the last want of each pair and takes the
// ports. Every reason why it cannot is in the error; nothing is held then.
func Open(ctx context.Context, parts Parts) (*Box, error) {
	b := &Box{name: parts.Name, version: parts.Version, started: time.Now(),
		ports: parts.Ports, engines: parts.Engines, store: parts.Store, reloads: make(chan []PairConfig)}
	err := b.store.Sweep()
	for _, c := range parts.Pairs {
		p := newPair(b, c)
		b.pairs = append(b.pairs, p)
		err = errors.Join(err, p.restore(), p.restorePEP(), p.prepare(ctx))
	}
	if parts.Multipath != nil {
		var bad error
		b.carrier, bad = newCarrier(b, *parts.Multipath, parts.Carry)
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
	if b.carrier != nil {
		group.Go(func() error { return b.carrier.run(inner) })
	}
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
	b.bus.publish(Event{Kind: KindShutdown, Text: "the daemon stops"})
	return err
}

// Reload goes over to other pairs: those that are new or changed are begun
// anew, those that are not there any more are ended, the others do not
// notice. Nothing happens if one of them cannot boot; the error says why.
func (b *Box) Reload(ctx context.Context, pairs []PairConfig) error {
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
func (b *Box) reload(ctx context.Context, group *errgroup.Group, configs []PairConfig) {
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
			p.setWord(Fault, err.Error())
		}
		p.begin(ctx, group)
	}
	b.bus.publish(Event{Kind: KindReload, Text: fmt.Sprintf("configuration read again: %d pairs, %d of them new or changed", len(pairs), len(fresh))})
}

// all returns the pairs.
func (b *Box) all() []*pair {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pairs
}

// State is the state of the whole box.
func (b *Box) State() State {
	s := State{Name: b.name, Version: b.version, Started: b.started, Now: time.Now()}
	for _, p := range b.all() {
		s.Pairs = append(s.Pairs, p.snapshot())
	}
	if b.carrier != nil {
		m, _ := b.carrier.state()
		s.Paths = m.Paths
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
	return nil, NoPair{name, have}
}

// Want returns what was asked of the pair, and its version.
func (b *Box) Want(pair string) (Want, string, error) {
	p, err := b.pair(pair)
	if err != nil {
		return Want{}, "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.Want, p.state.ETag, nil
}

// Apply makes want the one in force on the pair: all of it, or nothing and
// every reason why not.
func (b *Box) Apply(ctx context.Context, name string, want Want, o Options) (Applied, error) {
	return b.change(ctx, name, func(ctx context.Context, p *pair) (Applied, error) { return p.apply(ctx, want, o) })
}

// Patch lays a merge patch (RFC 7396, a JSON document) over the want in
// force.
func (b *Box) Patch(ctx context.Context, name string, patch []byte, o Options) (Applied, error) {
	return b.change(ctx, name, func(ctx context.Context, p *pair) (Applied, error) { return p.patch(ctx, patch, o) })
}

// change has the pair's loop run f. What has begun ends, whether or not the
// caller still waits for it.
func (b *Box) change(ctx context.Context, name string, f func(context.Context, *pair) (Applied, error)) (a Applied, err error) {
	p, err := b.pair(name)
	if err != nil {
		return a, err
	}
	if asked := p.ask(ctx, func() { a, err = f(context.WithoutCancel(ctx), p) }); asked != nil {
		return Applied{}, asked
	}
	return a, err
}

// Disrupt begins a link event on the pair: it is cut for a time, or flaps.
func (b *Box) Disrupt(ctx context.Context, pair string, d Disruption, by string) (begun Disruption, err error) {
	p, err := b.pair(pair)
	if err != nil {
		return d, err
	}
	if problems := d.check(); len(problems) > 0 {
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
			proxies := p.applyPEP(p.cfg.PEP, Options{By: by})
			_, err = p.apply(context.WithoutCancel(ctx), p.cfg.Boot, Options{By: by, NewRun: true})
			err = errors.Join(proxies, err)
		})
		all = errors.Join(all, asked, err)
	}
	if b.carrier != nil {
		all = errors.Join(all, b.carrier.apply(b.carrier.config.Boot, Options{By: by}))
	}
	b.bus.publish(Event{Kind: KindReset, By: by, Text: "back to the boot state"})
	return all
}

// Subscribe returns the events after the id, as far as they are kept, and
// then those that come. Close it.
func (b *Box) Subscribe(after uint64) *Subscription { return b.bus.subscribe(after) }

// Hosts are the ends of the traffic that a pair makes itself; they are empty
// when the configuration gives it none.
func (b *Box) Hosts(pair string) (HostsConfig, error) {
	p, err := b.pair(pair)
	if err != nil {
		return HostsConfig{}, err
	}
	return p.cfg.Hosts, nil
}

// Tell makes something known that happened outside of the pairs' loops.
func (b *Box) Tell(e Event) { b.bus.publish(e) }

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
		case s.Word == Fault || s.Word == Starting:
			all = errors.Join(all, NotReady{s.Name, fmt.Sprintf("%s %s", s.Word, s.Why)})
		case s.Verdict.Word == Invalid:
			all = errors.Join(all, NotReady{s.Name, "verdict INVALID: " + s.Verdict.Reason})
		case !s.Effective:
			all = errors.Join(all, NotReady{s.Name, "not effective: " + s.NotYet})
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
