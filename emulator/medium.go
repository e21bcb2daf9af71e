package emulator

import (
	"fmt"
	"reflect"

	"farlink/emulator/dama"
	"farlink/emulator/lte"
	"farlink/profiles"
)

// cellOf is what a profile says of its cell, nil if it stands in none.
func cellOf(p *profiles.Profile) *lte.Config { return p.LTE }

// carrierOf is what a profile says of its return carrier: all but what is the
// station's own; nil if it stands on none.
func carrierOf(p *profiles.Profile) *dama.Config {
	if p.DAMA == nil {
		return nil
	}
	c := p.Return()
	c.Station = dama.StationConfig{}
	return &c
}

// carrierNow is what the return carrier is like. What nobody says follows
// from the first station on it.
func (m *medium) carrierNow() dama.Config {
	c := now(m.members, carrierOf)
	for _, s := range m.members {
		if s.terminal != nil {
			c.Station = s.present.DAMA.Station
			break
		}
	}
	return c.Complete()
}

// now is what a medium is like: as the first of its stations has it, and over
// that what the timelines of the others have set.
func now[T any](members []*station, of func(*profiles.Profile) *T) (c T) {
	first := true
	for _, s := range members {
		switch is := of(s.present); {
		case is == nil:
		case first:
			c, first = *is, false
		case s.present != s.profile:
			overlay(reflect.ValueOf(&c).Elem(), reflect.ValueOf(of(s.profile)).Elem(), reflect.ValueOf(is).Elem())
		}
	}
	return c
}

// overlay sets in base what is another in is than it was.
func overlay(base, was, is reflect.Value) {
	if !base.CanSet() || reflect.DeepEqual(was.Interface(), is.Interface()) {
		return
	}
	if base.Kind() != reflect.Struct {
		base.Set(is)
		return
	}
	for i := range base.NumField() {
		overlay(base.Field(i), was.Field(i), is.Field(i))
	}
}

// RuleMedium is the rule of problems of links that share a medium.
const RuleMedium = "medium-unlike"

// checkMedia reports links that describe the medium that they share otherwise
// than its first link does, which would have no effect.
func (s Spec) checkMedia() (problems []profiles.Problem) {
	for i := range s.Links {
		for k := range i {
			l, first := &s.Links[i], &s.Links[k]
			if l.Profile == nil || first.Profile == nil || l.Profile.Medium == "" || l.Profile.Medium != first.Profile.Medium {
				continue
			}
			if table := unlike(l.Profile, first.Profile); table != "" {
				problems = append(problems, profiles.Problem{Path: fmt.Sprintf("links[%d].profile.%s", i, table), Rule: RuleMedium,
					Got:  "another [" + table + "] than link " + first.Name + " has, in the medium " + l.Profile.Medium,
					Want: "the same, since they share one; a [[timeline]] of either changes it, and dama.station and weight are each link's own"})
			}
		}
	}
	return problems
}

// unlike returns the table in which two profiles say otherwise what they
// share, "" if there is none.
func unlike(p, q *profiles.Profile) string {
	if a, b := cellOf(p), cellOf(q); a != nil && b != nil {
		own := *a
		own.Mobility.Forwarding = b.Mobility.Forwarding // in its own handovers
		if !reflect.DeepEqual(own, *b) {
			return "lte"
		}
	}
	if a, b := carrierOf(p), carrierOf(q); a != nil && b != nil {
		a.Hop = b.Hop // follows from where each stands
		if !reflect.DeepEqual(a, b) {
			return "dama"
		}
	}
	return ""
}
