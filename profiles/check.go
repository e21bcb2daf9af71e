package profiles

import (
	"fmt"
	"reflect"
	"strings"

	"farlink/emulator/link"
	"farlink/emulator/stage"
	"farlink/profiles/document"
)

// Validate returns every problem of the profile's values, warnings too. A
// profile that Parse returned has no errors.
func (p *Profile) Validate() []Problem {
	r := &reader{}
	r.check(p)
	return r.Problems
}

// reader reads and checks a profile, and collects its problems.
type reader struct {
	document.Reader
	unread []Problem // what could not be read of the document, when it is checked
}

// broken reports whether a value under one of the tables could not be read or
// is wrong, so that nothing can be reckoned with them.
func (r *reader) broken(tables ...string) bool {
	for _, list := range [][]Problem{r.unread, r.Problems} {
		for _, p := range list {
			if p.Level == Warning || document.UnknownKey(p) {
				continue
			}
			for _, t := range tables {
				if document.Within(p.Path, t) {
					return true
				}
			}
		}
	}
	return false
}

// follows reports whether a problem of a value may only follow from what
// could not be read: it is about that value or what stands beside it, unless
// it is there always, whatever the value, or misses what a misspelt key was to
// say.
func (r *reader) follows(p Problem, always func(Problem) bool) bool {
	for _, u := range r.unread {
		beside := document.Parent(u.Path)
		if document.UnknownKey(u) {
			if p.Got == "nothing" && document.Parent(p.Path) == beside {
				return true
			}
			continue
		}
		if document.Within(p.Path, u.Path) {
			return true
		}
		if r.Stood[u.Path] && always(p) {
			continue
		}
		if beside != "" && beside != "down" && beside != "up" && document.Within(p.Path, beside) {
			return true
		}
	}
	return false
}

// shared are the tables that both ways stand on.
var shared = []string{"geo", "leo", "lte", "nr", "dama"}

// check adds the problems of the values. What needs sound values to be
// reckoned is left out where they are not.
func (r *reader) check(p *Profile) {
	r.checkShared(p)
	for _, w := range link.Ways {
		r.checkWay(p, w)
	}
	if !r.broken(shared...) {
		for _, w := range link.Ways {
			if !r.broken(w.String()) {
				r.checkBuffer(p, w)
			}
		}
	}
	r.checkTimeline(p)
	if !Fatal(r.unread) && !Fatal(r.Problems) {
		r.lint(p)
	}
}

// checkBuffer reports a limit that somebody set too low for the delay: the
// commonest mistake with link emulators. One bandwidth-delay product of the
// round trip is what a single flow needs to keep the link busy.
func (r *reader) checkBuffer(p *Profile, w link.Way) {
	q := p.Of(w).Queue
	q.Rate = p.Rate(w)
	delay := p.Delay(w)
	need, has := q.Rate.Bytes(delay), q.Limit.Holds(q.Rate)
	if q.Limit == (stage.Limit{}) || has >= need || p.Of(w).ShallowQueue {
		return
	}
	cap := link.Rate(float64(has) * 8 / delay.Seconds())
	r.Report(w.String()+".queue.limit", q.Limit.String(), fmt.Sprintf(
		"%v at %v needs %s of queue, limit is %v: would cap at %s; raise or omit the limit, or say shallow_queue = true",
		short(delay), q.Rate, roundSize(need), q.Limit, roundRate(cap)))
}

// short writes a duration for people: to the microsecond below 10 ms, to the
// tenth of a millisecond above.
func short(d link.Duration) string {
	if d < 10*link.Millisecond {
		return (d / link.Microsecond * link.Microsecond).String()
	}
	return (d / (100 * link.Microsecond) * (100 * link.Microsecond)).String()
}

// roundSize and roundRate write a figure for people, in two or three digits.
func roundSize(s link.Size) string { return rounded(float64(s), "B") }
func roundRate(r link.Rate) string { return rounded(float64(r), "bit/s") }

func rounded(x float64, unit string) string {
	prefix := ""
	for _, p := range []string{"k", "M", "G"} {
		if x < 1000 {
			break
		}
		x, prefix = x/1000, p
	}
	if x < 10 {
		return fmt.Sprintf("%.2g%s%s", x, prefix, unit)
	}
	return fmt.Sprintf("%.0f%s%s", x, prefix, unit)
}

func (r *reader) checkWay(p *Profile, w link.Way) {
	way, at := p.Of(w), w.String()
	way.GateConfig.Check(r.Under(at))
	r.checkServers(p, w)
	switch {
	case p.Server(w) == "queue":
		way.Queue.Check(r.Under(at + ".queue"))
	case way.Carrier != nil || p.LEO != nil || p.NR != nil:
		r.checkServed(p, w)
	default:
		r.checkReplaced(p, w)
	}
	if way.Trace != nil {
		way.Trace.Check(r.Under(at + ".trace"))
	}
	way.Loss.Check(r.Under(at + ".loss"))
	way.Corrupt.Check(r.Under(at + ".corrupt"))
	way.Path.Check(r.Under(at + ".path"))
	if way.Reorder != nil {
		way.Reorder.Check(r.Under(at + ".reorder"))
	}
	way.Duplicate.Check(r.Under(at + ".duplicate"))
	if way.Middlebox != nil {
		way.Middlebox.Check(r.Under(at + ".middlebox"))
	}
}

// checkShared checks what both ways share.
func (r *reader) checkShared(p *Profile) {
	if p.Geo != nil {
		p.Geo.Check(r.Under("geo"))
	}
	if p.LEO != nil {
		p.LEO.Check(r.Under("leo"))
		r.checkAlone(p)
	}
	if p.LTE != nil {
		p.LTE.Check(r.Under("lte"))
	}
	if p.NR != nil {
		p.NR.Check(r.Under("nr"))
	}
	if p.DAMA != nil {
		p.DAMA.Check(r.Under("dama"))
	}
	if p.Weight < 0 || p.Weight > 100 {
		r.Report("weight", fmt.Sprint(p.Weight), "1 to 100")
	}
}

// checkServers reports a way that more than one model would serve.
func (r *reader) checkServers(p *Profile, w link.Way) {
	way, at := p.Of(w), w.String()
	var names []string
	for _, s := range []struct {
		name  string
		there bool
	}{
		{at + ".carrier", way.Carrier != nil}, {at + ".wlan", way.WLAN != nil}, {at + ".delivery", way.Delivery != nil},
		{at + ".train", way.Train != nil}, {"leo", p.LEO != nil}, {"lte", p.LTE != nil}, {"nr", p.NR != nil}, {"dama", p.DAMA != nil && w == link.Up},
	} {
		if s.there {
			names = append(names, s.name)
		}
	}
	if len(names) > 1 {
		r.Report(names[0], "a table beside "+strings.Join(names[1:], " and "), "one of them: one model serves a way")
	}
}

// checkReplaced checks what stands in place of the queue, and that the queue
// says nothing then.
func (r *reader) checkReplaced(p *Profile, w link.Way) {
	way, at := p.Of(w), w.String()
	if !reflect.ValueOf(way.Queue).IsZero() {
		r.Report(at+".queue", "a table", "no queue here: "+p.Server(w)+" stands in its place and has a buffer of its own")
	}
	if way.WLAN != nil {
		way.WLAN.Check(r.Under(at + ".wlan"))
	}
	if way.Delivery != nil {
		way.Delivery.Check(r.Under(at + ".delivery"))
	}
	if way.Train != nil {
		way.Train.Check(r.Under(at + ".train"))
	}
}

// checkServed checks a queue that a model serves instead of a constant rate.
func (r *reader) checkServed(p *Profile, w link.Way) {
	way, at := p.Of(w), w.String()
	if way.Queue.Rate != 0 {
		r.Report(at+".queue.rate", way.Queue.Rate.String(), "no rate here: the model that serves the queue has its own")
	}
	served := way.Queue
	served.Rate = link.MegabitPerSecond // any: a discipline wants one
	served.Check(r.Under(at + ".queue"))
	if c := p.carrier(w); c != nil {
		c.Check(r.Under(at + ".carrier"))
	}
}

// checkAlone reports what [leo] takes the place of.
func (r *reader) checkAlone(p *Profile) {
	if p.Geo != nil {
		r.Report("geo", "a table", "either [geo] or [leo]")
	}
	for _, w := range link.Ways {
		way, at := p.Of(w), w.String()
		if way.Carrier != nil {
			r.Report(at+".carrier", "a table", "no carrier beside [leo], which has rates of its own")
		}
		if !reflect.ValueOf(way.Loss).IsZero() {
			r.Report(at+".loss", "a table", "leo.loss and leo.burst: [leo] says what the air loses")
		}
		if !reflect.ValueOf(way.Path).IsZero() {
			r.Report(at+".path", "a table", "leo.ground_least and leo.ground_most: [leo] says how long the path is")
		}
	}
}
