package profiles

import (
	"fmt"
	"strings"

	"farlink/emulator/link"

	"farlink/profiles/document"
)

// Rule is one lint rule: something that a document may say, but that is
// seldom meant.
type Rule struct {
	Name  string
	About string
	check func(l *lint)
}

// Rules lists the lint rules: those of each way, then those of the profile.
func Rules() []Rule {
	return append(append(append([]Rule{}, wayRules...), queueRules...), profileRules...)
}

// lint is a rule at work.
type lint struct {
	*reader
	p    *Profile
	w    link.Way
	way  *Way
	rule string
}

// say adds a warning; the path is relative to the way where there is one.
func (l *lint) say(path string, got any, want string) {
	if l.way != nil {
		path = document.Join(l.w.String(), path)
	}
	l.Add(Problem{Path: path, Got: fmt.Sprint(got), Want: want, Level: Warning, Rule: l.rule})
}

// lint adds what the rules find. The profile has no errors.
func (r *reader) lint(p *Profile) {
	for _, w := range link.Ways {
		for _, rules := range [][]Rule{wayRules, queueRules} {
			for _, rule := range rules {
				rule.check(&lint{r, p, w, p.Of(w), rule.Name})
			}
		}
	}
	for _, rule := range profileRules {
		rule.check(&lint{reader: r, p: p, rule: rule.Name})
	}
}

// fullFrame is an Ethernet frame of 1500 bytes of payload, without FCS.
const fullFrame = 1514

// wayRules look at gate, air and path of a way.
var wayRules = []Rule{
	{"mtu-below-ipv4", "an MTU that IPv4 hosts need not cope with (RFC 791)", func(l *lint) {
		if m := l.way.MTU; m > 0 && m < 576 {
			l.say("mtu", m, "576B or more, which every IPv4 host takes (RFC 791)")
		}
	}},
	{"mtu-below-ipv6", "an MTU over which IPv6 does not run (RFC 8200)", func(l *lint) {
		if m := l.way.MTU; m >= 576 && m < 1280 {
			l.say("mtu", m, "1280B or more: IPv6 does not run below (RFC 8200)")
		}
	}},
	{"mtu-differs", "an MTU that differs between the ways", func(l *lint) {
		if m, o := l.way.MTU, l.p.Of(l.w.Other()).MTU; m > 0 && o > 0 && m < o {
			l.say("mtu", m, "the same both ways; the other has "+o.String())
		}
	}},
	{"flap-mostly-down", "a flap that is down longer than up", func(l *lint) {
		if f := l.way.Flap; f != nil && 2*f.Down > f.Period {
			l.say("flap.down", f.Down, "at most half the period, "+f.Period.String()+"; down is how long it is cut")
		}
	}},
	{"cuts-overlap", "cuts that overlap", func(l *lint) {
		for i := 1; i < len(l.way.Cut); i++ {
			if was := l.way.Cut[i-1]; l.way.Cut[i].At < was.At+was.For {
				l.say(fmt.Sprintf("cut[%d].at", i), l.way.Cut[i].At, "after the cut before it ends, at "+(was.At+was.For).String())
			}
		}
	}},
	{"loss-total", "a loss of everything", func(l *lint) {
		if l.way.Loss.Probability == 1 {
			l.say("loss.probability", "1", "a share of 1, such as 0.01 for 1 %; a link that is cut is a cut")
		}
	}},
	{"loss-heavy", "a loss of more than 20 %", func(l *lint) {
		if p := l.way.Loss.Probability; p > 0.2 && p < 1 {
			l.say("loss.probability", p, "at most 0.2: above it hardly anything runs; 1 % is 0.01")
		}
	}},
	{"loss-twice", "both a probability and a BER", func(l *lint) {
		if l.way.Loss.Probability > 0 && l.way.Loss.BER > 0 {
			l.say("loss.ber", l.way.Loss.BER, "either probability or ber: together they lose more than each says")
		}
	}},
	{"ber-hopeless", "a BER at which no full frame gets through", func(l *lint) {
		if b := l.way.Loss.BER; b >= 1e-3 {
			l.say("loss.ber", b, "below 1e-3, at which 1 in 180,000 full frames gets through")
		}
	}},
	{"gilbert-single", "bursts of one packet", func(l *lint) {
		if g := l.way.Loss.Gilbert; g != nil && g.Loss > 0 && g.Burst <= 1 {
			l.say("loss.gilbert.burst", g.Burst, "more than 1; for single losses loss.probability")
		}
	}},
	{"gilbert-twice", "bursts counted in packets and in time", func(l *lint) {
		if l.way.Loss.Gilbert != nil && l.way.Loss.GilbertTime != nil {
			l.say("loss.gilbert_time", "a table", "either gilbert (per packet) or gilbert_time")
		}
	}},
	{"gilbert-shorter-than-packet", "fades shorter than a packet", func(l *lint) {
		if g := l.way.Loss.GilbertTime; g != nil && l.p.Rate(l.w) > 0 && g.Bad < l.p.Rate(l.w).Time(fullFrame) {
			l.say("loss.gilbert_time.bad", g.Bad, "longer than a full frame, "+short(l.p.Rate(l.w).Time(fullFrame)))
		}
	}},
	{"corrupt-heavy", "damage to more than 10 %", func(l *lint) {
		if p := l.way.Corrupt.Probability; p > 0.1 {
			l.say("corrupt.probability", p, "at most 0.1: hosts drop what is damaged, and count no loss")
		}
	}},
	{"jitter-crowded", "independent jitter among packets that follow closely", func(l *lint) {
		j, rate := l.way.Path.Jitter, l.p.Rate(l.w)
		if j != nil && j.HalfLife == 0 && j.Correlation == 0 && rate > 0 && 20*rate.Time(fullFrame) < j.Spread {
			l.say("path.jitter.half_life", "none", "a half_life, such as "+(10*j.Spread).String()+": packets keep their order, which makes independent jitter between close ones longer")
		}
	}},
	{"delay-looks-like-rtt", "a one-way delay as long as a satellite's round trip", func(l *lint) {
		if d := l.way.Path.Delay; d >= 450*link.Millisecond && d <= 800*link.Millisecond && l.p.RTT() > 900*link.Millisecond {
			l.say("path.delay", d, "one way: a geostationary hop is 240ms to 280ms; is this the round trip?")
		}
	}},
	{"reorder-heavy", "more than half of the packets step aside", func(l *lint) {
		if r := l.way.Reorder; r != nil && r.Probability > 0.5 {
			l.say("reorder.probability", r.Probability, "at most 0.5: what most do is the order")
		}
	}},
	{"reorder-late", "packets that stand aside for longer than TCP waits", func(l *lint) {
		if r := l.way.Reorder; r != nil && r.Delay > link.Second {
			l.say("reorder.delay", r.Delay, "at most 1s, TCP's first timeout: after it a packet is as good as lost (RFC 6298)")
		}
	}},
	{"duplicate-heavy", "more than 10 % duplicates", func(l *lint) {
		if p := l.way.Duplicate.Probability; p > 0.1 {
			l.say("duplicate.probability", p, "at most 0.1")
		}
	}},
	{"trace-short", "a course that loops within a second", func(l *lint) {
		if t := l.way.Trace; t != nil && t.End == "loop" && t.Period < link.Second {
			l.say("trace.period", t.Period, "1s or more")
		}
	}},
}

// queueRules look at what serves a way.
var queueRules = []Rule{
	{"rate-slow", "less than 9600 bit/s", func(l *lint) {
		if r := l.way.Queue.Rate; r > 0 && r < 9600 {
			l.say("queue.rate", r, "9600bit/s or more; is it kbit/s or Mbit/s?")
		}
	}},
	{"rate-fast", "more than 10 Gbit/s", func(l *lint) {
		if r := l.way.Queue.Rate; r > 10*link.GigabitPerSecond {
			l.say("queue.rate", r, "at most 10Gbit/s: software forwards no more; leave the rate out for none")
		}
	}},
	{"rate-one-way", "a rate one way only", func(l *lint) {
		if l.p.Rate(l.w) == 0 && l.p.Rate(l.w.Other()) > 0 && l.way.Trace == nil {
			l.say("queue.rate", "none", "a rate here too: the other way has "+l.p.Rate(l.w.Other()).String())
		}
	}},
	{"limit-without-rate", "a limit of a queue in which nothing waits", func(l *lint) {
		if l.unserved() && l.way.Queue.Limit.Holds(1e9) > 0 {
			l.say("queue.limit", l.way.Queue.Limit, "a rate beside it: without one nothing waits")
		}
	}},
	{"limit-tiny", "a limit of less than two full frames", func(l *lint) {
		q := l.way.Queue
		if has := q.Limit.Holds(l.p.Rate(l.w)); has > 0 && has < 2*fullFrame && l.p.Rate(l.w) > 0 {
			l.say("queue.limit", q.Limit, "two full frames, 3028B, or more")
		}
	}},
	{"limit-deep", "a limit worth more than 5 s", func(l *lint) {
		rate := l.p.Rate(l.w)
		if has := l.way.Queue.Limit.Holds(rate); rate > 0 && rate.Bytes(5*link.Second) < has && l.p.Server(l.w) == "queue" {
			l.say("queue.limit", l.way.Queue.Limit, "at most 5s of waiting, "+roundSize(rate.Bytes(5*link.Second))+", unless bufferbloat is the matter")
		}
	}},
	{"limit-below-round-trip", "a limit of less than one bandwidth-delay product of the round trip", func(l *lint) {
		rate, need := l.p.Rate(l.w), l.p.Rate(l.w).Bytes(l.p.RTT())
		has := l.way.Queue.Limit.Holds(rate)
		if has > 0 && has >= rate.Bytes(l.p.Delay(l.w)) && has < need*9/10 && !l.way.ShallowQueue && l.p.Server(l.w) == "queue" {
			l.say("queue.limit", l.way.Queue.Limit, fmt.Sprintf("%s, one bandwidth-delay product of the round trip, for one flow to fill the link; or shallow_queue = true", roundSize(need)))
		}
	}},
	{"shallow-without-limit", "shallow_queue where the queue is not", func(l *lint) {
		rate := l.p.Rate(l.w)
		has := l.way.Queue.Limit.Holds(rate)
		if l.way.ShallowQueue && (has == 0 || has >= rate.Bytes(l.p.RTT())) {
			l.say("shallow_queue", "true", "it left out: the queue holds a bandwidth-delay product")
		}
	}},
	{"codel-target-short", "a CoDel target shorter than a full frame", func(l *lint) {
		q := l.way.Queue
		target := 5 * link.Millisecond
		if q.CoDel != nil && q.CoDel.Target > 0 {
			target = q.CoDel.Target
		}
		if frame := q.Rate.Time(fullFrame); q.Discipline == "codel" && target < frame {
			l.say("queue.codel.target", target, "a full frame's time or more, "+short(frame)+" (RFC 8289, 4.4)")
		}
	}},
	{"codel-interval-short", "a CoDel interval shorter than the round trip", func(l *lint) {
		q, rtt := l.way.Queue, l.p.RTT()
		interval := 100 * link.Millisecond
		if q.CoDel != nil && q.CoDel.Interval > 0 {
			interval = q.CoDel.Interval
		}
		if q.Discipline == "codel" && interval < rtt*9/10 {
			l.say("queue.codel.interval", interval, "about the round trip, "+short(rtt)+" (RFC 8289, 4.3)")
		}
	}},
	{"red-above-limit", "RED thresholds that the queue never reaches", func(l *lint) {
		q := l.way.Queue
		if q.RED != nil && q.RED.Most > 0 && q.Limit.Holds(q.Rate) > 0 && q.RED.Most > q.Limit.Holds(q.Rate) {
			l.say("queue.red.most", q.RED.Most, "below the limit, "+q.Limit.String())
		}
	}},
	{"cell-without-overhead", "cells without a header", func(l *lint) {
		if q := l.way.Queue; q.Cell > 0 && q.CellOverhead == 0 {
			l.say("queue.cell_overhead", "0B", "what each cell's header takes (ATM: 5B)")
		}
	}},
	{"carrier-dark", "a carrier on which no MODCOD fits in clear sky", func(l *lint) {
		if l.p.Server(l.w) != "carrier" {
			return
		}
		if rate, _ := l.p.carrier(l.w).Clear(); rate == 0 {
			l.say("carrier", "no MODCOD in clear sky", "a better es_n0 or budget: the link never comes up")
		}
	}},
}

// unserved reports whether nothing gives the way a rate.
func (l *lint) unserved() bool {
	return l.p.Server(l.w) == "queue" && l.way.Queue.Rate == 0 && l.way.Trace == nil && !strings.Contains(l.settings(), "queue.rate")
}

// settings lists the keys that the timeline sets.
func (l *lint) settings() string {
	var all []string
	for i := range l.p.Timeline {
		all = append(all, document.SortedKeys(l.p.Timeline[i].Set)...)
	}
	return strings.Join(all, " ")
}
