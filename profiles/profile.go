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
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"farlink/emulator/dama"
	"farlink/emulator/frame"
	"farlink/emulator/leo"
	"farlink/emulator/link"
	"farlink/emulator/lte"
	"farlink/emulator/nr"
	"farlink/emulator/sat"
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

// Parse reads a TOML document. It returns every problem it finds, warnings
// too; the profile is nil if one of them is an error.
func Parse(doc []byte) (*Profile, []Problem) {
	r := &reader{}
	p := r.profile(r.toml(doc))
	return p, r.sorted()
}

// ParseJSON reads the same document as JSON.
func ParseJSON(doc []byte) (*Profile, []Problem) {
	r := &reader{}
	p := r.profile(r.json(doc))
	return p, r.sorted()
}

// ReadTOML reads any document of structs with toml tags, in the manner of
// profiles: quantities are text, an unknown key is a problem, all problems
// come at once.
func ReadTOML(doc []byte, into any) []Problem {
	r := &reader{}
	r.table("", r.toml(doc), reflect.ValueOf(into).Elem())
	return r.sorted()
}

// ReadJSON is ReadTOML for JSON.
func ReadJSON(doc []byte, into any) []Problem {
	r := &reader{}
	r.table("", r.json(doc), reflect.ValueOf(into).Elem())
	return r.problems
}

// Merge returns the profile changed by a JSON merge patch (RFC 7396): what
// the patch names is replaced, null removes, the rest stays. The profile
// itself is not touched.
func (p *Profile) Merge(patch []byte) (*Profile, []Problem) {
	r := &reader{}
	change, ok := r.anyJSON(patch).(table)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	if !ok {
		r.report("", "a patch that is not an object", "an object, such as {\"down\":{\"queue\":{\"rate\":\"8Mbit/s\"}}}")
		return nil, r.problems
	}
	q := r.profile(merge(r.json(p.JSON()), change).(table))
	return q, r.problems
}

// merge is the function MergePatch of RFC 7396, clause 2.
func merge(target, patch any) any {
	change, ok := patch.(table)
	if !ok {
		return patch
	}
	t, ok := target.(table)
	if !ok {
		t = table{}
	}
	for _, key := range sortedKeys(change) {
		if change[key] == nil {
			delete(t, key)
		} else {
			t[key] = merge(t[key], change[key])
		}
	}
	return t
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

// profile reads and checks the tree of a document; nil if it has errors.
func (r *reader) profile(t table) *Profile {
	if t == nil {
		return nil
	}
	p := &Profile{}
	r.table("", t, reflect.ValueOf(p).Elem())
	for i := range p.Timeline {
		p.Timeline[i].Set = flatten(p.Timeline[i].Set)
	}
	if !Fatal(r.problems) {
		r.check(p)
	}
	if Fatal(r.problems) {
		return nil
	}
	return p
}

// toml reads the document into a tree, nil if it is not TOML.
func (r *reader) toml(doc []byte) table {
	var t table
	_, err := toml.Decode(string(doc), &t)
	if err != nil {
		p := Problem{Got: err.Error(), Want: "a TOML document"}
		var at toml.ParseError
		if errors.As(err, &at) {
			p.Line, p.Path = at.Position.Line, at.LastKey
			p.Got = at.Message
			if p.Got == "" {
				p.Got = strings.TrimPrefix(err.Error(), "toml: ")
			}
		}
		r.problems = append(r.problems, p)
		return nil
	}
	r.lines = indexLines(string(doc))
	return t
}

// json reads the document into a tree, nil if it is not a JSON object.
func (r *reader) json(doc []byte) table {
	v := r.anyJSON(doc)
	t, ok := v.(table)
	if !ok && len(r.problems) == 0 {
		r.report("", show(v), "a JSON object")
	}
	return t
}

func (r *reader) anyJSON(doc []byte) any {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil && d.More() {
		err = errors.New("something behind the end of the document")
	}
	if err != nil {
		end := d.InputOffset()
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			end = syntax.Offset
		}
		line := 1 + bytes.Count(doc[:min(int(end), len(doc))], []byte("\n"))
		r.problems = append(r.problems, Problem{Line: line, Got: strconv.Quote(err.Error()), Want: "a JSON document"})
		return nil
	}
	return plain(v)
}

// ShortHash returns the seven hex digits by which people know the profile.
func (p *Profile) ShortHash() string { return p.Hash()[:7] }

// String names the profile with its hash: "geo/qirse-sat@1a2b3c4".
func (p *Profile) String() string { return fmt.Sprintf("%s@%s", p.Name, p.ShortHash()) }
