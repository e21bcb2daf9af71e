package sat

import (
	"farlink/emulator/link"
	"farlink/emulator/sat/modcod"
)

// ACMConfig is the loop that follows the sky: the receiver reports its
// Es/N0, and the sender chooses the MODCOD.
type ACMConfig struct {
	// MarginDown: a MODCOD is left as soon as a report shows less than its
	// threshold plus so many dB. 0.3 is usual.
	MarginDown float64 `toml:"margin_down,omitempty"`
	// MarginUp: a better one is taken when reports show its threshold plus
	// so many dB for as long as HoldUp. 0.8 is usual.
	MarginUp float64 `toml:"margin_up,omitempty"`
	// HoldUp is how long; 2s when 0.
	HoldUp link.Duration `toml:"hold_up,omitempty"`
	// Period is the distance of reports; 1s when 0.
	Period link.Duration `toml:"period,omitempty"`
	// Delay is the way of a report to the sender; when 0, the hop of [geo],
	// else 250ms.
	Delay link.Duration `toml:"delay,omitempty"`
}

// check reports every problem of the loop.
func (c ACMConfig) check(report link.Report) {
	checkRange(report, "margin_down", c.MarginDown, 0, 10, "dB")
	checkRange(report, "margin_up", c.MarginUp, 0, 10, "dB")
	if c.MarginUp < c.MarginDown {
		report("margin_up", number(c.MarginUp), "at least margin_down, "+number(c.MarginDown)+" dB, or the MODCOD swings")
	}
	if c.Period != 0 && c.Period < 10*link.Millisecond {
		report("period", c.Period.String(), "10ms or more between reports; 1s is usual")
	}
	if c.Delay > 10*link.Second {
		report("delay", c.Delay.String(), "at most 10s; a hop is 250ms")
	}
}

// acm is the sender's end of the loop. Report k is measured at k·period and
// takes effect delay later; so what holds at an instant is a function of the
// instant, whoever asks and how often. A ladder of one rung is CCM: it stays,
// whatever the sky does.
type acm struct {
	ladder        []modcod.Rung
	down, up      float64
	hold          link.Duration
	period, delay link.Duration
	current       int       // place in the ladder, or none
	report        int64     // number of the next report
	rising        link.Time // since when better was possible; Never: it is not
	changes       uint64
}

func newACM(c ACMConfig, ladder []modcod.Rung, sky *channel) acm {
	a := acm{ladder: ladder, down: c.MarginDown, up: c.MarginUp, hold: either(c.HoldUp, 2*link.Second),
		period: either(c.Period, link.Second), delay: either(c.Delay, 250*link.Millisecond), report: 1, rising: link.Never}
	if len(ladder) > 1 {
		a.current = modcod.Best(ladder, sky.at(0).esN0-a.down)
	}
	return a
}

// measured returns when the next report is measured.
func (a *acm) measured() link.Time { return link.Time(a.report) * link.Time(a.period) }

// effect returns when the next report takes effect.
func (a *acm) effect() link.Time { return a.measured().Add(a.delay) }

// advance lets every report act that takes effect by now.
func (a *acm) advance(now link.Time, sky *channel) {
	if len(a.ladder) == 1 {
		return
	}
	for a.effect() <= now {
		a.step(sky)
	}
}

// step lets the next report act.
func (a *acm) step(sky *channel) {
	at := a.measured()
	a.report++
	a.hear(at, sky.at(at).esN0)
}

// hear acts on a report of Es/N0 measured at an instant: down at once, up
// only after the margin held for a while, and then as far as it reaches.
func (a *acm) hear(at link.Time, esN0 float64) {
	if a.current != modcod.None && esN0 < a.ladder[a.current].Need+a.down {
		a.change(modcod.Best(a.ladder, esN0-a.down))
		return
	}
	better := modcod.Best(a.ladder, esN0-a.up)
	switch {
	case better <= a.current:
		a.rising = link.Never
		return
	case a.rising == link.Never:
		a.rising = at
	}
	if at.Sub(a.rising) >= a.hold {
		a.change(better)
	}
}

func (a *acm) change(to int) {
	a.current, a.rising = to, link.Never
	a.changes++
}

// mode returns the name of the MODCOD chosen, "" for none.
func (a *acm) mode() string {
	if a.current == modcod.None {
		return ""
	}
	return a.ladder[a.current].Modcod.Name
}

// settle chooses as if the sky had long been as it is at now.
func (a *acm) settle(now link.Time, sky *channel) {
	if len(a.ladder) == 1 {
		return
	}
	a.current, a.rising = modcod.Best(a.ladder, sky.at(now).esN0-a.down), link.Never
	a.report = max(1, int64(now.Sub(0)-a.delay)/int64(a.period)+1)
}

// inherit goes on where old is.
func (a *acm) inherit(now link.Time, old *acm, sky *channel) {
	a.settle(now, sky)
	if len(a.ladder) == 1 {
		return
	}
	if old.period == a.period && old.delay == a.delay && len(old.ladder) > 1 {
		a.report, a.rising = old.report, old.rising
	}
	a.changes = old.changes
	for i, r := range a.ladder {
		if r.Modcod.Name == old.mode() {
			a.current = i
		}
	}
}
