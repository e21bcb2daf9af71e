package box

import (
	"context"
	"fmt"
	"time"

	"farlink/appliance"
	"farlink/appliance/spec"
	"farlink/emulator/link"
)

// A fade and a handover happen inside the models. For as long as they last
// the engine runs the same links with one more line in the timeline of the
// main link; channel and packets go on, as with every swap. A timeline of the
// profile's own begins anew with it.

// bend begins an event inside the models.
func (p *pair) bend(ctx context.Context, d appliance.Disruption, by string) (appliance.Disruption, error) {
	if p.built.Mode != appliance.Emulate {
		return d, appliance.NotReady{Pair: p.cfg.Name, Why: fmt.Sprintf("the mode is %s; a %s needs a link that is emulated", p.built.Mode, d.Kind)}
	}
	document, err := spec.Bent(p.built.Document, d)
	if err != nil {
		return d, err
	}
	if err := p.engine.Apply(ctx, document); err != nil {
		return d, appliance.NotReady{Pair: p.cfg.Name, Why: err.Error()}
	}
	d.Begins = time.Now()
	d.Ends = d.Begins.Add(d.Total())
	p.disrupts = &disruption{Disruption: d, bent: true, timer: time.NewTimer(d.Total())}
	p.setDisruption(&d)
	p.event(appliance.KindLink, by, fmt.Sprintf("%s begins, for %s", d.Kind, link.Duration(d.Total())))
	return d, nil
}

// unbend gives the engine its own document back.
func (p *pair) unbend() {
	if p.engine == nil {
		return
	}
	if err := p.engine.Apply(context.Background(), p.built.Document); err != nil {
		p.setWord(appliance.Fault, err.Error())
	}
}
