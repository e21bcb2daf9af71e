package appliance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"farlink/profiles/document"
)

// saved is a pair's file in the state directory.
type saved struct {
	Want      Want      `json:"want"`
	Version   uint64    `json:"version"`
	AppliedAt time.Time `json:"applied_at"`
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
func (p *pair) take(c compiled, w Want, version uint64, at time.Time) {
	p.built = c
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version = version
	p.state.Want, p.state.ETag, p.state.AppliedAt = w, etag(version), at
	p.state.Links, p.rate = c.links, c.rate
}

// etag is how a version is written.
func etag(version uint64) string { return fmt.Sprintf("v%d", version) }

// apply makes want the one in force, all of it or nothing; the loop runs it.
func (p *pair) apply(ctx context.Context, want Want, o Options) (Applied, error) {
	if now := etag(p.version); o.IfMatch != "" && o.IfMatch != now {
		return Applied{}, Stale{o.IfMatch, now}
	}
	if want.Mode == "" {
		want.Mode = Emulate
	}
	c, problems := p.box.compile(want, p.cfg.Memory)
	if len(problems) > 0 {
		return Applied{}, problems
	}
	changed := !reflect.DeepEqual(want, p.state.Want)
	if o.DryRun {
		return Applied{ETag: etag(p.version), DryRun: true, Changed: changed, Hitless: p.hitless(c), Effective: true, Want: want, Links: c.links, Warnings: c.warnings}, nil
	}
	hitless := p.hitless(c) && !o.NewRun
	if err := p.drive(ctx, p.built, c, o.NewRun); err != nil {
		return Applied{}, err
	}
	version, at := p.version, time.Now()
	if changed {
		version++
		if err := p.box.store.Save(p.file(), saved{want, version, at}); err != nil {
			return Applied{}, errors.Join(err, p.drive(ctx, c, p.built, false))
		}
	}
	p.take(c, want, version, at)
	p.mu.Lock()
	p.state.Hitless = hitless
	p.mu.Unlock()
	if p.engine != nil {
		p.settle()
	}
	p.event(KindApplied, o.By, c.String())
	s := p.snapshot()
	return Applied{ETag: s.ETag, AppliedAt: at, Changed: changed, Hitless: hitless, Effective: s.Effective, NotYet: s.NotYet, Checks: s.Checks, Want: want, Links: c.links, Warnings: c.warnings}, nil
}

// patch lays a merge patch (RFC 7396) over the want in force.
func (p *pair) patch(ctx context.Context, doc []byte, o Options) (Applied, error) {
	if now := etag(p.version); o.IfMatch != "" && o.IfMatch != now {
		return Applied{}, Stale{o.IfMatch, now}
	}
	want, problems := merge(p.state.Want, doc)
	if len(problems) > 0 {
		return Applied{}, problems
	}
	return p.apply(ctx, want, o)
}

// hitless reports whether going over to c loses or reorders no frame: links
// are swapped between two frames, but a change of mode lets frames overtake
// those inside.
func (p *pair) hitless(c compiled) bool {
	return p.engine != nil && c.mode == p.built.mode
}

// drive has the engine go over from one to another, in a new run if so asked.
// Without an engine there is nothing to do: the next one starts with it.
func (p *pair) drive(ctx context.Context, from, to compiled, newRun bool) error {
	e := p.engine
	if e == nil {
		return nil
	}
	var err error
	switch {
	case newRun:
		err = e.Run(ctx, to.document)
	case !bytes.Equal(from.document, to.document):
		err = e.Apply(ctx, to.document)
	}
	if err != nil {
		return NotReady{p.cfg.Name, err.Error()}
	}
	mode := to.mode
	if p.disrupts.cutting() {
		mode = CutOff
	}
	if err := e.SetMode(ctx, mode); err != nil {
		return errors.Join(NotReady{p.cfg.Name, err.Error()}, e.Apply(ctx, from.document))
	}
	return nil
}

// merge returns want changed by the merge patch in doc.
func merge(want Want, doc []byte) (Want, Problems) {
	merged, bad := patched(want, doc)
	if len(bad) > 0 {
		return want, bad
	}
	return ParseWant(merged)
}

// patched returns the document of want, of whatever kind, changed by the
// merge patch in doc.
func patched(want any, doc []byte) ([]byte, Problems) {
	change, err := decode(doc)
	if err != nil {
		return nil, Problems{{Got: err.Error(), Want: "a JSON document"}}
	}
	if _, ok := change.(map[string]any); !ok {
		return nil, Problems{{Got: "a patch that is not an object", Want: `an object, such as {"profile": "clear"}`}}
	}
	old, err := json.Marshal(want)
	if err != nil {
		return nil, Problems{{Got: err.Error(), Want: "a want"}}
	}
	tree, err := decode(old)
	if err != nil {
		return nil, Problems{{Got: err.Error(), Want: "a want"}}
	}
	merged, err := json.Marshal(mergePatch(tree, change))
	if err != nil {
		return nil, Problems{{Got: err.Error(), Want: "a want"}}
	}
	return merged, nil
}

// decode reads JSON with its numbers as they stand: a seed has 64 bits.
func decode(doc []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = errors.New("something behind the end of the document")
	}
	if p, known := document.Unread(doc, err); known {
		err = errors.New(p.Got)
	}
	return v, err
}

// mergePatch is the function MergePatch of RFC 7396, clause 2.
func mergePatch(target, patch any) any {
	change, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for key, value := range change {
		if value == nil {
			delete(t, key)
		} else {
			t[key] = mergePatch(t[key], value)
		}
	}
	return t
}
