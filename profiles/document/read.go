package document

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A document, in TOML or JSON, is read into a tree of maps first and from
// there into structs by their toml tags, so that every problem is found in
// one pass: the library stops at the first.

// Table is a table of a document.
type Table = map[string]any

// Field is a key of a struct, and where its value stands.
type Field struct {
	Key   string
	Index []int
}

// Fields lists the keys of a struct in order; an embedded struct gives its
// own.
func Fields(t reflect.Type) []Field {
	var out []Field
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case key == "-" || !f.IsExported():
		case f.Anonymous && key == "":
			for _, inner := range Fields(f.Type) {
				out = append(out, Field{inner.Key, append([]int{i}, inner.Index...)})
			}
		case key != "":
			out = append(out, Field{key, []int{i}})
		}
	}
	return out
}

// Table reads a table into a struct.
func (r *Reader) Table(path string, from Table, into reflect.Value) {
	known := Fields(into.Type())
	for _, f := range known {
		if v, ok := from[f.Key]; ok {
			r.Value(Join(path, f.Key), v, into.FieldByIndex(f.Index))
		}
	}
	for _, key := range SortedKeys(from) {
		if !slices.ContainsFunc(known, func(f Field) bool { return f.Key == key }) {
			r.Report(Join(path, key), "unknown key "+strconv.Quote(key), nearestUnder(path, key, known, into.Type()))
		}
	}
}

// SortedKeys gives the order in which a table is walked.
func SortedKeys(t Table) []string {
	keys := make([]string, 0, len(t))
	for k := range t {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Unmarshaler is the type of what is text in documents.
var Unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// Value reads one value.
func (r *Reader) Value(path string, from any, into reflect.Value) {
	if u, ok := into.Addr().Interface().(encoding.TextUnmarshaler); ok {
		r.text(path, from, u)
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		v := reflect.New(into.Type().Elem())
		r.Value(path, from, v.Elem())
		into.Set(v)
	case reflect.Interface:
		into.Set(reflect.ValueOf(from))
	case reflect.Struct:
		if t, ok := from.(Table); ok {
			r.Table(path, t, into)
		} else {
			r.Report(path, show(from), "a table ["+path+"]")
		}
	case reflect.Slice, reflect.Array:
		r.list(path, from, into)
	case reflect.Map:
		r.mapping(path, from, into)
	default:
		r.scalar(path, from, into)
	}
}

// text reads what is text in documents: quantities and names.
func (r *Reader) text(path string, from any, into encoding.TextUnmarshaler) {
	s, ok := from.(string)
	if !ok {
		r.Report(path, show(from), "text with a unit, in quotes, such as "+example(into))
		r.standIn(path, reflect.ValueOf(into).Elem())
		return
	}
	if err := into.UnmarshalText([]byte(s)); err != nil {
		// `rate "8 Mb": unknown unit "Mb"; want "8Mbit/s" (…)`
		got, want, ok := strings.Cut(err.Error(), "; want ")
		if !ok {
			want = "a value that reads"
		}
		r.Report(path, got, want)
		r.standIn(path, reflect.ValueOf(into).Elem())
	}
}

// standIn gives a quantity that could not be read one that could be meant.
func (r *Reader) standIn(path string, into reflect.Value) {
	n, ok := r.StandIn[into.Type()]
	if !ok {
		return
	}
	into.SetInt(n)
	if r.Stood == nil {
		r.Stood = map[string]bool{}
	}
	r.Stood[path] = true
}

func (r *Reader) list(path string, from any, into reflect.Value) {
	items := reflect.ValueOf(from)
	if items.Kind() != reflect.Slice {
		r.Report(path, show(from), "a list [ … ]")
		return
	}
	if into.Kind() == reflect.Array && items.Len() != into.Len() {
		r.Report(path, fmt.Sprintf("%d elements", items.Len()), fmt.Sprintf("%d", into.Len()))
		return
	}
	if into.Kind() == reflect.Slice {
		into.Set(reflect.MakeSlice(into.Type(), items.Len(), items.Len()))
	}
	for i := range items.Len() {
		r.Value(fmt.Sprintf("%s[%d]", path, i), items.Index(i).Interface(), into.Index(i))
	}
}

func (r *Reader) mapping(path string, from any, into reflect.Value) {
	t, ok := from.(Table)
	if !ok {
		r.Report(path, show(from), "a table ["+path+"]")
		return
	}
	into.Set(reflect.MakeMap(into.Type()))
	for _, key := range SortedKeys(t) {
		v := reflect.New(into.Type().Elem()).Elem()
		r.Value(Join(path, key), t[key], v)
		into.SetMapIndex(reflect.ValueOf(key), v)
	}
}

// scalar reads booleans, strings and numbers.
func (r *Reader) scalar(path string, from any, into reflect.Value) {
	switch v := from.(type) {
	case bool:
		if into.Kind() == reflect.Bool {
			into.SetBool(v)
			return
		}
	case string:
		if into.Kind() == reflect.String {
			into.SetString(v)
			return
		}
	case int64:
		if into.CanInt() && !into.OverflowInt(v) {
			into.SetInt(v)
			return
		}
		if into.CanUint() && v >= 0 && !into.OverflowUint(uint64(v)) {
			into.SetUint(uint64(v))
			return
		}
		if into.CanFloat() {
			into.SetFloat(float64(v))
			return
		}
	case uint64:
		if into.CanUint() && !into.OverflowUint(v) {
			into.SetUint(v)
			return
		}
	case float64:
		if into.CanFloat() && !math.IsNaN(v) && !math.IsInf(v, 0) {
			into.SetFloat(v)
			return
		}
	}
	r.Report(path, show(from), wanted(into))
}

// wanted says what a scalar field takes.
func wanted(into reflect.Value) string {
	switch {
	case into.Kind() == reflect.Bool:
		return "true or false"
	case into.Kind() == reflect.String:
		return "text in quotes"
	case into.CanUint():
		return fmt.Sprintf("a whole number from 0 to %d", uint64(1)<<into.Type().Bits()-1)
	case into.CanInt():
		return "a whole number"
	}
	return "a number"
}

// show writes a value as it would stand in a document, shortened.
func show(v any) string {
	var s string
	switch v := v.(type) {
	case Table:
		return "a table"
	case []any, []Table:
		return "a list"
	case string:
		s = strconv.Quote(v)
	case float64:
		s = fmt.Sprint(v)
		if v == math.Trunc(v) && math.Abs(v) < 1e21 { // a whole number, in all its digits
			s = strconv.FormatFloat(v, 'f', 0, 64)
		}
	default:
		s = fmt.Sprint(v)
	}
	if len(s) > 60 {
		s = s[:57] + "…"
	}
	return s
}

// example returns a text that the field would take: its own zero value when
// it writes one.
func example(into encoding.TextUnmarshaler) string {
	switch fmt.Sprintf("%T", into) {
	case "*link.Rate":
		return `"8Mbit/s"`
	case "*link.Size":
		return `"2MB"`
	case "*link.Duration":
		return `"250ms"`
	case "*queue.Limit":
		return `"500kB", "60packets" or "100ms"`
	}
	if m, ok := into.(encoding.TextMarshaler); ok {
		if b, err := m.MarshalText(); err == nil {
			return strconv.Quote(string(b))
		}
	}
	return `"…"`
}

// nearMost bounds what is near: a letter in three, and no more than this many.
const nearMost = 3

// Nearest says which key was probably meant or, where none is near, which
// there are.
func Nearest(key string, known []Field) string {
	best, distance := "", min(len(key)/3, nearMost)+1
	for _, f := range known {
		if d := Distance(key, f.Key); d < distance {
			best, distance = f.Key, d
		}
	}
	if best != "" {
		return strconv.Quote(best) + " (the nearest known key)"
	}
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.Key
	}
	return "one of " + strings.Join(names, ", ")
}

// nearestUnder is Nearest in the table at path. A key that is known one table
// deeper was meant there: "up.rate" is not "up.trace" but "up.queue.rate".
func nearestUnder(path, key string, known []Field, in reflect.Type) string {
	var deeper []string
	for _, f := range known {
		t := in.FieldByIndex(f.Index).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(Unmarshaler) {
			continue
		}
		if slices.ContainsFunc(Fields(t), func(g Field) bool { return g.Key == key }) {
			deeper = append(deeper, strconv.Quote(Join(Join(path, f.Key), key)))
		}
	}
	if len(deeper) == 0 || len(deeper) > deeperMost {
		return Nearest(key, known)
	}
	return strings.Join(deeper, " or ")
}

// deeperMost is how many tables deeper are named.
const deeperMost = 4

// Distance is Levenshtein's distance, over bytes. Nobody means something else
// by a word of more than 256 bytes: it has nothing in common with any other.
func Distance(a, b string) int {
	if longer := max(len(a), len(b)); longer > 256 {
		return longer
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// plain turns what the JSON reader gives into what the TOML reader gives.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(string(v), 10, 64); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return string(v)
		}
		return f
	case map[string]any:
		for k, x := range v {
			v[k] = plain(x)
		}
	case []any:
		for i, x := range v {
			v[i] = plain(x)
		}
	}
	return v
}
