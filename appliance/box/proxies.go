package box

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"farlink/appliance"
)

// errOtherPath ends an engine's session because the path changes.
var errOtherPath = errors.New("the proxies of the pair change")

func (p *pair) pepFile() string { return "pep-" + p.cfg.Name + ".json" }

// savedPEP is the file of a pair's proxies in the state directory.
type savedPEP struct {
	Want    appliance.PEP `json:"want"`
	Version uint64        `json:"version"`
}

// restorePEP takes up what was last wanted of the proxies.
func (p *pair) restorePEP() error {
	s := savedPEP{Want: p.cfg.PEP}
	if _, err := p.box.store.Load(p.pepFile(), &s); err != nil {
		return err
	}
	if bad := s.Want.Problems(); len(bad) > 0 {
		return fmt.Errorf("pair %s: pep: %w", p.cfg.Name, bad)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pep, p.pepVersion = s.Want, s.Version
	return nil
}

// PEP returns the state of the proxies of the pair.
func (b *Box) PEP(name string) (appliance.PEPState, error) {
	p, err := b.pair(name)
	if err != nil {
		return appliance.PEPState{}, err
	}
	p.mu.Lock()
	s, e := appliance.PEPState{Want: p.pep, ETag: appliance.ETag(p.pepVersion)}, p.engine
	p.mu.Unlock()
	if proxied, ok := e.(Proxied); ok {
		s.Proxies, err = proxied.Proxies()
	}
	return s, err
}

// Splits lists split connections of the pair as the proxy of a side sees
// them.
func (b *Box) Splits(name, side string, offset, most int) ([]appliance.Split, int, error) {
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
func (b *Box) ApplyPEP(ctx context.Context, name string, want appliance.PEP, o appliance.Options) (appliance.PEPState, error) {
	p, err := b.pair(name)
	if err != nil {
		return appliance.PEPState{}, err
	}
	if asked := p.ask(ctx, func() { err = p.applyPEP(want, o) }); asked != nil {
		return appliance.PEPState{}, asked
	}
	if err != nil {
		return appliance.PEPState{}, err
	}
	if o.DryRun {
		return appliance.PEPState{Want: want}, nil
	}
	if err := p.settled(ctx); err != nil {
		return appliance.PEPState{}, err
	}
	return b.PEP(name)
}

// PatchPEP lays a merge patch (RFC 7396) over what is wanted of the proxies.
func (b *Box) PatchPEP(ctx context.Context, name string, patch []byte, o appliance.Options) (appliance.PEPState, error) {
	now, err := b.PEP(name)
	if err != nil {
		return appliance.PEPState{}, err
	}
	want, bad := patched(now.Want, patch, appliance.ParsePEP)
	if len(bad) > 0 {
		return appliance.PEPState{}, bad
	}
	if o.IfMatch == "" {
		o.IfMatch = now.ETag // another's change meanwhile must not be lost
	}
	return b.ApplyPEP(ctx, name, want, o)
}

// applyPEP is run by the pair's loop.
func (p *pair) applyPEP(want appliance.PEP, o appliance.Options) error {
	if now := appliance.ETag(p.pepVersion); o.IfMatch != "" && o.IfMatch != now {
		return appliance.Stale{Got: o.IfMatch, Now: now}
	}
	if bad := want.Problems(); len(bad) > 0 {
		return bad
	}
	if o.DryRun || reflect.DeepEqual(want, p.pep) {
		return nil
	}
	sides := want.Near == p.pep.Near && want.Far == p.pep.Far
	if proxied, ok := p.engine.(Proxied); ok && sides {
		if err := proxied.Configure(want.Config); err != nil {
			return appliance.NotReady{Pair: p.cfg.Name, Why: err.Error()}
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
	p.event(appliance.KindPEP, o.By, want.String())
	return nil
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
		if word == appliance.Fault && time.Since(began) > unsettled {
			return appliance.NotReady{Pair: p.cfg.Name, Why: why}
		}
		pause(ctx, firstRetry/5)
	}
}
