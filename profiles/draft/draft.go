// Package draft makes a first profile by asking: a few questions of the kind
// of link, each with a default and an answer that is checked at once by the
// profile's own rules.
package draft

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"farlink/emulator/link"
	"farlink/profiles"
	"farlink/profiles/document"
)

// Question is what is asked next.
type Question struct {
	Text    string   // "Round trip"
	Default string   // what an empty answer means
	Choices []string // when only these are answers

	paths []string // keys that the answer sets
	as    reading
}

// reading says how an answer becomes a value.
type reading uint8

const (
	asText    reading = iota
	asNumber          // 116.0
	asHalf            // half of a duration: of a round trip, each way
	asPercent         // a share
	asWhole           // 50
	asPattern         // "DDDSU"; FDD is none
)

// Kinds lists the kinds of links, with what each is.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].name
	}
	return names
}

// Draft is a profile in the making.
type Draft struct {
	document map[string]any
	asked    []Question
}

// New returns a draft without answers. The first question is the kind.
func New() *Draft {
	return &Draft{document: map[string]any{}, asked: []Question{
		{Text: "Kind of link (" + strings.Join(Kinds(), ", ") + ")", Default: kinds[0].name, Choices: Kinds()},
	}}
}

// Next returns the question to be answered; ok is false when none is left.
func (d *Draft) Next() (q Question, ok bool) {
	if len(d.asked) == 0 {
		return Question{}, false
	}
	return d.asked[0], true
}

// Answer takes the answer to the next question, empty for the default. The
// error says what was wanted; the question then stays.
func (d *Draft) Answer(text string) error {
	q := d.asked[0]
	if text = strings.TrimSpace(text); text == "" {
		text = q.Default
	}
	if q.Choices != nil {
		return d.begin(text)
	}
	value, err := q.read(text)
	if err != nil {
		return err
	}
	trial := clone(d.document)
	for _, path := range q.paths {
		set(trial, strings.Split(path, "."), value)
	}
	if err := objection(trial, q.paths); err != nil {
		return err
	}
	d.document, d.asked = trial, d.asked[1:]
	return nil
}

// begin takes the kind of link.
func (d *Draft) begin(name string) error {
	for _, k := range kinds {
		if k.name == name {
			d.document = clone(k.document)
			d.asked = append([]Question{{Text: "Name", Default: "lab/my-" + name, paths: []string{"name"}}}, k.questions...)
			return nil
		}
	}
	return fmt.Errorf("kind %q: want one of %s", name, strings.Join(Kinds(), ", "))
}

// objection returns the first problem of the document that is about one of
// the paths.
func objection(document map[string]any, paths []string) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	_, problems := profiles.ParseJSON(text)
	for _, p := range problems {
		for _, path := range paths {
			if p.Path == path || strings.HasPrefix(path, p.Path+".") && p.Path != "" {
				return fmt.Errorf("got %s, want %s", p.Got, p.Want)
			}
		}
	}
	return nil
}

func (q *Question) read(text string) (any, error) {
	switch q.as {
	case asNumber, asPercent:
		x, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		if err != nil {
			return nil, fmt.Errorf("%q: want a number", text)
		}
		if q.as == asPercent {
			x /= 100
		}
		return x, nil
	case asWhole:
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("%q: want a whole number", text)
		}
		return n, nil
	case asHalf:
		d, err := link.ParseDuration(text)
		return (d / 2).String(), err
	case asPattern:
		if strings.EqualFold(text, "FDD") {
			return "", nil
		}
		return strings.ToUpper(text), nil
	}
	return text, nil
}

// Profile returns what the answers make, and what is still wrong with it.
func (d *Draft) Profile() (*profiles.Profile, []profiles.Problem) {
	text, err := json.Marshal(d.document)
	if err != nil {
		return nil, []profiles.Problem{{Got: err.Error(), Want: "a document"}}
	}
	return profiles.ParseJSON(text)
}

// set puts a value at a path of keys, tables made as needed.
func set(t map[string]any, keys []string, value any) {
	for _, k := range keys[:len(keys)-1] {
		inner, ok := t[k].(map[string]any)
		if !ok {
			inner = map[string]any{}
			t[k] = inner
		}
		t = inner
	}
	t[keys[len(keys)-1]] = value
}

// clone copies a tree of tables.
func clone(t map[string]any) map[string]any {
	c := make(map[string]any, len(t))
	for _, k := range document.SortedKeys(t) {
		v := t[k]
		if inner, ok := v.(map[string]any); ok {
			v = clone(inner)
		}
		c[k] = v
	}
	return c
}
