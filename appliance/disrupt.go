package appliance

import (
	"context"
	"fmt"
	"time"

	"farlink/emulator/link"
)

// longest bounds a link event; whoever wants more sets the mode.
const longest = 24 * link.Duration(time.Hour)

// disruption is a link event that goes on: it is cut until next, then
// through, in turn.
type disruption struct {
	Disruption
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
	return fmt.Sprintf("%s for %s", d.Kind, link.Duration(d.total()))
}

// check lists what is wrong with a link event.
func (d Disruption) check() (all Problems) {
	say := func(path, got, want string) { all = append(all, Problem{Path: path, Got: got, Want: want}) }
	length := func(path string, v link.Duration, needed bool) {
		switch {
		case needed && (v <= 0 || v > longest):
			say(path, v.String(), `a duration above 0 and up to 24h, such as "5s"`)
		case !needed && v != 0:
			say(path, v.String(), "nothing: a "+string(d.Kind)+" has no "+path)
		}
	}
	if d.Kind != Fade && (d.DB != 0 || d.Ramp != 0) {
		say("db", fmt.Sprint(d.DB), "nothing: only a fade has db and ramp")
	}
	if (d.Kind == Fade || d.Kind == HandOver) && (d.Down != 0 || d.Up != 0 || d.Count != 0) {
		say("count", fmt.Sprint(d.Count), "nothing: only a flap has down, up and count")
	}
	switch d.Kind {
	case Fade:
		length("duration", d.Duration, true)
		if !(d.DB > 0 && d.DB <= 60) {
			say("db", fmt.Sprint(d.DB), "above 0 to 60 dB")
		}
		if d.Ramp < 0 || 2*d.Ramp > d.Duration {
			say("ramp", d.Ramp.String(), "at most half the duration")
		}
	case HandOver:
		length("duration", d.Duration, true)
		if d.Duration > 10*link.Second {
			say("duration", d.Duration.String(), "up to 10s")
		}
	case CutFor:
		length("duration", d.Duration, true)
		length("down", d.Down, false)
		length("up", d.Up, false)
		if d.Count != 0 {
			say("count", fmt.Sprint(d.Count), "nothing: a cut is one")
		}
	case Flap:
		length("duration", d.Duration, false)
		length("down", d.Down, true)
		length("up", d.Up, true)
		if d.Count < 1 || d.Count > 100_000 {
			say("count", fmt.Sprint(d.Count), "1 to 100000")
		}
	default:
		say("kind", fmt.Sprintf("%q", d.Kind), `"cut", "flap", "fade" or "handover"`)
	}
	if d.Kind == Flap && len(all) == 0 && (d.Down+d.Up) > longest/link.Duration(d.Count) {
		say("count", fmt.Sprint(d.Count), "a flap of no more than 24h altogether")
	}
	return all
}

// total is how long the event lasts: a flap ends with its last cut.
func (d Disruption) total() time.Duration {
	if d.Kind != Flap {
		return time.Duration(d.Duration)
	}
	return time.Duration(d.Down)*time.Duration(d.Count) + time.Duration(d.Up)*time.Duration(d.Count-1)
}

// disrupt begins a link event; the loop runs it.
func (p *pair) disrupt(ctx context.Context, d Disruption, by string) (Disruption, error) {
	if p.disrupts != nil {
		return d, ErrBusy
	}
	if p.engine == nil {
		return d, NotReady{p.cfg.Name, p.state.Why}
	}
	if d.Kind == Fade || d.Kind == HandOver {
		return p.bend(ctx, d, by)
	}
	d.Begins = time.Now()
	d.Ends = d.Begins.Add(d.total())
	p.disrupts = &disruption{Disruption: d, left: max(d.Count, 1), timer: time.NewTimer(0)}
	<-p.disrupts.timer.C
	p.setDisruption(&d)
	p.event(KindLink, by, fmt.Sprintf("%s begins, for %s", d.Kind, link.Duration(d.total())))
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
	p.event(KindLink, by, fmt.Sprintf("%s ends", p.disrupts.Kind))
	p.disrupts.timer.Stop()
	if p.disrupts.bent {
		p.unbend()
	}
	p.disrupts = nil
	p.setDisruption(nil)
}

func (p *pair) setDisruption(d *Disruption) {
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
		p.setWord(Fault, err.Error())
		return
	}
	p.settle()
}
