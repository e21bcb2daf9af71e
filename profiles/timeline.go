package profiles

import (
	"fmt"
	"reflect"
	"strings"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/sat"
	"farlink/emulator/stage"

	"farlink/profiles/document"
)

// Entry is one line of a timeline: something that happens to the link at a
// time, once or again and again. Its instants are reckoned from the start of
// the timeline each time anew, so that none drifts.
//
//	at       at + every
//	│◀─ramp─▶│─────── for ───────│◀─ramp─▶│
//	╱▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔╲______   (for contains both ramps)
type Entry struct {
	// At is when it first begins, from the start of the timeline.
	At link.Duration `toml:"at"`
	// Every lets it begin again after so long; zero: once.
	Every link.Duration `toml:"every"`
	// Repeat is how often it begins in all; zero, with every: for ever.
	Repeat int `toml:"repeat"`
	// For is how long it holds, then the link is as before; zero: it stays.
	For link.Duration `toml:"for"`
	// Ramp lets numbers move there over so long, and back at the end, in
	// steps of Step; default 100ms.
	Ramp link.Duration `toml:"ramp"`
	Step link.Duration `toml:"step"`

	// Set gives keys another value: {"down.queue.rate" = "2Mbit/s"}; any
	// under down, up, geo, leo, lte, nr and dama, and weight, but for lists
	// and for the structure of a return link's superframe.
	Set map[string]any `toml:"set"`
	// Cut lets nothing enter: "down", "up" or "both".
	Cut string `toml:"cut"`
	// Fade is how many dB every carrier of the link loses.
	Fade float64 `toml:"fade_db"`
	// Handover interrupts both ways for so long: packets wait, and go on
	// behind it. In a cell it is an X2 handover.
	Handover link.Duration `toml:"handover"`
	// Station lets the terminal of a return link log on or off: "logon",
	// "logoff".
	Station string `toml:"station"`
}

const defaultStep = 100 * link.Millisecond

// began returns when the entry last began by t, from the start of the
// timeline; ok is false when it has not yet.
func (e *Entry) began(t link.Duration) (at link.Duration, ok bool) {
	if t < e.At {
		return 0, false
	}
	return e.At + e.turns(t)*e.Every, true
}

// turns returns how often the entry has begun again by t.
func (e *Entry) turns(t link.Duration) link.Duration {
	if e.Every <= 0 {
		return 0
	}
	n := (t - e.At) / e.Every
	if e.Repeat > 0 {
		n = min(n, link.Duration(e.Repeat-1))
	}
	return n
}

// degree returns how much of the entry holds at t: 0 none, 1 all.
func (e *Entry) degree(t link.Duration) float64 {
	began, ok := e.began(t)
	since := t - began
	if !ok || e.For > 0 && since >= e.For {
		return 0
	}
	in, out := e.Ramp, e.Ramp
	if e.For > 0 && since > e.For-e.Ramp {
		out = e.Ramp - e.quantised(since-(e.For-e.Ramp))
	}
	if since < e.Ramp {
		in = e.quantised(since)
	}
	if e.Ramp == 0 {
		return 1
	}
	return float64(min(in, out)) / float64(e.Ramp)
}

// quantised rounds a time into a ramp down to the step.
func (e *Entry) quantised(d link.Duration) link.Duration { return d / e.step() * e.step() }

func (e *Entry) step() link.Duration {
	if e.Step > 0 {
		return e.Step
	}
	return defaultStep
}

// next returns the first instant after t at which the entry changes
// something; ok is false when there is none.
func (e *Entry) next(t link.Duration) (link.Duration, bool) {
	began, ok := e.began(t)
	if !ok {
		return e.At, true
	}
	best, found := link.Duration(0), false
	consider := func(at link.Duration) {
		if at > t && (!found || at < best) {
			best, found = at, true
		}
	}
	for _, edge := range e.edges(t - began) {
		consider(began + edge)
	}
	if e.Every > 0 && (e.Repeat == 0 || e.turns(t) < link.Duration(e.Repeat-1)) {
		consider(began + e.Every)
	}
	return best, found
}

// edges returns the instants after since, from the beginning of a turn, that
// may come next: ends, and the next step of each ramp.
func (e *Entry) edges(since link.Duration) (edges [5]link.Duration) {
	edges[0], edges[1] = e.Handover, e.For
	if e.Ramp > 0 {
		edges[2] = min(e.quantised(since)+e.step(), e.Ramp)
		if back := e.For - e.Ramp; e.For > 0 {
			edges[3] = back
			if since >= back {
				edges[4] = min(back+e.quantised(since-back)+e.step(), e.For)
			}
		}
	}
	return edges
}

// Next returns the first instant after t at which the timeline changes
// something, Never when there is none. It began at began.
func (p *Profile) Next(began, t link.Time) link.Time {
	next := link.Never
	for i := range p.Timeline {
		if at, ok := p.Timeline[i].next(t.Sub(began)); ok {
			next = min(next, began.Add(at))
		}
	}
	return next
}

// Begin yields the entries that begin at t.
func (p *Profile) Begin(began, t link.Time, yield func(*Entry)) {
	for i := range p.Timeline {
		e := &p.Timeline[i]
		if at, ok := e.began(t.Sub(began)); ok && began.Add(at) == t {
			yield(e)
		}
	}
}

// At returns the profile as its timeline has it at t: entries are laid over
// each other in their order. The profile itself is not touched.
func (p *Profile) At(began, t link.Time) *Profile {
	q := *p
	for i := range p.Timeline {
		e := &p.Timeline[i]
		if degree := e.degree(t.Sub(began)); degree > 0 {
			at, _ := e.began(t.Sub(began))
			e.lay(&q, began.Add(at), degree)
		}
		if at, ok := e.began(t.Sub(began)); ok && t.Sub(began.Add(at)) < e.Handover {
			e.interrupt(&q, began.Add(at))
		}
	}
	return &q
}

// Fading returns how many dB the timeline takes from every carrier at t.
func (p *Profile) Fading(began, t link.Time) (db float64) {
	for i := range p.Timeline {
		db += p.Timeline[i].Fade * p.Timeline[i].degree(t.Sub(began))
	}
	return db
}

// Variants returns the profile as it is, and as each entry of its timeline
// alone would have it: what bounds are reckoned over.
func (p *Profile) Variants() []*Profile {
	all := []*Profile{p}
	for i := range p.Timeline {
		q := *p
		p.Timeline[i].lay(&q, 0, 1)
		all = append(all, &q)
	}
	return all
}

// lay changes q by so much of the entry, which began at at.
func (e *Entry) lay(q *Profile, at link.Time, degree float64) {
	for _, path := range document.SortedKeys(e.Set) {
		target, want := reach(reflect.ValueOf(q).Elem(), path)
		if want == "" {
			value := reflect.New(target.Type()).Elem()
			(&reader{}).Value(path, e.Set[path], value)
			move(target, value, degree)
		}
	}
	for _, w := range link.Ways {
		way := q.Of(w)
		if e.Cut == w.String() || e.Cut == "both" {
			length := e.For
			if length == 0 {
				length = link.Duration(link.Never) - link.Duration(at)
			}
			way.Cut = append(append([]stage.CutConfig(nil), way.Cut...), stage.CutConfig{At: link.Duration(at), For: length})
		}
		if e.Fade != 0 && way.Carrier != nil {
			c := *way.Carrier
			c.Uplink, c.Downlink = faded(c.Uplink, 0), faded(c.Downlink, e.Fade*degree)
			if c.Downlink == nil {
				c.Uplink = faded(c.Uplink, e.Fade*degree)
			}
			way.Carrier = &c
		}
	}
}

// faded returns the leg with so many dB less.
func faded(l *sat.LegConfig, db float64) *sat.LegConfig {
	if l == nil {
		return nil
	}
	f := *l
	f.Attenuation += db
	return &f
}

// interrupt stops the servers of q that have no handover of their own.
func (e *Entry) interrupt(q *Profile, at link.Time) {
	for _, w := range link.Ways {
		if way := q.Of(w); q.Server(w) == "queue" && way.Trace == nil {
			way.Trace = &course.Config{
				Steps: []course.Step{{Outage: true}, {At: e.Handover}}, Start: link.Duration(at),
			}
		}
	}
}

// checkTimeline checks the entries, and the profile as each would have it.
func (r *reader) checkTimeline(p *Profile) {
	sound := !r.broken("down", "up") && !r.broken(shared...)
	for i := range p.Timeline {
		e, at := &p.Timeline[i], fmt.Sprintf("timeline[%d]", i)
		e.check(r.Under(at), p)
		if sound {
			r.checkSettings(p, at+".set", e.Set)
		}
	}
	if p.Arm != nil && len(p.Timeline) == 0 {
		r.Report("arm", "a table", "a [[timeline]] that it starts")
	}
}

// checkSettings checks the values that an entry sets, and the profile with all
// of them.
func (r *reader) checkSettings(p *Profile, at string, set map[string]any) {
	q := *p
	q.Timeline, q.Arm = nil, nil
	trial := &reader{}
	for _, path := range document.SortedKeys(set) {
		target, want := reach(reflect.ValueOf(&q).Elem(), path)
		switch {
		case settled(path) != "":
			r.Report(at+"."+path, fmt.Sprintf("%q, which is laid down for as long as the carrier stands", path), want)
		case want != "":
			r.Report(at+"."+path, "unknown key "+fmt.Sprintf("%q", path), want)
		default:
			trial.Value(path, set[path], target)
		}
	}
	if len(trial.Problems) == 0 {
		trial.check(&q)
	}
	for _, problem := range trial.Problems {
		if problem.Level == Error {
			r.Report(at+"."+cause(set, problem.Path), problem.Got, problem.Want)
		}
	}
}

// cause returns the key of a set that a problem is about: its own, or the
// first, where the problem is what others make of it.
func cause(set map[string]any, path string) string {
	keys := document.SortedKeys(set)
	for _, key := range keys {
		if key == path {
			return key
		}
	}
	return keys[0]
}

func (e *Entry) check(report link.Report, p *Profile) {
	if e.Every > 0 && e.For > e.Every {
		report("for", e.For.String(), "no longer than every, "+e.Every.String())
	}
	if e.Every > 0 && e.Handover > e.Every {
		report("handover", e.Handover.String(), "no longer than every, "+e.Every.String())
	}
	if e.Repeat < 0 || e.Repeat > 1 && e.Every == 0 {
		report("repeat", fmt.Sprint(e.Repeat), "how often it begins in all, with every beside it")
	}
	if e.Ramp > 0 && e.For > 0 && e.For < 2*e.Ramp {
		report("for", e.For.String(), "at least both ramps, "+(2*e.Ramp).String()+"; or zero: it stays")
	}
	if e.Step > 0 && e.Step < link.Millisecond || e.Step > 0 && e.Ramp == 0 {
		report("step", e.Step.String(), "1ms or more, with a ramp beside it")
	}
	if e.Cut != "" && e.Cut != "down" && e.Cut != "up" && e.Cut != "both" {
		report("cut", fmt.Sprintf("%q", e.Cut), `"down", "up" or "both"`)
	}
	fades := p.DAMA != nil && p.DAMA.Station.EsN0 != 0 || p.Down.Carrier != nil || p.Up.Carrier != nil
	if e.Fade != 0 && !fades {
		report("fade_db", fmt.Sprint(e.Fade), "a carrier that fades: down.carrier, up.carrier or dama.station.es_n0_db")
	}
	if !(e.Fade >= 0 && e.Fade <= 60) {
		report("fade_db", fmt.Sprint(e.Fade), "0 to 60 dB")
	}
	e.checkActs(report, p)
}

func (e *Entry) checkActs(report link.Report, p *Profile) {
	if e.Station != "" && e.Station != "logon" && e.Station != "logoff" {
		report("station", fmt.Sprintf("%q", e.Station), `"logon" or "logoff"`)
	}
	if e.Station != "" && p.DAMA == nil {
		report("station", fmt.Sprintf("%q", e.Station), "a return link: a table [dama]")
	}
	if e.Handover > 0 && p.LTE == nil {
		for _, w := range link.Ways {
			if s := p.Server(w); s != "leo" && s != "nr" && (s != "queue" || p.Of(w).Trace != nil) {
				report("handover", e.Handover.String(), "a cell, a 5G carrier, low orbits, or a plain queue without a trace, both ways; "+w.String()+" has "+s)
			}
		}
	}
	if len(e.Set) == 0 && e.Cut == "" && e.Fade == 0 && e.Handover == 0 && e.Station == "" {
		report("", "nothing that happens", "set, cut, fade_db, handover or station")
	}
}

// flatten turns nested tables of settings into dotted paths, so that both
// spellings are one document.
func flatten(set map[string]any) map[string]any {
	if set == nil {
		return nil
	}
	flat := map[string]any{}
	var walk func(prefix string, t document.Table)
	walk = func(prefix string, t document.Table) {
		for _, k := range document.SortedKeys(t) {
			path := strings.TrimSpace(document.Join(prefix, k))
			if inner, ok := t[k].(document.Table); ok {
				walk(path, inner)
			} else {
				flat[path] = t[k]
			}
		}
	}
	walk("", set)
	return flat
}
