package profiles

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"farlink/profiles/document"
)

// settable are the tables under which a timeline may set keys, and keys.
var settable = []string{"down", "up", "geo", "leo", "lte", "nr", "dama", "weight"}

// fixed are the keys of a return link that stand for its structure: requests
// and bursts on their way were laid out by them. PUT and PATCH change them by
// beginning the carrier anew, with the packets that wait.
var fixed = []string{"standard", "superframe", "frames", "carriers", "symbol_rate_bd", "waveform", "code_rate", "burst_units", "burst_overhead",
	"encapsulation", "coding", "hop", "processing", "random_access.slots", "random_access.copies", "logon", "station.window", "station.logon", "station.queue"}

// settled says why a timeline cannot set a key, "" if it can.
func settled(path string) string {
	for _, f := range fixed {
		if document.Within(path, "dama."+f) {
			return "a key that leaves the structure of the superframe as it is; PUT or PATCH change this one"
		}
	}
	return ""
}

// reach returns the value at a path of keys, for setting: pointers on the
// way are copied first, so that what else points there stays as it is. want
// says what was wanted when there is no such key.
func reach(v reflect.Value, path string) (target reflect.Value, want string) {
	keys := strings.Split(path, ".")
	if !slices.Contains(settable, keys[0]) {
		return v, "a key under " + strings.Join(settable, ", ")
	}
	if want := settled(path); want != "" {
		return v, want
	}
	for i, key := range keys {
		if i == 1 && v.Kind() == reflect.Pointer && v.IsNil() {
			return v, "a table [" + keys[0] + "] in the profile: a timeline changes what there is"
		}
		v = own(v)
		if v.Kind() != reflect.Struct {
			return v, "a key that has a value of its own"
		}
		fields := document.Fields(v.Type())
		found := false
		for _, f := range fields {
			if f.Key == key {
				v, found = v.FieldByIndex(f.Index), true
				break
			}
		}
		if !found {
			return v, document.Nearest(key, fields)
		}
	}
	v = own(v)
	if inner, list := tabular(v.Type()); inner || list {
		return v, "a key with a single value, not a table or a list"
	}
	return v, ""
}

// own follows a pointer into a fresh copy of what it points to, or into a
// new zero value.
func own(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	fresh := reflect.New(v.Type().Elem())
	if !v.IsNil() {
		fresh.Elem().Set(v.Elem())
	}
	v.Set(fresh)
	return fresh.Elem()
}

// tabular reports whether a type is read from a table or from a list.
func tabular(t reflect.Type) (table, list bool) {
	if reflect.PointerTo(t).Implements(document.Unmarshaler) {
		return false, false
	}
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Map, t.Kind() == reflect.Slice
}

// move sets target so far towards value as degree says: numbers move, all
// else jumps. A rate of zero, which is no limit, jumps too.
func move(target, value reflect.Value, degree float64) {
	switch {
	case degree >= 1 || target.IsZero() && target.CanInt():
		target.Set(value)
	case target.CanInt():
		from := float64(target.Int())
		target.SetInt(int64(math.Round(from + (float64(value.Int())-from)*degree)))
	case target.CanFloat():
		from := target.Float()
		target.SetFloat(from + (value.Float()-from)*degree)
	default:
		target.Set(value)
	}
}
