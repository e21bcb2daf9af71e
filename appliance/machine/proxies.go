package machine

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"farlink/appliance"
	"farlink/appliance/box"
	"farlink/appliance/split"
	"farlink/emulator/wire"
	"farlink/pep"
	"farlink/pep/congestion"
)

// path returns the split path that c asks for: the one there is, if it has
// the same sides, else a new one; nil when c asks for none.
func (k *Engines) path(c box.EngineConfig) (*split.Path, error) {
	name := wireName(c.Box, c.Pair.Name)
	sides := split.Sides{Near: c.PEP.Near, Far: c.PEP.Far}
	config := split.Config{
		Name: name, Netns: c.Pair.Netns, A: c.Pair.A, B: c.Pair.B, MTU: c.Pair.MTU,
		Sides: sides, PEP: c.PEP.Config, Command: split.Command,
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.paths[name]
	if old != nil && old.Sides() == sides && old.Alive() {
		return old, old.Configure(c.PEP.Config)
	}
	if old != nil {
		delete(k.paths, name)
		if err := replaced(old, c, config); err != nil {
			return nil, err
		}
	}
	if !c.PEP.On() {
		return nil, split.Remove(name) // of a daemon before this one
	}
	p, err := split.Open(config)
	if err != nil {
		return nil, fmt.Errorf("proxies: %w", err)
	}
	if !p.Adopted() { // the test ports are the proxies' now, not the engine's
		err = wire.Remove(name)
	}
	if err := errors.Join(err, p.Join()); err != nil {
		return nil, errors.Join(fmt.Errorf("proxies: %w", err), p.Close())
	}
	if k.paths == nil {
		k.paths = map[string]*split.Path{}
	}
	k.paths[name] = p
	return p, nil
}

// replaced takes a path away for another or none; meanwhile frames pass
// directly, unless the pair is rather to be cut.
func replaced(old *split.Path, c box.EngineConfig, next split.Config) error {
	err := errors.Join(old.Close(), wire.Remove(next.Name))
	if err == nil && c.Pair.Fallback != appliance.CutOff {
		err = split.Direct(next)
	}
	return err
}

// dropPath takes the proxies of a pair away.
func (k *Engines) dropPath(name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.paths[name]
	delete(k.paths, name)
	if p == nil {
		return split.Remove(name)
	}
	return p.Close()
}

// proxiedEngine is an engine whose link lies between proxies.
type proxiedEngine struct {
	*wireEngine
	path *split.Path
	done chan struct{}
	err  error // why done
	hearing
}

// newProxied follows engine and proxies. A proxy that ends, or hangs and is
// ended, is started again, while its namespace is a wire; only if that fails
// again and again does the engine end with it, so that the whole path is made
// anew.
func newProxied(e *wireEngine, path *split.Path) (*proxiedEngine, error) {
	feed, err := congestion.OpenFeed(path.Feed())
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	p := &proxiedEngine{wireEngine: e, path: path, done: make(chan struct{}), hearing: hearing{feed: feed}}
	go func() {
		defer close(p.done)
		for p.err == nil {
			select {
			case <-e.Done():
				p.err = e.Err()
				return
			case side := <-path.Ended():
				p.err = p.revive(side)
			}
		}
	}()
	go p.wake()
	return p, nil
}

// Snapshot is the engine's, with what the proxies hear of the links.
func (e *proxiedEngine) Snapshot() box.Snapshot {
	s := e.wireEngine.Snapshot()
	s.Readings = append(s.Readings, e.readings(e.terms.Load().names)...)
	return s
}

// Close ends the engine; the proxies stay.
func (e *proxiedEngine) Close() error { return errors.Join(e.wireEngine.Close(), e.hearing.close()) }

// A proxy that has answered none of so many questions in a row hangs.
const (
	questionEvery = time.Second
	questionsMost = 8
)

// wake ends proxies that hang.
func (e *proxiedEngine) wake() {
	every := time.NewTicker(questionEvery)
	defer every.Stop()
	silent := map[int]int{} // questions in a row, by process
	for {
		select {
		case <-e.done:
			return
		case <-every.C:
		}
		all, err := e.Proxies()
		if err != nil {
			continue
		}
		for _, p := range all {
			if p.Silent == "" {
				delete(silent, p.PID)
			} else if silent[p.PID]++; silent[p.PID] >= questionsMost {
				delete(silent, p.PID)
				e.kill(p.PID)
			}
		}
	}
}

func (e *proxiedEngine) kill(pid int) {
	e.path.Proxies(func(_ string, p *pep.Process) {
		if p.PID() == pid {
			p.Kill()
		}
	})
}

// revivals is how often a proxy is started again in a row.
const revivals = 5

func (e *proxiedEngine) revive(side string) (err error) {
	for i := range revivals {
		if err = e.path.Revive(side); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond << i)
	}
	return fmt.Errorf("%s proxy ended, and does not start again: %w", side, err)
}

// Done is closed when the engine or a proxy has ended by itself.
func (e *proxiedEngine) Done() <-chan struct{} { return e.done }

// Err says why.
func (e *proxiedEngine) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// Configure changes what the proxies do.
func (e *proxiedEngine) Configure(c pep.Config) error { return e.path.Configure(c) }

// Proxies returns the state of each, of all at the same time: one that does
// not answer is shown so.
func (e *proxiedEngine) Proxies() ([]appliance.Proxy, error) {
	var asked sync.WaitGroup
	var all []*appliance.Proxy
	e.path.Proxies(func(side string, p *pep.Process) {
		shown := &appliance.Proxy{Side: side, PID: p.PID()}
		all = append(all, shown)
		asked.Go(func() {
			s, err := p.Status()
			if shown.Status = s; err != nil {
				shown.Silent = err.Error()
			}
		})
	})
	asked.Wait()
	proxies := make([]appliance.Proxy, len(all))
	for i, p := range all {
		proxies[i] = *p
	}
	return proxies, nil
}

// Splits lists split connections of a side; "" is the first there is.
func (e *proxiedEngine) Splits(side string, offset, most int) (page []appliance.Split, total int, err error) {
	found := false
	e.path.Proxies(func(name string, p *pep.Process) {
		if found || side != "" && side != name {
			return
		}
		found = true
		var flows []pep.Flow
		flows, total, err = p.Flows(offset, most)
		for _, f := range flows {
			page = append(page, appliance.Split{Side: name, Flow: f})
		}
	})
	return page, total, err
}
