package document

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// misfit finds the quantity in v, which was read from JSON, that a value of
// type t does not take: encoding/json says what is wrong with it, but not
// where it stands.
func misfit(path string, v any, t reflect.Type) (Problem, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	fresh := reflect.New(t)
	if _, own := fresh.Interface().(json.Unmarshaler); own {
		return Problem{}, false
	}
	if q, ok := fresh.Interface().(encoding.TextUnmarshaler); ok {
		return misread(path, v, q)
	}
	switch from := v.(type) {
	case Table:
		return misfitField(path, from, t)
	case []any:
		for i := range from {
			if t.Kind() != reflect.Slice {
				break
			}
			if p, found := misfit(path+"["+strconv.Itoa(i)+"]", from[i], t.Elem()); found {
				return p, true
			}
		}
	}
	return Problem{}, false
}

// misfitField is misfit for what a table holds.
func misfitField(path string, from Table, t reflect.Type) (Problem, bool) {
	switch t.Kind() {
	case reflect.Map:
		for _, key := range SortedKeys(from) {
			if p, found := misfit(Join(path, key), from[key], t.Elem()); found {
				return p, true
			}
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			in, at := from[key], Join(path, key)
			if f.Anonymous && key == "" {
				in, at = from, path
			}
			if p, found := misfit(at, in, f.Type); found {
				return p, true
			}
		}
	}
	return Problem{}, false
}

// misread is the problem of a text that a quantity does not take.
func misread(path string, v any, q encoding.TextUnmarshaler) (Problem, bool) {
	text, ok := v.(string)
	if !ok {
		return Problem{}, false
	}
	err := q.UnmarshalText([]byte(text))
	if err == nil {
		return Problem{}, false
	}
	want := err.Error()
	if _, after, cut := strings.Cut(want, "want "); cut {
		want = after
	}
	return Problem{Path: path, Got: strconv.Quote(text), Want: want}, true
}

// repeated returns the problem of a key that an object of a JSON document, one
// that parses, has twice: which of the values is meant nobody knows.
func repeated(doc []byte) (Problem, bool) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	path := repeatedIn(d, "")
	if path == "" {
		return Problem{}, false
	}
	return Problem{Place: placeAt(doc, d.InputOffset()), Path: path, Got: "this key twice", Want: "each key of an object once"}, true
}

// repeatedIn reads one value and stops behind the first key that its object
// has already; it returns the path of that key.
func repeatedIn(d *json.Decoder, path string) string {
	t, err := d.Token()
	opening, inside := t.(json.Delim)
	if err != nil || !inside {
		return ""
	}
	seen := map[string]bool{}
	for n := 0; d.More(); n++ {
		inner := path + "[" + strconv.Itoa(n) + "]"
		if opening == '{' {
			t, err := d.Token()
			key, ok := t.(string)
			if err != nil || !ok {
				return ""
			}
			if inner = Join(path, key); seen[key] {
				return inner
			}
			seen[key] = true
		}
		if at := repeatedIn(d, inner); at != "" {
			return at
		}
	}
	_, _ = d.Token() // the closing bracket
	return ""
}
