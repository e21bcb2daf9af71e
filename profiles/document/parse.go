// Package document reads and writes documents of structs with toml tags, in
// TOML or JSON, such as a user writes by hand: quantities are text, an unknown
// key is a problem with the nearest known one as a hint, and all problems come
// at once, each with line, path, what stands there and what is wanted.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// ReadTOML reads a TOML document into what into points to.
func ReadTOML(doc []byte, into any) []Problem {
	r := &Reader{}
	r.Table("", r.TOML(doc), reflect.ValueOf(into).Elem())
	return r.Sorted()
}

// ReadJSON is ReadTOML for JSON.
func ReadJSON(doc []byte, into any) []Problem {
	r := &Reader{}
	r.Table("", r.JSON(doc), reflect.ValueOf(into).Elem())
	return r.Sorted()
}

// TOML reads the document into a tree, nil if it is not TOML.
func (r *Reader) TOML(doc []byte) Table {
	if r.refuseDepth(doc) {
		return nil
	}
	var t Table
	_, err := toml.Decode(string(doc), &t)
	if err != nil {
		p := Problem{Got: err.Error(), Want: "a TOML document"}
		var at toml.ParseError
		if errors.As(err, &at) {
			p.Place, p.Path = Place{max(1, at.Position.Line), max(1, at.Position.Col)}, at.LastKey // its lines of strings with an end of line begin at 0
			p.Got = at.Message
			if p.Got == "" {
				p.Got = strings.TrimPrefix(err.Error(), "toml: ")
			}
			if number, large := strings.CutSuffix(p.Got, " is out of range for int64"); large {
				p.Got, p.Want = number, "a whole number of at most 63 bits"
			}
		}
		r.Problems = append(r.Problems, p)
		return nil
	}
	r.Places = indexTOML(string(doc))
	return t
}

// JSON reads the document into a tree, nil if it is not a JSON object.
func (r *Reader) JSON(doc []byte) Table {
	v := r.AnyJSON(doc)
	t, ok := v.(Table)
	if !ok && len(r.Problems) == 0 {
		r.Report("", show(v), "a JSON object")
	}
	if ok {
		r.Places = indexJSON(string(doc))
	}
	return t
}

// AnyJSON reads any value of JSON.
func (r *Reader) AnyJSON(doc []byte) any {
	if r.refuseDepth(doc) {
		return nil
	}
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
		r.Problems = append(r.Problems, Problem{Place: placeAt(doc, end), Got: strconv.Quote(err.Error()), Want: "a JSON document"})
		return nil
	}
	if p, twice := repeated(doc); twice {
		r.Problems = append(r.Problems, p)
		return nil
	}
	return plain(v)
}

// refuseDepth reports whether the document is nested too deeply to be read.
func (r *Reader) refuseDepth(doc []byte) bool {
	at := tooDeep(string(doc))
	if at.Line > 0 {
		r.Problems = append(r.Problems, Problem{Place: at, Got: "tables, lists or dotted keys in each other without end",
			Want: "at most " + strconv.Itoa(nestingMost) + " levels"})
	}
	return at.Line > 0
}

// Patch returns the JSON document of v, changed by the merge patch in doc, or
// what is wrong with the patch.
func Patch(v any, doc []byte) ([]byte, []Problem) {
	r := &Reader{}
	change, ok := r.AnyJSON(doc).(Table)
	if len(r.Problems) > 0 {
		return nil, r.Problems
	}
	if !ok {
		return nil, []Problem{{Got: "a patch that is not an object", Want: `an object, such as {"profile": "clear"}`}}
	}
	old, err := json.Marshal(v)
	if err != nil {
		return nil, []Problem{{Got: err.Error(), Want: "a document that JSON can hold"}}
	}
	merged, err := json.Marshal(Merge(r.AnyJSON(old), change))
	if err != nil {
		return nil, []Problem{{Got: err.Error(), Want: "a document that JSON can hold"}}
	}
	return merged, nil
}

// Merge is the function MergePatch of RFC 7396, clause 2.
func Merge(target, patch any) any {
	change, ok := patch.(Table)
	if !ok {
		return patch
	}
	t, ok := target.(Table)
	if !ok {
		t = Table{}
	}
	for _, key := range SortedKeys(change) {
		if change[key] == nil {
			delete(t, key)
		} else {
			t[key] = Merge(t[key], change[key])
		}
	}
	return t
}
