// Package spec makes of what is wanted of a pair what its engine is told: the
// document of an emulator (emulator.Spec), or every reason why there is none.
package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"farlink/appliance"
	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/profiles"
)

// lineRate is how fast frames are taken to come in when the memory that a
// want needs is judged.
const lineRate = link.GigabitPerSecond

// Spec is a want that was found good: what the engine is told.
type Spec struct {
	Mode     appliance.Mode // what the frames undergo
	Document []byte         // emulator.Spec as JSON
	Links    []appliance.LinkState
	Warnings appliance.Problems
	Rate     link.Rate // the largest of the links' ways that have one
}

// String is one line for people: "emulate geo/qirse-sat@1a2b3c4 seed 7".
func (c Spec) String() string {
	parts := []string{string(c.Mode)}
	for _, l := range c.Links {
		s := fmt.Sprintf("%s@%s seed %d", l.Profile, l.Hash, l.Seed)
		if l.Name != appliance.MainLink {
			s = l.Name + ": " + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// Find finds a profile by name. The error of one that is not there is a
// NoProfile, of one that does not read any more Problems.
type Find func(name string) (*profiles.Profile, error)

// specDocument is emulator.Spec as it is written.
type specDocument struct {
	Line    string           `json:"line"`
	Links   []specLink       `json:"links"`
	Rules   []appliance.Rule `json:"rules,omitempty"`
	Default string           `json:"default"`
}

type specLink struct {
	Name    string          `json:"name"`
	Seed    uint64          `json:"seed"`
	Profile json.RawMessage `json:"profile"`
}

// Compile checks all of a want and builds what the engine of a pair is told,
// whose links may hold memory bytes of frames. It returns every problem;
// warnings are none.
func Compile(w appliance.Want, memory link.Size, find Find) (Spec, appliance.Problems) {
	c := Spec{Mode: w.Mode}
	var bad appliance.Problems
	switch w.Mode {
	case appliance.Emulate, appliance.Bypass, appliance.CutOff:
	case "":
		c.Mode = appliance.Emulate
	default:
		bad = append(bad, appliance.Problem{Path: "mode", Got: fmt.Sprintf("%q", w.Mode), Want: "emulate, bypass or cut"})
	}
	d := specDocument{Line: lineRate.String(), Default: w.Default, Rules: w.Rules}
	if d.Default == "" {
		d.Default = appliance.MainLink
	}
	for _, name := range w.Names() {
		l, prefix := w.Link, ""
		if name != appliance.MainLink {
			l, prefix = w.Links[name], "links."+name+"."
		}
		p, problems := resolve(l, prefix, find)
		for _, one := range problems {
			if one.Level == profiles.Warning {
				c.Warnings = append(c.Warnings, one)
			} else {
				bad = append(bad, one)
			}
		}
		if p == nil {
			continue
		}
		for _, way := range link.Ways {
			c.Rate = max(c.Rate, p.Effective(way).Queue.Rate)
		}
		d.Links = append(d.Links, specLink{name, l.Seed, p.JSON()})
		c.Links = append(c.Links, describe(name, l, p))
	}
	if len(bad) > 0 {
		return c, bad
	}
	return c, c.build(d, memory)
}

// build writes the document and has the emulator check it.
func (c *Spec) build(d specDocument, memory link.Size) (bad appliance.Problems) {
	var err error
	if c.Document, err = json.Marshal(d); err != nil {
		return appliance.Problems{{Got: err.Error(), Want: "a document that JSON can hold"}}
	}
	spec, problems := emulator.ParseSpec(c.Document)
	for _, p := range problems {
		// The profiles themselves were checked one by one, but not against each other.
		alone := strings.HasPrefix(p.Path, "links[") && p.Rule != emulator.RuleMedium
		if p.Level == profiles.Error && !alone {
			p.Line, p.Column = 0, 0 // of a document that the user does not see
			bad = append(bad, p)
		}
	}
	if len(bad) > 0 {
		return bad
	}
	e, err := emulator.New(spec)
	if err != nil {
		return appliance.Problems{{Got: err.Error(), Want: "links that can be built"}}
	}
	for _, way := range link.Ways {
		// The engine gives each way half.
		if bound := e.Bound(way); memory > 0 && bound > memory/2 {
			bad = append(bad, appliance.Problem{Path: way.String(), Got: fmt.Sprintf("up to %s of frames held", about(bound)),
				Want: fmt.Sprintf("at most %s: less delay, a smaller queue, or more memory for the pair than %s", about(memory/2), about(memory))})
		}
	}
	return bad
}

// about is a size for people, in MB.
func about(s link.Size) string { return fmt.Sprintf("%.0fMB", float64(s)/1e6) }

// describe says what a link runs.
func describe(name string, l appliance.Link, p *profiles.Profile) appliance.LinkState {
	s := appliance.LinkState{Name: name, Profile: l.Profile, Hash: p.ShortHash(), Seed: l.Seed, About: p.About}
	if l.Inline != "" {
		s.Profile = p.Name
		if p.Name == "" {
			s.Profile = "inline"
		}
	}
	return s
}

// resolve finds the link's profile and lays the overrides over it. The paths
// of problems begin with prefix. The profile is nil if one is an error.
func resolve(l appliance.Link, prefix string, find Find) (*profiles.Profile, []appliance.Problem) {
	p, problems := base(l, prefix, find)
	if p == nil || len(l.Overrides) == 0 {
		return p, problems
	}
	patch, err := json.Marshal(l.Overrides)
	if err != nil {
		return nil, append(problems, appliance.Problem{Path: prefix + "overrides", Got: err.Error(), Want: "a table"})
	}
	// What is found now replaces what was found of the base.
	p, problems = p.Merge(patch)
	return p, under(prefix+"overrides", problems)
}

// base is the profile without overrides.
func base(l appliance.Link, prefix string, find Find) (*profiles.Profile, []appliance.Problem) {
	if l.Inline != "" && l.Profile != "" {
		return nil, []appliance.Problem{{Path: prefix + "inline", Got: "a profile beside the name " + l.Profile, Want: "either profile or inline"}}
	}
	if l.Inline != "" {
		p, problems := profiles.Parse([]byte(l.Inline))
		return p, under(prefix+"inline", problems)
	}
	if l.Profile == "" {
		return nil, []appliance.Problem{{Path: prefix + "profile", Got: "nothing", Want: "the name of a profile, such as clear"}}
	}
	p, err := find(l.Profile)
	var bad appliance.Problems
	switch {
	case errors.As(err, &bad): // stored by an older farlink, or by hand
		return nil, under(prefix+"profile."+l.Profile, bad)
	case errors.As(err, new(appliance.NoProfile)):
		_, err = profiles.Lookup(l.Profile) // says which name was probably meant
		_, hint, _ := strings.Cut(err.Error(), "; ")
		return nil, []appliance.Problem{{Path: prefix + "profile", Got: fmt.Sprintf("unknown profile %q", l.Profile), Want: "the name of a profile; " + hint}}
	case err != nil:
		return nil, []appliance.Problem{{Path: prefix + "profile", Got: err.Error(), Want: "a profile that can be read"}}
	}
	return p, nil
}

// under puts the problems' paths under a prefix.
func under(prefix string, problems []appliance.Problem) []appliance.Problem {
	for i := range problems {
		problems[i].Path = strings.TrimSuffix(prefix+"."+problems[i].Path, ".")
	}
	return problems
}
