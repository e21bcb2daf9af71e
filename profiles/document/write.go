package document

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// entry is a key and its value in an ordered tree; a value is a string,
// bool, int64, uint64, float64, []any, or []entry for a table.
type entry struct {
	key   string
	value any
}

// tree returns the struct as an ordered tree: keys in the order of the
// struct, values at their default left out.
func tree(v reflect.Value) []entry {
	var out []entry
	for _, f := range Fields(v.Type()) {
		if x := v.FieldByIndex(f.Index); !empty(x) {
			out = append(out, entry{f.Key, node(x)})
		}
	}
	return out
}

func empty(v reflect.Value) bool {
	if _, ok := v.Interface().(encoding.TextMarshaler); ok {
		return v.IsZero()
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct:
		return v.IsZero() || len(tree(v)) == 0
	}
	return v.IsZero()
}

func node(v reflect.Value) any {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		if b, err := m.MarshalText(); err == nil {
			return string(b)
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return node(v.Elem())
	case reflect.Struct:
		return tree(v)
	case reflect.Map:
		return ordered(v)
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = node(v.Index(i))
		}
		return list
	case reflect.Bool:
		return v.Bool()
	case reflect.String:
		return v.String()
	case reflect.Float32, reflect.Float64:
		return v.Float()
	}
	if v.CanUint() {
		return v.Uint()
	}
	return v.Int()
}

// ordered returns a map with text keys as a tree, keys sorted.
func ordered(v reflect.Value) []entry {
	t := Table{}
	for _, k := range v.MapKeys() {
		t[k.String()] = node(v.MapIndex(k))
	}
	out := make([]entry, 0, len(t))
	for _, k := range SortedKeys(t) {
		out = append(out, entry{k, t[k]})
	}
	return out
}

// TOML writes a struct in its one canonical form: keys in the order of the
// struct, tables behind plain keys, values at their default left out.
func TOML(from any) []byte {
	var b strings.Builder
	writeTable(&b, "", tree(reflect.ValueOf(from)))
	return []byte(b.String())
}

// JSON writes the same document, with the same names, as JSON.
func JSON(from any) []byte {
	var b strings.Builder
	writeJSON(&b, node(reflect.ValueOf(from)))
	return []byte(b.String())
}

// writeTable writes a table: plain keys first, tables behind them, as TOML's
// grammar wants.
func writeTable(b *strings.Builder, path string, entries []entry) {
	for _, e := range entries {
		if !isTable(e.value) && !isTables(e.value) {
			fmt.Fprintf(b, "%s = ", tomlKey(e.key))
			writeValue(b, e.value)
			b.WriteByte('\n')
		}
	}
	for _, e := range entries {
		inner := Join(path, tomlKey(e.key))
		switch {
		case isTable(e.value):
			if t := e.value.([]entry); !onlyTables(t) {
				fmt.Fprintf(b, "\n[%s]\n", inner)
			}
			writeTable(b, inner, e.value.([]entry))
		case isTables(e.value):
			for _, t := range e.value.([]any) {
				fmt.Fprintf(b, "\n[[%s]]\n", inner)
				writeTable(b, inner, t.([]entry))
			}
		}
	}
}

// onlyTables reports whether the tables inside say that a table is there.
func onlyTables(entries []entry) bool {
	for _, e := range entries {
		if !isTable(e.value) {
			return false
		}
	}
	return len(entries) > 0
}

func isTable(v any) bool { _, ok := v.([]entry); return ok }

func isTables(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0 && isTable(list[0])
}

// tomlKey quotes a key that is not bare.
func tomlKey(key string) string {
	for i := range len(key) {
		c := key[i]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return quote(key)
		}
	}
	if key == "" {
		return `""`
	}
	return key
}

func writeValue(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(quote(v))
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeValue(b, x)
		}
		b.WriteByte(']')
	case []entry:
		b.WriteByte('{')
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(tomlKey(e.key) + " = ")
			writeValue(b, e.value)
		}
		b.WriteByte('}')
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		b.WriteString(s)
	default:
		fmt.Fprint(b, v)
	}
}

// quote writes a basic TOML string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7F:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func writeJSON(b *strings.Builder, v any) {
	switch v := v.(type) {
	case []entry:
		b.WriteByte('{')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, e.key)
			b.WriteByte(':')
			writeJSON(b, e.value)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, x)
		}
		b.WriteByte(']')
	default:
		text, err := json.Marshal(v)
		if err != nil { // only NaN and infinities, which no reader lets in
			text = []byte("null")
		}
		b.Write(text)
	}
}
