// Package course is the course in time of what a link can do: rate, delay, loss
// and outages in steps.
//
//	rate ──┐        ┌───┐   outage   ┌──
//	       └────────┘   └────────────┘
//	       step 1   2   3            4     then hold, loop or clear
//
// Stages follow one with a Cursor. Units: ns, bit/s, probabilities 0..1.
package course

import (
	"sort"
	"strconv"

	"farlink/emulator/link"
)

// Config is a course in time of what a link can do: measured, or made
// up. The queue, the loss and the path of a way follow it.
type Config struct {
	// Steps are in order of At.
	Steps []Step `toml:"step"`
	// End says what follows the last step: "hold" (default), it stays;
	// "loop", the course begins anew after Period; "clear", from Period on
	// the profile's own figures hold.
	End    string        `toml:"end,omitempty"`
	Period link.Duration `toml:"period,omitempty"`
	// Start is when in the run the course begins; until then the profile's
	// own figures hold.
	Start link.Duration `toml:"start,omitempty"`
}

// Step is what holds from At, counted from the start of the course, to
// the next step. What is left out is as in the profile.
type Step struct {
	At    link.Duration  `toml:"at"`
	Rate  *link.Rate     `toml:"rate,omitempty"`
	Delay *link.Duration `toml:"delay,omitempty"`
	Loss  *float64       `toml:"loss,omitempty"`
	// Outage stops the server: packets wait.
	Outage bool `toml:"outage,omitempty"`
}

// Check reports what is wrong with c.
func (c Config) Check(report link.Report) {
	if len(c.Steps) == 0 {
		report("step", "no steps", "one step or more")
		return
	}
	for i, s := range c.Steps {
		s.check(report.Under("step." + strconv.Itoa(i)))
		if i > 0 && s.At <= c.Steps[i-1].At {
			report("step."+strconv.Itoa(i)+".at", s.At.String(), "later than the step before, at "+c.Steps[i-1].At.String())
		}
	}
	last := c.Steps[len(c.Steps)-1].At
	switch c.End {
	case "", "hold":
		if c.Period != 0 {
			report("period", c.Period.String(), `end = "loop" or "clear" beside it`)
		}
	case "loop", "clear":
		if c.Period <= last {
			report("period", c.Period.String(), "how long the course is, more than the last step's "+last.String())
		}
	default:
		report("end", c.End, `"hold", "loop" or "clear"`)
	}
}

func (s Step) check(report link.Report) {
	if s.Loss != nil {
		report.Probability("loss", *s.Loss)
	}
	if s.Delay != nil {
		report.Delay("delay", *s.Delay)
	}
	if s.Outage && s.Rate != nil {
		report("rate", s.Rate.String(), "either a rate or an outage")
	}
}

// Course is a course of a link made ready to be looked up. It does not change, so the
// stages of a way share one.
type Course struct {
	steps  []Step
	start  link.Time
	period link.Time // 0: the last step holds
	loop   bool
}

// New returns the course that c describes.
func New(c Config) *Course {
	t := &Course{steps: c.Steps, start: link.Time(c.Start)}
	if c.End == "loop" || c.End == "clear" {
		t.period, t.loop = link.Time(c.Period), c.End == "loop"
	}
	return t
}

// Loss returns the probability of loss at now that the course adds to the
// profile's, and the span in which it holds.
func (t *Course) Loss(now link.Time) (probability float64, span link.Span) {
	step, span := t.At(now)
	if step.Loss != nil {
		probability = *step.Loss
	}
	return probability, span
}

// own is a step of no course: all as in the profile.
var own = &Step{}

// At returns the step that holds at now, and the span in which it does.
func (t *Course) At(now link.Time) (*Step, link.Span) {
	first := t.start + link.Time(t.steps[0].At)
	if now < first {
		return own, link.Span{Start: -link.Never, End: first}
	}
	base, end := t.start, link.Never
	if t.period > 0 {
		end = base + t.period
		if now >= end && !t.loop {
			return own, link.Span{Start: end, End: link.Never}
		}
		if t.loop {
			base += (now - base) / t.period * t.period
			end = base + t.period
		}
	}
	i := sort.Search(len(t.steps), func(i int) bool { return base+link.Time(t.steps[i].At) > now })
	if i < len(t.steps) {
		end = base + link.Time(t.steps[i].At)
	}
	if i == 0 { // the last step lasts until the first of the next round
		return &t.steps[len(t.steps)-1], link.Span{Start: base, End: end}
	}
	return &t.steps[i-1], link.Span{Start: base + link.Time(t.steps[i-1].At), End: end}
}

// Cursor follows a course: it looks up anew only where the step has ended.
type Cursor struct {
	*Course       // nil: none
	Step    *Step // what holds
	Span    link.Span
}

// NewCursor returns a cursor that stands before the beginning of t.
func NewCursor(t *Course) Cursor { return Cursor{t, own, link.Span{}} }

// Seek goes to now, and reports whether that is another step.
func (c *Cursor) Seek(now link.Time) bool {
	if c.Course == nil || c.Span.Holds(now) {
		return false
	}
	was := c.Step
	c.Step, c.Span = c.Course.At(now)
	return c.Step != was
}
