package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/trace/lines"
)

// atcProfile is a profile of Augmented Traffic Control: rates in kbit/s,
// delays in ms, shares in percent. It stands alone or, with its name, in
// content.
type atcProfile struct {
	Down, Up *atcShaping
	Content  *atcProfile
}

type atcShaping struct {
	Rate                *float64
	Delay               struct{ Delay, Jitter, Correlation float64 }
	Loss                struct{ Percentage, Correlation float64 }
	Corruption, Reorder struct {
		Percentage, Correlation, Gap float64
	}
}

// atcMost is how large a file may be: profiles have some hundred bytes.
const atcMost = 1 << 20

// ATC reads a profile of Augmented Traffic Control (JSON) as a course of one
// step. Jitter, correlation, corruption and reordering are not followed.
func ATC(f lines.File) (*Course, error) {
	text, err := io.ReadAll(io.LimitReader(f, atcMost+1))
	if err != nil {
		return nil, &lines.Error{File: f.Name, Text: err.Error()}
	}
	if len(text) > atcMost {
		return nil, placed(f.Name, text, atcMost, fmt.Sprintf("more than %d bytes, want a profile", atcMost))
	}
	var p atcProfile
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, jsonFault(f.Name, text, err)
	}
	if p.Content != nil {
		p = *p.Content
	}
	if p.Down == nil || p.Up == nil {
		return nil, placed(f.Name, text, 0, `no "down" and "up", want the shaping of both`)
	}
	c := newCourse("")
	for i, s := range [2]*atcShaping{p.Down, p.Up} {
		w := link.Ways[i]
		if err := s.check(f.Name, text, w); err != nil {
			return nil, err
		}
		c.Of(w).Trace.Steps = []course.Step{s.step()}
	}
	if p.Down.more() || p.Up.more() {
		c.Notes = append(c.Notes, f.Name+": jitter, correlation, corruption and reordering are not followed")
	}
	return c, nil
}

func (s *atcShaping) check(file string, text []byte, w link.Way) error {
	rate := 0.0
	if s.Rate != nil {
		rate = *s.Rate
	}
	for _, v := range []struct {
		name        string
		value, most float64
	}{
		{"rate", rate, lines.MaxRate / 1e3}, {"delay.delay", s.Delay.Delay, lines.MaxDelay * 1e3}, {"loss.percentage", s.Loss.Percentage, 100},
	} {
		if !(v.value >= 0 && v.value <= v.most) {
			return placed(file, text, valueAt(text, append([]string{w.String()}, strings.Split(v.name, ".")...)),
				fmt.Sprintf("%s.%s %g: want a number from 0 to %g", w, v.name, v.value, v.most))
		}
	}
	return nil
}

func (s *atcShaping) step() course.Step {
	one := course.Step{
		Delay: of(link.Duration(math.Round(s.Delay.Delay * 1e6))),
		Loss:  of(s.Loss.Percentage / 100),
	}
	if s.Rate != nil && *s.Rate > 0 { // 0 and nothing are no limit
		one.Rate = of(link.Rate(math.Round(*s.Rate * 1e3)))
	}
	return one
}

// more reports whether there is what no stage follows.
func (s *atcShaping) more() bool {
	return s.Delay.Jitter != 0 || s.Delay.Correlation != 0 || s.Loss.Correlation != 0 || s.Corruption.Percentage != 0 || s.Reorder.Percentage != 0
}

// jsonFault says where a JSON document is wrong.
func jsonFault(file string, text []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(0)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	default:
		return placed(file, text, 0, err.Error())
	}
	said := err.Error()
	if kind != nil {
		said = fmt.Sprintf("%s: got %s, want %s", strings.ToLower(kind.Field), strings.TrimPrefix(kind.Value, "number "), wanted(kind))
	}
	return placed(file, text, int(offset)-1, said)
}

// placed returns an Error at an offset of a text.
func placed(file string, text []byte, offset int, said string) error {
	before := text[:min(max(offset, 0), len(text))]
	return &lines.Error{File: file, Line: bytes.Count(before, []byte("\n")) + 1, Column: len(before) - bytes.LastIndexByte(before, '\n'), Text: said}
}

// valueAt returns where the value at a path of keys begins in a JSON document,
// in "content" too; 0 if it is not there.
func valueAt(text []byte, path []string) int {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return 0
	}
	for len(path) > 0 && d.More() {
		key, err := d.Token()
		if err != nil {
			return 0
		}
		name, _ := key.(string)
		if own := strings.EqualFold(name, path[0]); own || strings.EqualFold(name, "content") {
			if own {
				path = path[1:]
			}
			if len(path) > 0 {
				d.Token() // of the table, which was read before
			}
			continue
		}
		var other json.RawMessage
		if d.Decode(&other) != nil {
			return 0
		}
	}
	if len(path) > 0 {
		return 0
	}
	at := int(d.InputOffset())
	return at + len(text[at:]) - len(bytes.TrimLeft(text[at:], ": \t\r\n"))
}

// wanted names what a field of a profile takes.
func wanted(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind() {
	case reflect.Struct, reflect.Pointer:
		return "an object"
	case reflect.String:
		return "text in quotes"
	}
	return "a number"
}
