package box

import (
	"context"
	"fmt"
	"time"

	"farlink/appliance"
	"farlink/emulator/link"
)

// disruption is a link event that goes on: it is cut until next, then
// through, in turn.
type disruption struct {
	appliance.Disruption
	cut   bool
	left  int  // cuts still to come
	bent  bool // the engine runs a document of the event's own
	timer *time.Timer
}

// due fires when the next step is; never without a disruption.
func (d *disruption) due() <-chan time.Time {
	if d == nil {
		return nil
	}
	return d.timer.C
}

func (d *disruption) cutting() bool { return d != nil && d.cut }

func (d *disruption) why() string {
	if !d.cutting() {
		return ""
	}
	return fmt.Sprintf("%s for %s", d.Kind, link.Duration(d.Total()))
}

// disrupt begins a link event; the loop runs it.
func (p *pair) disrupt(ctx context.Context, d appliance.Disruption, by string) (appliance.Disruption, error) {
	if p.disrupts != nil {
		return d, appliance.ErrBusy
	}
	if p.engine == nil {
		return d, appliance.NotReady{Pair: p.cfg.Name, Why: p.state.Why}
	}
	if d.Kind == appliance.Fade || d.Kind == appliance.HandOver {
		return p.bend(ctx, d, by)
	}
	d.Begins = time.Now()
	d.Ends = d.Begins.Add(d.Total())
	p.disrupts = &disruption{Disruption: d, left: max(d.Count, 1), timer: time.NewTimer(0)}
	<-p.disrupts.timer.C
	p.setDisruption(&d)
	p.event(appliance.KindLink, by, fmt.Sprintf("%s begins, for %s", d.Kind, link.Duration(d.Total())))
	p.disruptOn(ctx)
	return d, nil
}

// disruptOn does the next step of the link event.
func (p *pair) disruptOn(ctx context.Context) {
	d := p.disrupts
	switch {
	case !d.cut && d.left > 0:
		d.cut = true
		d.left--
		d.timer.Reset(time.Duration(max(d.Duration, d.Down)))
	case d.left > 0:
		d.cut = false
		d.timer.Reset(time.Duration(d.Up))
	default:
		p.disruptEnd("")
	}
	p.setMode(ctx)
}

// disruptEnd ends the link event; it says so.
func (p *pair) disruptEnd(by string) {
	if p.disrupts == nil {
		return
	}
	p.event(appliance.KindLink, by, fmt.Sprintf("%s ends", p.disrupts.Kind))
	p.disrupts.timer.Stop()
	if p.disrupts.bent {
		p.unbend()
	}
	p.disrupts = nil
	p.setDisruption(nil)
}

func (p *pair) setDisruption(d *appliance.Disruption) {
	p.mu.Lock()
	p.state.Event = d
	p.mu.Unlock()
}

// setMode has the engine, if there is one, do what is due now.
func (p *pair) setMode(ctx context.Context) {
	if p.engine == nil {
		return
	}
	if err := p.engine.SetMode(ctx, p.mode()); err != nil {
		p.setWord(appliance.Fault, err.Error())
		return
	}
	p.settle()
}
