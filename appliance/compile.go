package appliance

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/profiles"
)

// lineRate is how fast frames are taken to come in when the memory that a
// want needs is judged.
const lineRate = link.GigabitPerSecond

// compiled is a want that was found good: what the engine is told.
type compiled struct {
	mode     Mode
	document []byte // emulator.Spec as JSON
	links    []LinkState
	warnings Problems
	rate     link.Rate // the largest of the links' ways that have one
}

// String is one line for people: "emulate geo/qirse-sat@1a2b3c4 seed 7".
func (c compiled) String() string {
	parts := []string{string(c.mode)}
	for _, l := range c.links {
		s := fmt.Sprintf("%s@%s seed %d", l.Profile, l.Hash, l.Seed)
		if l.Name != MainLink {
			s = l.Name + ": " + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// specDocument is emulator.Spec as it is written.
type specDocument struct {
	Line    string     `json:"line"`
	Links   []specLink `json:"links"`
	Rules   []Rule     `json:"rules,omitempty"`
	Default string     `json:"default"`
}

type specLink struct {
	Name    string          `json:"name"`
	Seed    uint64          `json:"seed"`
	Profile json.RawMessage `json:"profile"`
}

// compile checks all of a want and builds what the engine of a pair is told,
// whose links may hold memory bytes of frames. It returns every problem;
// warnings are none.
func (b *Box) compile(w Want, memory link.Size) (compiled, Problems) {
	c := compiled{mode: w.Mode}
	var bad Problems
	switch w.Mode {
	case Emulate, Bypass, CutOff:
	case "":
		c.mode = Emulate
	default:
		bad = append(bad, Problem{Path: "mode", Got: fmt.Sprintf("%q", w.Mode), Want: "emulate, bypass or cut"})
	}
	d := specDocument{Line: lineRate.String(), Default: w.Default, Rules: w.Rules}
	if d.Default == "" {
		d.Default = MainLink
	}
	for _, name := range w.Names() {
		l, prefix := w.Link, ""
		if name != MainLink {
			l, prefix = w.Links[name], "links."+name+"."
		}
		p, problems := b.resolve(l, prefix)
		for _, one := range problems {
			if one.Level == profiles.Warning {
				c.warnings = append(c.warnings, one)
			} else {
				bad = append(bad, one)
			}
		}
		if p == nil {
			continue
		}
		for _, way := range link.Ways {
			c.rate = max(c.rate, p.Effective(way).Queue.Rate)
		}
		d.Links = append(d.Links, specLink{name, l.Seed, p.JSON()})
		c.links = append(c.links, describe(name, l, p))
	}
	if len(bad) > 0 {
		return c, bad
	}
	return c, c.spec(d, memory)
}

// spec writes the document and has the emulator check it.
func (c *compiled) spec(d specDocument, memory link.Size) (bad Problems) {
	var err error
	if c.document, err = json.Marshal(d); err != nil {
		return Problems{{Got: err.Error(), Want: "a document that JSON can hold"}}
	}
	spec, problems := emulator.ParseSpec(c.document)
	for _, p := range problems {
		// The profiles themselves were checked one by one, but not against each other.
		alone := strings.HasPrefix(p.Path, "links[") && p.Rule != emulator.RuleMedium
		if p.Level == profiles.Error && !alone {
			p.Line = 0 // of a document that the user does not see
			bad = append(bad, p)
		}
	}
	if len(bad) > 0 {
		return bad
	}
	e, err := emulator.New(spec)
	if err != nil {
		return Problems{{Got: err.Error(), Want: "links that can be built"}}
	}
	for _, way := range link.Ways {
		// The engine gives each way half.
		if bound := e.Bound(way); memory > 0 && bound > memory/2 {
			bad = append(bad, Problem{Path: way.String(), Got: fmt.Sprintf("up to %s of frames held", about(bound)),
				Want: fmt.Sprintf("at most %s: less delay, a smaller queue, or more memory for the pair than %s", about(memory/2), about(memory))})
		}
	}
	return bad
}

// about is a size for people, in MB.
func about(s link.Size) string { return fmt.Sprintf("%.0fMB", float64(s)/1e6) }

// describe says what a link runs.
func describe(name string, l Link, p *profiles.Profile) LinkState {
	s := LinkState{Name: name, Profile: l.Profile, Hash: p.ShortHash(), Seed: l.Seed, About: p.About}
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
func (b *Box) resolve(l Link, prefix string) (*profiles.Profile, []Problem) {
	p, problems := b.base(l, prefix)
	if p == nil || len(l.Overrides) == 0 {
		return p, problems
	}
	patch, err := json.Marshal(l.Overrides)
	if err != nil {
		return nil, append(problems, Problem{Path: prefix + "overrides", Got: err.Error(), Want: "a table"})
	}
	// What is found now replaces what was found of the base.
	p, problems = p.Merge(patch)
	return p, under(prefix+"overrides", problems)
}

// base is the profile without overrides.
func (b *Box) base(l Link, prefix string) (*profiles.Profile, []Problem) {
	if l.Inline != "" && l.Profile != "" {
		return nil, []Problem{{Path: prefix + "inline", Got: "a profile beside the name " + l.Profile, Want: "either profile or inline"}}
	}
	if l.Inline != "" {
		p, problems := profiles.Parse([]byte(l.Inline))
		return p, under(prefix+"inline", problems)
	}
	if l.Profile == "" {
		return nil, []Problem{{Path: prefix + "profile", Got: "nothing", Want: "the name of a profile, such as clear"}}
	}
	p, _, err := b.lookup(l.Profile)
	var bad Problems
	switch {
	case errors.As(err, &bad): // stored by an older farlink, or by hand
		return nil, under(prefix+"profile."+l.Profile, bad)
	case errors.As(err, new(NoProfile)):
		_, err = profiles.Lookup(l.Profile) // says which name was probably meant
		_, want, _ := strings.Cut(err.Error(), ": want ")
		return nil, []Problem{{Path: prefix + "profile", Got: fmt.Sprintf("unknown profile %q", l.Profile), Want: want}}
	case err != nil:
		return nil, []Problem{{Path: prefix + "profile", Got: err.Error(), Want: "a profile that can be read"}}
	}
	return p, nil
}

// under puts the problems' paths under a prefix.
func under(prefix string, problems []Problem) []Problem {
	for i := range problems {
		problems[i].Path = strings.TrimSuffix(prefix+"."+problems[i].Path, ".")
	}
	return problems
}

// ParseWant reads a want as JSON. Unknown keys and wrong types are problems;
// whether the links can be built is found by Apply.
func ParseWant(doc []byte) (w Want, bad Problems) {
	for _, p := range profiles.ReadJSON(doc, &w) {
		if p.Level == profiles.Error {
			bad = append(bad, p)
		}
	}
	return w, bad
}

// ShippedProfiles lists the profiles that come with the program by name.
func ShippedProfiles() ([]ProfileInfo, error) {
	shipped, err := profiles.Shipped()
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	list := make([]ProfileInfo, len(shipped))
	for i, s := range shipped {
		list[i] = inform(s.Profile)
	}
	return list, nil
}

// Profiles lists the profiles of the box, shipped and the user's, by name.
func (b *Box) Profiles() ([]ProfileInfo, error) {
	list, err := ShippedProfiles()
	if err != nil {
		return nil, err
	}
	own, err := b.shelf().names()
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	for _, name := range own {
		// One that does not read any more is shown when it is asked for.
		if p, _, err := b.lookup(name); err == nil {
			i := inform(p)
			i.Shipped = false
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b ProfileInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Profile returns the document of a profile, as TOML.
func (b *Box) Profile(name string) ([]byte, error) {
	_, doc, err := b.lookup(name)
	return doc, err
}

// inform says what identifies a profile: its four numbers.
func inform(p *profiles.Profile) ProfileInfo {
	e := p.Expect
	if e.RTT == 0 { // not said; what the document adds up to
		e.RTT = p.RTT()
	}
	if e.Down == 0 {
		e.Down = whole(p.Rate(link.Down))
	}
	if e.Up == 0 {
		e.Up = whole(p.Rate(link.Up))
	}
	i := ProfileInfo{Name: p.Name, About: p.About, Hash: p.ShortHash(), Shipped: true,
		RTT: milliseconds(e.RTT), Down: e.Down.String(), Up: e.Up.String(), Loss: percent(e.LossDown)}
	if e.LossUp != e.LossDown {
		i.Loss += " down, " + percent(e.LossUp) + " up"
	}
	return i
}

// whole rounds what was computed, not said, to kbit/s.
func whole(r link.Rate) link.Rate {
	const unit = 1000
	if r < 1000*unit {
		return r
	}
	return (r + unit/2) / unit * unit
}

// milliseconds is a duration for people; zero has a unit they know.
func milliseconds(d link.Duration) string {
	if d == 0 {
		return "0ms"
	}
	return d.String()
}

func percent(share float64) string { return fmt.Sprintf("%.3g%%", share*100) }
