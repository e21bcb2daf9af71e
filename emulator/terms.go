package emulator

import (
	"fmt"

	"farlink/emulator/air"
	"farlink/emulator/link"
	"farlink/emulator/stage"
	"farlink/profiles"
)

// What a term is about.
const (
	TermDelay     = "delay"     // the least that a frame spends inside
	TermRate      = "rate"      // at which frames leave
	TermJitter    = "jitter"    // mean and deviation of the delay
	TermLoss      = "loss"      // share of frames lost on the air
	TermDuplicate = "duplicate" // share of frames that come twice
	TermReorder   = "reorder"
	TermCorrupt   = "corrupt"
	TermFrames    = "frames" // offered = delivered + lost + held
)

// Term is what one way of a link promises in one respect, so that it can be
// held against what is seen; or why it promises nothing.
type Term struct {
	What    string
	Promise string  // in words; "" promises nothing
	Why     string  // nothing is promised
	Share   float64 // of loss and duplicate: of all frames
	Memory  float64 // of jitter: for how many frames, or (negative) seconds, a deviation lasts; 0: none
}

// Terms returns what way w of a link with this profile promises.
func Terms(p *profiles.Profile, w link.Way) []Term {
	way := p.Of(w)
	terms := []Term{delayTerm(p, w), rateTerm(p, w)}
	if j := way.Path.Jitter; j != nil && way.Trace == nil && len(p.Variants()) == 1 {
		terms = append(terms, jitterTerm(j))
	} else if j != nil || p.LEO != nil || way.Trace != nil {
		terms = append(terms, Term{What: TermJitter, Why: "the delay has a course, and no mean to hold it against"})
	}
	if t, any := lossTerm(p, w); any {
		terms = append(terms, t)
	}
	if d := way.Duplicate.Probability; d > 0 {
		terms = append(terms, Term{What: TermDuplicate, Promise: fmt.Sprintf("%g %% of frames", d*100), Share: d})
	}
	if way.Reorder != nil {
		terms = append(terms, Term{What: TermReorder, Why: "how many frames change places depends on how closely they follow each other"})
	}
	if way.Corrupt != (air.CorruptConfig{}) {
		terms = append(terms, Term{What: TermCorrupt, Why: "damaged frames are delivered, and not counted apart"})
	}
	return append(terms, Term{What: TermFrames, Promise: "offered = delivered + lost + held"})
}

// least returns the least time that a frame spends in way w, or why none is
// known.
func least(p *profiles.Profile, w link.Way) (link.Duration, string) {
	known := link.Duration(-1)
	for _, v := range p.Variants() {
		d, why := leastNow(v, w)
		if why != "" {
			return 0, why
		}
		if known < 0 || d < known {
			known = d
		}
	}
	return max(known, 0), ""
}

func leastNow(p *profiles.Profile, w link.Way) (link.Duration, string) {
	way := p.Of(w)
	d := p.Delay(w)
	if p.LEO != nil {
		d, _ = p.LEO.Delays()
	}
	if way.Trace != nil {
		for _, s := range way.Trace.Steps {
			if s.Delay != nil {
				d = min(d, *s.Delay)
			}
		}
	}
	if j := way.Path.Jitter; j != nil {
		below, bounded := j.Below()
		if !bounded {
			return 0, "a " + j.Distribution + " delay has no least value; its mean stands under jitter"
		}
		d -= below
	}
	return max(d, 0), ""
}

func delayTerm(p *profiles.Profile, w link.Way) Term {
	d, why := least(p, w)
	if why != "" {
		return Term{What: TermDelay, Why: why}
	}
	return Term{What: TermDelay, Promise: fmt.Sprintf("at least %v", d)}
}

// models says why what serves a way promises no least rate.
var models = map[string]string{
	"carrier": "the rate follows weather and MODCOD", "wlan": "the rate follows contention", "leo": "the rate follows satellites",
	"lte": "the rate follows channel, load and grants", "nr": "the rate follows channel and grants", "dama": "the rate follows grants",
}

func rateTerm(p *profiles.Profile, w link.Way) Term {
	way, server := p.Of(w), p.Server(w)
	peak := link.Rate(0)
	for _, v := range p.Variants() {
		r, _ := v.Peak(w)
		if r == 0 {
			peak = 0
			break
		}
		peak = max(peak, r)
	}
	switch {
	case server == "delivery" || server == "train":
		return Term{What: TermRate, Why: "a trace of opportunities lets frames out at its own times; rate_bps shows what it gives"}
	case peak == 0:
		return Term{What: TermRate, Why: "no limit is asked"}
	case server != "queue":
		return Term{What: TermRate, Promise: fmt.Sprintf("at most %v, the most of its model (%s; rate_bps shows it)", peak, models[server])}
	case way.Trace != nil:
		return Term{What: TermRate, Promise: fmt.Sprintf("at most %v, the most of its trace", peak)}
	case len(p.Variants()) > 1:
		return Term{What: TermRate, Promise: fmt.Sprintf("as the timeline has it, at most %v", peak)}
	case way.Path.Jitter != nil || way.Reorder != nil || way.Loss != (air.LossConfig{}) || way.Middlebox != nil:
		return Term{What: TermRate, Promise: fmt.Sprintf("at most %v", peak)}
	}
	return Term{What: TermRate, Promise: fmt.Sprintf("%v while frames wait, never more", peak)}
}

func jitterTerm(j *stage.JitterConfig) Term {
	t := Term{What: TermJitter, Promise: "mean and deviation of the delay as asked"}
	switch {
	case j.HalfLife > 0:
		t.Memory = -j.HalfLife.Seconds() / 0.6931
	case j.Correlation > 0:
		t.Memory = (1 + j.Correlation) / (1 - j.Correlation)
	}
	return t
}

// lossTerm: what is drawn for each frame anew has a share to hold it
// against, bursts have none that a short look could tell.
func lossTerm(p *profiles.Profile, w link.Way) (t Term, any bool) {
	way := p.Of(w)
	c := way.Loss
	switch {
	case c == (air.LossConfig{}) && p.LEO == nil:
		return t, false
	case c == (air.LossConfig{Probability: c.Probability}) && way.Trace == nil && len(p.Variants()) == 1 && p.LEO == nil:
		return Term{What: TermLoss, Promise: fmt.Sprintf("%g %% of frames", c.Probability*100), Share: c.Probability}, true
	}
	return Term{What: TermLoss, Why: "losses come in bursts, by size or by a course: their share in a short time is any"}, true
}
