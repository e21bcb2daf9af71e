package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Unmarshal is json.Unmarshal whose errors are in the words of documents:
// line, path, what stands there and what is wanted. A key that is given twice
// is an error.
func Unmarshal(doc []byte, into any) error {
	err := json.Unmarshal(doc, into)
	if err == nil {
		if p, twice := repeated(doc); twice {
			return errors.New(p.String())
		}
		return nil
	}
	if p, ok := Unread(doc, err); ok {
		return errors.New(p.String())
	}
	var tree any
	if json.Unmarshal(doc, &tree) == nil {
		if p, found := misfit("", tree, reflect.TypeOf(into)); found {
			return errors.New(p.String())
		}
	}
	return err
}

// Unread returns as a problem what kept encoding/json from reading the
// document; false for errors that stem from elsewhere, such as a quantity's
// own.
func Unread(doc []byte, err error) (Problem, bool) {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return Problem{
			Place: placeAt(doc, kind.Offset), Path: keys(kind.Field),
			Got: strings.TrimPrefix(kind.Value, "number "), Want: takes(kind.Type),
		}, true
	case errors.As(err, &syntax):
		return Problem{Place: placeAt(doc, syntax.Offset), Got: syntax.Error(), Want: "a JSON document"}, true
	}
	return Problem{}, false
}

// placeAt returns the place of what ends at an offset.
func placeAt(doc []byte, offset int64) Place {
	before := doc[:min(max(offset, 0), int64(len(doc)))]
	return Place{1 + bytes.Count(before, []byte("\n")), max(1, len(before)-1-bytes.LastIndexByte(before, '\n'))}
}

// keys leaves out of the path of a field the structs embedded on the way,
// which a document knows nothing of: "Link.seed" is "seed".
func keys(field string) string {
	parts := strings.Split(field, ".")
	kept := parts[:0]
	for _, p := range parts {
		if p != "" && !(p[0] >= 'A' && p[0] <= 'Z') {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ".")
}

// takes names what a field of type t takes.
func takes(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Uint, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d, in plain digits", uint64(math.MaxUint64))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return fmt.Sprintf("a whole number from 0 to %d, in plain digits", uint64(1)<<t.Bits()-1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := int64(1)<<(t.Bits()-1) - 1
		return fmt.Sprintf("a whole number from %d to %d, in plain digits", -most-1, most)
	case reflect.Float32, reflect.Float64:
		return "a number that 64 bits can hold"
	case reflect.String:
		return "text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}
