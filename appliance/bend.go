package appliance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/profiles"
)

// A fade and a handover happen inside the models. For as long as they last
// the engine runs the same links with one more line in the timeline of the
// main link; channel and packets go on, as with every swap. A timeline of the
// profile's own begins anew with it.

// entry is the line of the timeline that the event is.
func (d Disruption) entry() map[string]any {
	if d.Kind == HandOver {
		return map[string]any{"at": "0", "handover": d.Duration.String()}
	}
	e := map[string]any{"at": "0", "for": d.Duration.String(), "fade_db": d.DB}
	if d.Ramp > 0 {
		e["ramp"] = d.Ramp.String()
	}
	return e
}

// bentBy returns an engine's document with the event in it.
func bentBy(document []byte, d Disruption) ([]byte, error) {
	tree, err := decode(document)
	if err != nil {
		return nil, err
	}
	spec, _ := tree.(map[string]any)
	links, _ := spec["links"].([]any)
	if len(links) == 0 {
		return nil, Problems{{Path: "kind", Got: string(d.Kind), Want: "a link that is emulated"}}
	}
	main, _ := links[0].(map[string]any)
	profile, _ := main["profile"].(map[string]any)
	if profile == nil {
		return nil, Problems{{Path: "kind", Got: string(d.Kind), Want: "a link that is emulated"}}
	}
	lines, _ := profile["timeline"].([]any)
	profile["timeline"] = append(lines, d.entry())
	bent, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	var bad Problems
	_, problems := emulator.ParseSpec(bent)
	for _, p := range problems {
		if p.Level == profiles.Error {
			bad = append(bad, Problem{Path: "kind", Got: fmt.Sprintf("%s, as %s", d.Kind, p.Path[strings.LastIndex(p.Path, ".")+1:]), Want: p.Want})
		}
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return bent, nil
}

// bend begins an event inside the models.
func (p *pair) bend(ctx context.Context, d Disruption, by string) (Disruption, error) {
	if p.built.mode != Emulate {
		return d, NotReady{p.cfg.Name, fmt.Sprintf("the mode is %s; a %s needs a link that is emulated", p.built.mode, d.Kind)}
	}
	document, err := bentBy(p.built.document, d)
	if err != nil {
		return d, err
	}
	if err := p.engine.Apply(ctx, document); err != nil {
		return d, NotReady{p.cfg.Name, err.Error()}
	}
	d.Begins = time.Now()
	d.Ends = d.Begins.Add(d.total())
	p.disrupts = &disruption{Disruption: d, bent: true, timer: time.NewTimer(d.total())}
	p.setDisruption(&d)
	p.event(KindLink, by, fmt.Sprintf("%s begins, for %s", d.Kind, link.Duration(d.total())))
	return d, nil
}

// unbend gives the engine its own document back.
func (p *pair) unbend() {
	if p.engine == nil {
		return
	}
	if err := p.engine.Apply(context.Background(), p.built.document); err != nil {
		p.setWord(Fault, err.Error())
	}
}
