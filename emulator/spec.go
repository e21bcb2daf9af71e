package emulator

import (
	"fmt"
	"strconv"

	"farlink/emulator/frame"
	"farlink/emulator/link"
	"farlink/profiles"
)

// Spec says what the links of one pair of ports are, and which frames take
// which.
type Spec struct {
	Links   []LinkSpec `toml:"links"`
	Rules   []Rule     `toml:"rules"`
	Line    link.Rate  `toml:"line"`    // of the ports, at most; zero is 10Gbit/s
	Default string     `toml:"default"` // of frames that no rule takes: a link or "pass"; empty is the first link
}

// Rule sends the frames that match to a link, by name, or to "pass": past
// all links. The first rule that matches decides.
type Rule struct {
	frame.Match
	Link string `toml:"link"`
}

// Pass names the way past all links in a rule and as the default.
const Pass = "pass"

// check reports what is wrong with a rule.
func (r *Rule) check(report link.Report, links map[string]bool) {
	if r.Link != Pass && !links[r.Link] {
		report("link", strconv.Quote(r.Link), `the name of a link, or "pass"`)
	}
}

// LinkSpec is one link.
type LinkSpec struct {
	Name    string            `toml:"name"`
	Seed    uint64            `toml:"seed"`
	Profile *profiles.Profile `toml:"profile"`
}

// ParseSpec reads a Spec as JSON: what a daemon tells its engine. Profiles
// stand in it whole.
func ParseSpec(doc []byte) (Spec, []profiles.Problem) {
	var s Spec
	problems := profiles.ReadJSON(doc, &s)
	if !profiles.Fatal(problems) {
		problems = append(problems, s.Check()...)
	}
	return s, problems
}

// JSON returns the document that ParseSpec reads.
func (s Spec) JSON() []byte { return profiles.WriteJSON(s) }

// maxLinks is how many links fit into a Mark, beside the numbers that stand
// for frames past all links and for links that are no more.
const maxLinks = 254

// Check returns every problem of the spec.
func (s Spec) Check() []profiles.Problem {
	var problems []profiles.Problem
	report := func(path, got, want string) {
		problems = append(problems, profiles.Problem{Path: path, Got: got, Want: want})
	}
	if len(s.Links) > maxLinks {
		report("links", fmt.Sprintf("%d links", len(s.Links)), fmt.Sprintf("at most %d", maxLinks))
	}
	names := map[string]bool{}
	for i := range s.Links {
		l, path := &s.Links[i], fmt.Sprintf("links[%d]", i)
		if l.Name == "" || l.Name == Pass || names[l.Name] {
			report(path+".name", strconv.Quote(l.Name), `a name of its own, and not "pass"`)
		}
		names[l.Name] = true
		if l.Profile == nil {
			report(path+".profile", "nothing", "a profile")
			continue
		}
		for _, p := range l.Profile.Validate() {
			p.Path = path + ".profile." + p.Path
			problems = append(problems, p)
		}
	}
	problems = append(problems, s.checkMedia()...)
	for i := range s.Rules {
		s.Rules[i].check(func(path, got, want string) {
			report(fmt.Sprintf("rules[%d].%s", i, path), got, want)
		}, names)
	}
	if s.Default != "" && s.Default != Pass && !names[s.Default] {
		report("default", strconv.Quote(s.Default), `the name of a link, or "pass"`)
	}
	return problems
}
