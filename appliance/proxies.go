package appliance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"farlink/pep"
	"farlink/profiles"
)

// PEP is what a user wants of the proxies of a pair: which there are, and
// what they do. With neither, the pair has none.
type PEP struct {
	Near bool `json:"near" toml:"near" doc:"A proxy at the device's side."`
	Far  bool `json:"far" toml:"far" doc:"A proxy at the network's side."`
	pep.Config
}

// On reports whether there is a proxy.
func (w PEP) On() bool { return w.Near || w.Far }

// problems lists everything wrong with the want.
func (w PEP) problems() (bad Problems) {
	w.Check(func(path, got, want string) { bad = append(bad, Problem{Path: path, Got: got, Want: want}) })
	if w.Enabled && !w.On() {
		bad = append(bad, Problem{Path: "enabled", Got: "true", Want: "near or far, or both: without a proxy there is nothing to enable"})
	}
	return bad
}

// ParsePEP reads the want of proxies as JSON.
func ParsePEP(doc []byte) (w PEP, bad Problems) {
	for _, p := range profiles.ReadJSON(doc, &w) {
		if p.Level == profiles.Error {
			bad = append(bad, p)
		}
	}
	return w, bad
}

// Proxy is the state of one proxy.
type Proxy struct {
	Side string `json:"side" enum:"near,far"`
	PID  int    `json:"pid"`
	// Silent says why there are no figures: a proxy that has ended, or hangs.
	Silent string `json:"silent,omitempty" doc:"Why there are no figures of this proxy: it does not answer."`
	pep.Status
}

// PEPState is the state of the proxies of a pair.
type PEPState struct {
	Want    PEP     `json:"want"`
	ETag    string  `json:"etag"`
	Proxies []Proxy `json:"proxies"`
}

// Split is a split connection as one of the proxies sees it.
type Split struct {
	Side string `json:"side" enum:"near,far"`
	pep.Flow
}

// Proxied is an engine with proxies beside it.
type Proxied interface {
	// Configure changes what the proxies do; which there are stays.
	Configure(c pep.Config) error
	// Proxies returns the state of each.
	Proxies() ([]Proxy, error)
	// Splits lists split connections of a side: most of them from offset on,
	// and how many there are.
	Splits(side string, offset, most int) ([]Split, int, error)
}

// errOtherPath ends an engine's session because the path changes.
var errOtherPath = errors.New("the proxies of the pair change")

func (p *pair) pepFile() string { return "pep-" + p.cfg.Name + ".json" }

// savedPEP is the file of a pair's proxies in the state directory.
type savedPEP struct {
	Want    PEP    `json:"want"`
	Version uint64 `json:"version"`
}

// restorePEP takes up what was last wanted of the proxies.
func (p *pair) restorePEP() error {
	s := savedPEP{Want: p.cfg.PEP}
	if _, err := p.box.store.Load(p.pepFile(), &s); err != nil {
		return err
	}
	if bad := s.Want.problems(); len(bad) > 0 {
		return fmt.Errorf("pair %s: pep: %w", p.cfg.Name, bad)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pep, p.pepVersion = s.Want, s.Version
	return nil
}

// PEP returns the state of the proxies of the pair.
func (b *Box) PEP(name string) (PEPState, error) {
	p, err := b.pair(name)
	if err != nil {
		return PEPState{}, err
	}
	p.mu.Lock()
	s, e := PEPState{Want: p.pep, ETag: etag(p.pepVersion)}, p.engine
	p.mu.Unlock()
	if proxied, ok := e.(Proxied); ok {
		s.Proxies, err = proxied.Proxies()
	}
	return s, err
}

// Splits lists split connections of the pair as the proxy of a side sees
// them.
func (b *Box) Splits(name, side string, offset, most int) ([]Split, int, error) {
	p, err := b.pair(name)
	if err != nil {
		return nil, 0, err
	}
	p.mu.Lock()
	e := p.engine
	p.mu.Unlock()
	if proxied, ok := e.(Proxied); ok {
		return proxied.Splits(side, offset, most)
	}
	return nil, 0, nil
}

// ApplyPEP makes want the one in force: connections that are split go on when
// only rules and legs change; they end when proxies come or go.
func (b *Box) ApplyPEP(ctx context.Context, name string, want PEP, o Options) (PEPState, error) {
	p, err := b.pair(name)
	if err != nil {
		return PEPState{}, err
	}
	if asked := p.ask(ctx, func() { err = p.applyPEP(want, o) }); asked != nil {
		return PEPState{}, asked
	}
	if err != nil {
		return PEPState{}, err
	}
	if o.DryRun {
		return PEPState{Want: want}, nil
	}
	if err := p.settled(ctx); err != nil {
		return PEPState{}, err
	}
	return b.PEP(name)
}

// PatchPEP lays a merge patch (RFC 7396) over what is wanted of the proxies.
func (b *Box) PatchPEP(ctx context.Context, name string, patch []byte, o Options) (PEPState, error) {
	now, err := b.PEP(name)
	if err != nil {
		return PEPState{}, err
	}
	doc, bad := patched(now.Want, patch)
	if len(bad) > 0 {
		return PEPState{}, bad
	}
	want, bad := ParsePEP(doc)
	if len(bad) > 0 {
		return PEPState{}, bad
	}
	if o.IfMatch == "" {
		o.IfMatch = now.ETag // another's change meanwhile must not be lost
	}
	return b.ApplyPEP(ctx, name, want, o)
}

// applyPEP is run by the pair's loop.
func (p *pair) applyPEP(want PEP, o Options) error {
	if now := etag(p.pepVersion); o.IfMatch != "" && o.IfMatch != now {
		return Stale{o.IfMatch, now}
	}
	if bad := want.problems(); len(bad) > 0 {
		return bad
	}
	if o.DryRun || reflect.DeepEqual(want, p.pep) {
		return nil
	}
	sides := want.Near == p.pep.Near && want.Far == p.pep.Far
	if proxied, ok := p.engine.(Proxied); ok && sides {
		if err := proxied.Configure(want.Config); err != nil {
			return NotReady{p.cfg.Name, err.Error()}
		}
	}
	if err := p.box.store.Save(p.pepFile(), savedPEP{want, p.pepVersion + 1}); err != nil {
		return err
	}
	p.mu.Lock()
	p.pep = want
	p.pepVersion++
	p.mu.Unlock()
	p.otherPath = !sides && p.engine != nil
	p.event(KindPEP, o.By, want.String())
	return nil
}

// String is one line for people.
func (w PEP) String() string {
	word := "on"
	if !w.Enabled {
		word = "passing"
	}
	switch {
	case w.Near && w.Far:
		return "proxies near and far, " + word
	case w.Near:
		return "proxy near, " + word
	case w.Far:
		return "proxy far, " + word
	}
	return "no proxies"
}

// unsettled is how long a pair may be in FAULT before a change of its proxies
// counts as failed: the next attempt may well succeed.
const unsettled = 5 * time.Second

// settled waits until the engine runs on the path that is wanted.
func (p *pair) settled(ctx context.Context) error {
	for began := time.Now(); ; {
		var running bool
		if err := p.ask(ctx, func() { running = p.engine != nil && !p.otherPath }); err != nil {
			return err
		}
		if running {
			return nil
		}
		p.mu.Lock()
		word, why := p.state.Word, p.state.Why
		p.mu.Unlock()
		if word == Fault && time.Since(began) > unsettled {
			return NotReady{p.cfg.Name, why}
		}
		pause(ctx, firstRetry/5)
	}
}
