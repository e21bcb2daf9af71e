package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"farlink/appliance"
	"farlink/appliance/spec"
	"farlink/profiles/document"
)

// saved is a pair's file in the state directory.
type saved struct {
	Want      appliance.Want `json:"want"`
	Version   uint64         `json:"version"`
	AppliedAt time.Time      `json:"applied_at"`
}

func (p *pair) file() string { return "pair-" + p.cfg.Name + ".json" }

// restore takes up the last want, or the one to boot with.
func (p *pair) restore() error {
	s := saved{Want: p.cfg.Boot}
	found, err := p.box.store.Load(p.file(), &s)
	if err != nil {
		return err
	}
	c, problems := p.box.compile(s.Want, p.cfg.Memory)
	if len(problems) > 0 && found {
		return fmt.Errorf("state file %s: %w; mend it or remove it", p.box.store.Path(p.file()), problems)
	}
	if len(problems) > 0 {
		return fmt.Errorf("pair %s: boot: %w", p.cfg.Name, problems)
	}
	if !found {
		s.AppliedAt = time.Now()
	}
	p.take(c, s.Want, s.Version, s.AppliedAt)
	return nil
}

// take makes the want the one in force.
func (p *pair) take(c spec.Spec, w appliance.Want, version uint64, at time.Time) {
	p.built = c
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version = version
	p.state.Want, p.state.ETag, p.state.AppliedAt = w, appliance.ETag(version), at
	p.state.Links, p.rate = c.Links, c.Rate
}

// apply makes want the one in force, all of it or nothing; the loop runs it.
func (p *pair) apply(ctx context.Context, want appliance.Want, o appliance.Options) (appliance.Applied, error) {
	if now := appliance.ETag(p.version); o.IfMatch != "" && o.IfMatch != now {
		return appliance.Applied{}, appliance.Stale{Got: o.IfMatch, Now: now}
	}
	if want.Mode == "" {
		want.Mode = appliance.Emulate
	}
	c, problems := p.box.compile(want, p.cfg.Memory)
	if len(problems) > 0 {
		return appliance.Applied{}, problems
	}
	changed := !reflect.DeepEqual(want, p.state.Want)
	if o.DryRun {
		return appliance.Applied{ETag: appliance.ETag(p.version), DryRun: true, Changed: changed, Hitless: p.hitless(c), Effective: true, Want: want, Links: c.Links, Warnings: c.Warnings}, nil
	}
	hitless := p.hitless(c) && !o.NewRun
	if err := p.drive(ctx, p.built, c, o.NewRun); err != nil {
		return appliance.Applied{}, err
	}
	version, at := p.version, time.Now()
	if changed {
		version++
		if err := p.box.store.Save(p.file(), saved{want, version, at}); err != nil {
			return appliance.Applied{}, errors.Join(err, p.drive(ctx, c, p.built, false))
		}
	}
	p.take(c, want, version, at)
	p.mu.Lock()
	p.state.Hitless = hitless
	p.mu.Unlock()
	if p.engine != nil {
		p.settle()
	}
	p.event(appliance.KindApplied, o.By, c.String())
	s := p.snapshot()
	return appliance.Applied{ETag: s.ETag, AppliedAt: at, Changed: changed, Hitless: hitless, Effective: s.Effective, NotYet: s.NotYet, Checks: s.Checks, Want: want, Links: c.Links, Warnings: c.Warnings}, nil
}

// patch lays a merge patch (RFC 7396) over the want in force.
func (p *pair) patch(ctx context.Context, doc []byte, o appliance.Options) (appliance.Applied, error) {
	if now := appliance.ETag(p.version); o.IfMatch != "" && o.IfMatch != now {
		return appliance.Applied{}, appliance.Stale{Got: o.IfMatch, Now: now}
	}
	want, problems := patched(p.state.Want, doc, appliance.ParseWant)
	if len(problems) > 0 {
		return appliance.Applied{}, problems
	}
	return p.apply(ctx, want, o)
}

// hitless reports whether going over to c loses or reorders no frame: links
// are swapped between two frames, but a change of mode lets frames overtake
// those inside.
func (p *pair) hitless(c spec.Spec) bool {
	return p.engine != nil && c.Mode == p.built.Mode
}

// drive has the engine go over from one to another, in a new run if so asked.
// Without an engine there is nothing to do: the next one starts with it.
func (p *pair) drive(ctx context.Context, from, to spec.Spec, newRun bool) error {
	e := p.engine
	if e == nil {
		return nil
	}
	var err error
	switch {
	case newRun:
		err = e.Run(ctx, to.Document)
	case !bytes.Equal(from.Document, to.Document):
		err = e.Apply(ctx, to.Document)
	}
	if err != nil {
		return appliance.NotReady{Pair: p.cfg.Name, Why: err.Error()}
	}
	mode := to.Mode
	if p.disrupts.cutting() {
		mode = appliance.CutOff
	}
	if err := e.SetMode(ctx, mode); err != nil {
		return errors.Join(appliance.NotReady{Pair: p.cfg.Name, Why: err.Error()}, e.Apply(ctx, from.Document))
	}
	return nil
}

// patched returns what is wanted, changed by the merge patch in doc.
func patched[W any](want W, doc []byte, parse func([]byte) (W, appliance.Problems)) (W, appliance.Problems) {
	merged, bad := document.Patch(want, doc)
	if len(bad) > 0 {
		return want, bad
	}
	want, wrong := parse(merged)
	return want, wrong.Unplaced()
}
