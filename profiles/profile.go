// Package profiles is the document that says what a link is: its words are
// the models' own configurations, its quantities are text, and every problem
// of a document is found at once, each with line, path, what stands there
// and what is wanted.
//
//	TOML ─┐                       ┌─ Problems
//	      ├─▶ tree ─▶ Profile ────┼─ Canonical TOML ─▶ Hash
//	JSON ─┘            ▲          └─ JSON
//	merge patch ───────┘
//
// The shipped families stand in library/, one file a profile. What every key
// means stands in docs/reference.toml.
package profiles

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"

	"farlink/emulator/dama"
	"farlink/emulator/frame"
	"farlink/emulator/leo"
	"farlink/emulator/link"
	"farlink/emulator/lte"
	"farlink/emulator/nr"
	"farlink/emulator/sat"
	"farlink/profiles/document"
)

// Profile is one link, both ways.
type Profile struct {
	Name   string `toml:"name"`   // "geo/qirse-sat"
	About  string `toml:"about"`  // what it is, for people
	Source string `toml:"source"` // where its figures come from

	// Medium names what links share: those of one medium stand in one
	// cell, on one return carrier, under one sky; the first one's lte and
	// dama tables hold. Empty: the link has its own.
	Medium string `toml:"medium"`
	// Weight is the link's share of an LTE cell against the others of the
	// medium, 1..100; 0 is 1.
	Weight int `toml:"weight"`

	Expect Expect `toml:"expect"` // what a measurement should find

	Down Way `toml:"down"` // towards the device
	Up   Way `toml:"up"`   // from the device

	Geo  *sat.Geo     `toml:"geo"`  // where the stations stand; gives both ways their delay
	LEO  *leo.Config  `toml:"leo"`  // satellites in low orbit: rate, loss and path of both ways
	LTE  *lte.Config  `toml:"lte"`  // a cell, which serves both ways
	NR   *nr.Config   `toml:"nr"`   // a 5G carrier, which serves both ways
	DAMA *dama.Config `toml:"dama"` // a DVB-RCS return link, which serves the way up

	// Arm starts the timeline with the first packet that matches, either
	// way; left out, it starts when the profile is put in force.
	Arm *frame.Match `toml:"arm"`
	// Timeline is what happens to the link while it runs.
	Timeline []Entry `toml:"timeline"`
}

// Expect is what a measurement through the link should find. Zero is "not
// said", except that a loss not said is none.
type Expect struct {
	RTT      link.Duration `toml:"rtt"`       // idle round trip of a ping (98 bytes)
	Down     link.Rate     `toml:"down"`      // saturated, bits per second of Ethernet frames
	Up       link.Rate     `toml:"up"`        // …
	LossDown float64       `toml:"loss_down"` // share of frames lost on the air, 0..1
	LossUp   float64       `toml:"loss_up"`   // …
}

// Of returns the way w of the profile.
func (p *Profile) Of(w link.Way) *Way {
	if w == link.Down {
		return &p.Down
	}
	return &p.Up
}

// Parse reads a TOML document, or the same document as JSON: no TOML begins
// with a brace. It returns every problem it finds, warnings too; the profile
// is nil if one of them is an error.
func Parse(doc []byte) (*Profile, []Problem) {
	if bytes.HasPrefix(bytes.TrimSpace(doc), []byte("{")) {
		return ParseJSON(doc)
	}
	r := &reader{}
	p := r.profile(r.TOML(doc))
	return p, r.Sorted()
}

// ParseJSON reads the same document as JSON.
func ParseJSON(doc []byte) (*Profile, []Problem) {
	r := &reader{}
	p := r.profile(r.JSON(doc))
	return p, r.Sorted()
}

// Merge returns the profile changed by a JSON merge patch (RFC 7396): what
// the patch names is replaced, null removes, the rest stays. The profile
// itself is not touched.
func (p *Profile) Merge(patch []byte) (*Profile, []Problem) {
	r := &reader{}
	change, ok := r.AnyJSON(patch).(document.Table)
	if len(r.Problems) > 0 {
		return nil, r.Problems
	}
	if !ok {
		r.Report("", "a patch that is not an object", "an object, such as {\"down\":{\"queue\":{\"rate\":\"8Mbit/s\"}}}")
		return nil, r.Problems
	}
	whole := document.Merge(r.JSON(p.JSON()), change).(document.Table)
	r.Places = nil // of a document that nobody wrote
	q := r.profile(whole)
	return q, r.Problems
}

// UnmarshalJSON reads a profile that stands in a larger document.
func (p *Profile) UnmarshalJSON(doc []byte) error {
	q, problems := ParseJSON(doc)
	if q == nil {
		texts := make([]string, len(problems))
		for i := range problems {
			texts[i] = problems[i].String()
		}
		return errors.New(strings.Join(texts, "; "))
	}
	*p = *q
	return nil
}

// tree reads the tree of a document into a profile, and returns what has
// checked as much of it as could be read.
func (r *reader) tree(t document.Table) (*Profile, *reader) {
	p := &Profile{}
	r.Table("", t, reflect.ValueOf(p).Elem())
	for i := range p.Timeline {
		p.Timeline[i].Set = flatten(p.Timeline[i].Set)
	}
	c := &reader{unread: r.Problems}
	c.Places = r.Places
	c.check(p)
	return p, c
}

// standIns are quantities in the place of those that cannot be read: ordinary
// ones, and large ones.
var standIns = []map[reflect.Type]int64{
	{reflect.TypeFor[link.Rate](): int64(8 * link.MegabitPerSecond), reflect.TypeFor[link.Size](): 2e6, reflect.TypeFor[link.Duration](): int64(250 * link.Millisecond)},
	{reflect.TypeFor[link.Rate](): int64(link.GigabitPerSecond), reflect.TypeFor[link.Size](): 1e9, reflect.TypeFor[link.Duration](): int64(30 * link.Second)},
}

// whatever returns whether there is a problem whatever the quantities are that
// could not be read.
func (r *reader) whatever(t document.Table) func(Problem) bool {
	var others []*reader
	for _, in := range standIns {
		other := &reader{}
		other.Places, other.StandIn = r.Places, in
		_, c := other.tree(t)
		r.Stood = other.Stood
		others = append(others, c)
	}
	return func(p Problem) bool {
		return !slices.ContainsFunc(others, func(c *reader) bool { return !slices.Contains(c.Problems, p) })
	}
}

// profile reads and checks the tree of a document; nil if it has errors.
func (r *reader) profile(t document.Table) *Profile {
	if t == nil {
		return nil
	}
	p, c := r.tree(t)
	var always func(Problem) bool
	if len(c.unread) > 0 {
		always = r.whatever(t)
		c.Stood = r.Stood
	}
	for _, problem := range c.Problems {
		if !c.follows(problem, always) {
			r.Problems = append(r.Problems, problem)
		}
	}
	if Fatal(r.Problems) {
		return nil
	}
	return p
}
