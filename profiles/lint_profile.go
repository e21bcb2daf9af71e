package profiles

import (
	"fmt"
	"math"
	"regexp"

	"farlink/emulator/link"
	"farlink/emulator/orbit"
	"farlink/emulator/sat"
)

var goodName = regexp.MustCompile(`^[a-z0-9]+([/.-][a-z0-9]+)*$`)

// profileRules look at the profile as a whole.
var profileRules = []Rule{
	{"name-form", "a name that commands and paths would have to quote", func(l *lint) {
		if n := l.p.Name; n != "" && !goodName.MatchString(n) {
			l.say("name", fmt.Sprintf("%q", n), `lower-case words, digits, "-" and "/", such as "geo/my-link"`)
		}
	}},
	{"delay-one-way", "a delay one way only", func(l *lint) {
		down, up := l.p.Delay(link.Down), l.p.Delay(link.Up)
		if max(down, up) >= 5*link.Millisecond && min(down, up) == 0 {
			l.say(l.faster()+".path.delay", "none", "a delay both ways: the round trip is their sum, "+short(l.p.RTT())+" here")
		}
	}},
	{"delay-asymmetric", "delays that differ by more than four times", func(l *lint) {
		down, up := l.p.Delay(link.Down), l.p.Delay(link.Up)
		if min(down, up) > 0 && max(down, up) > 20*link.Millisecond && max(down, up) > 4*min(down, up) {
			l.say(l.faster()+".path.delay", min(down, up), "about the other way's, "+short(max(down, up))+"; signals travel alike both ways")
		}
	}},
	{"rates-swapped", "up more than four times down", func(l *lint) {
		down, up := l.p.Rate(link.Down), l.p.Rate(link.Up)
		if down > 0 && up > 4*down {
			l.say("up", up, "less than down, "+down.String()+": down is towards the device; are they swapped?")
		}
	}},
	{"rates-far-apart", "down more than 150 times up", func(l *lint) {
		down, up := l.p.Rate(link.Down), l.p.Rate(link.Up)
		if up > 0 && down > 150*up {
			l.say("up", up, "at least a 150th of down, "+down.String()+": acknowledgements alone fill it")
		}
	}},
	{"expect-rtt-too-short", "an expected round trip shorter than light's", func(l *lint) {
		if e := l.p.Expect.RTT; e > 0 && e < l.p.RTT()*95/100 && l.p.LEO == nil {
			l.say("expect.rtt", e, "at least the propagation's round trip, "+short(l.p.RTT()))
		}
	}},
	{"expect-rate-too-high", "an expected rate above the link's", func(l *lint) {
		for _, w := range link.Ways {
			e := l.p.Expect.Down
			if w == link.Up {
				e = l.p.Expect.Up
			}
			if peak, _ := l.p.Peak(w); e > 0 && peak > 0 && e > peak+peak/100 {
				l.say("expect."+w.String(), e, "at most what the way has, "+peak.String())
			}
		}
	}},
	{"expect-loss-differs", "an expected loss that is not the configured one", func(l *lint) {
		for _, w := range link.Ways {
			e, path := l.p.Expect.LossDown, "expect.loss_down"
			if w == link.Up {
				e, path = l.p.Expect.LossUp, "expect.loss_up"
			}
			if has := l.p.Of(w).Loss.Probability; e > 0 && has > 0 && math.Abs(e-has) > has/2 && l.p.Of(w).Loss.BER == 0 {
				l.say(path, e, fmt.Sprintf("about loss.probability, %g", has))
			}
		}
	}},
	{"geo-low", "a station that sees the satellite below 10 degrees", func(l *lint) {
		g := l.p.Geo
		if g == nil {
			return
		}
		sites := map[string]sat.Site{"terminal": g.Terminal, "gateway": g.Gateway}
		for _, name := range []string{"terminal", "gateway"} {
			if _, e := orbit.Look(sites[name], g.Satellite); e < 10 && (name == "terminal" || g.Topology != sat.Mesh) {
				l.say("geo."+name, fmt.Sprintf("an elevation of %.1f degrees", e), "10 degrees or more, which services are planned for")
			}
		}
	}},
	{"geo-and-delay", "a satellite's delay twice", func(l *lint) {
		for _, w := range link.Ways {
			if d := l.p.Of(w).Path.Delay; l.p.Geo != nil && d >= 100*link.Millisecond {
				l.say(w.String()+".path.delay", d, "less than 100ms beside [geo], which adds "+short(l.p.Geo.Delay()))
			}
		}
	}},
	{"medium-alone", "a medium that shares nothing", func(l *lint) {
		if m := l.p.Medium; m != "" && l.p.LTE == nil && l.p.DAMA == nil && l.p.LEO == nil && l.p.Down.Carrier == nil && l.p.Up.Carrier == nil {
			l.say("medium", fmt.Sprintf("%q", m), "something to share: lte, dama, leo or a carrier")
		}
	}},
	{"weight-without-cell", "a weight without a cell", func(l *lint) {
		if l.p.Weight != 0 && l.p.LTE == nil {
			l.say("weight", l.p.Weight, "a cell, [lte]; a return link has dama.station.weight")
		}
	}},
	{"lte-far", "a cell behind a satellite's delay", func(l *lint) {
		if l.p.LTE != nil && l.p.RTT() > 300*link.Millisecond {
			l.say("lte", "a round trip of "+short(l.p.RTT())+" behind it", "at most 300ms to a core network")
		}
	}},
	{"return-without-delay", "a satellite return link without a satellite's delay", func(l *lint) {
		if l.p.DAMA != nil && l.p.Delay(link.Up) < 100*link.Millisecond {
			l.say("dama", "a delay of "+short(l.p.Delay(link.Up))+" up", "up.path.delay of a hop, 250ms, or [geo]")
		}
	}},
	{"return-hop-differs", "requests that take another way than packets", func(l *lint) {
		if l.p.DAMA == nil || l.p.Delay(link.Up) < 100*link.Millisecond {
			return
		}
		hop, up := l.p.Return().Complete().Hop, l.p.Delay(link.Up)
		if hop > 2*up || up > 2*hop {
			l.say("dama.hop", hop, "about the delay up, "+short(up)+": requests take the same way")
		}
	}},
	{"timeline-cut-for-ever", "a cut that does not end", func(l *lint) {
		for i := range l.p.Timeline {
			if e := &l.p.Timeline[i]; e.Cut != "" && e.For == 0 {
				l.say(fmt.Sprintf("timeline[%d].cut", i), fmt.Sprintf("%q without for", e.Cut), "for beside it; else the link stays cut")
			}
		}
	}},
	{"timeline-fine", "changes closer than 10 ms", func(l *lint) {
		for i := range l.p.Timeline {
			e := &l.p.Timeline[i]
			if e.Step > 0 && e.Step < 10*link.Millisecond {
				l.say(fmt.Sprintf("timeline[%d].step", i), e.Step, "10ms or more: each step is a change of the link")
			}
			if e.Every > 0 && e.Every < 10*link.Millisecond {
				l.say(fmt.Sprintf("timeline[%d].every", i), e.Every, "10ms or more; for faster courses a trace")
			}
		}
	}},
	{"timeline-unreached", "an entry behind a day", func(l *lint) {
		for i := range l.p.Timeline {
			if e := &l.p.Timeline[i]; e.At > 24*3600*link.Second {
				l.say(fmt.Sprintf("timeline[%d].at", i), e.At, "within a day")
			}
		}
	}},
}

// faster names the way with the lesser delay.
func (l *lint) faster() string {
	if l.p.Delay(link.Down) < l.p.Delay(link.Up) {
		return "down"
	}
	return "up"
}
