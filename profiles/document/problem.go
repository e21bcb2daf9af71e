package document

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"farlink/emulator/link"
)

// Level says how bad a problem is.
type Level uint8

const (
	// Error: the document cannot be used.
	Error Level = iota
	// Warning: it can, but is probably not what was meant.
	Warning
)

// String returns "error" or "warning".
func (l Level) String() string {
	if l == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText writes the level as text in JSON documents.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (l *Level) UnmarshalText(b []byte) error {
	for _, level := range []Level{Error, Warning} {
		if level.String() == string(b) {
			*l = level
			return nil
		}
	}
	return fmt.Errorf("level %q: want error or warning", b)
}

// Problem is one thing that is wrong with a document: where, what stands
// there, and what was wanted.
type Problem struct {
	File  string `json:"file,omitempty"` // set by who knows it: In
	Place        // where in it; zero when there is none
	Path  string `json:"path"` // "down.queue.limit", "timeline[2].at"
	Got   string `json:"got"`
	Want  string `json:"want"`
	Level Level  `json:"level"`
	Rule  string `json:"rule,omitempty"` // the lint rule that found it
}

// In returns the problem as one of the named file.
func (p Problem) In(file string) Problem {
	p.File = file
	return p
}

// String writes the problem as "file:line:column: path: got X, want Y"; a
// warning says so after the position.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		fmt.Fprintf(&b, "%s:", p.File)
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:", p.Line)
	}
	if p.Column > 0 {
		fmt.Fprintf(&b, "%d:", p.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if p.Level == Warning {
		b.WriteString("warning: ")
	}
	if p.Path != "" {
		fmt.Fprintf(&b, "%s: ", p.Path)
	}
	fmt.Fprintf(&b, "got %s, want %s", p.Got, p.Want)
	if p.Rule != "" {
		fmt.Fprintf(&b, " [%s]", p.Rule)
	}
	return b.String()
}

// Fatal reports whether any of the problems is an error.
func Fatal(problems []Problem) bool {
	for _, p := range problems {
		if p.Level == Error {
			return true
		}
	}
	return false
}

// Reader reads one document and collects its problems.
type Reader struct {
	Problems []Problem
	Places   map[string]Place // of keys and tables, by path
	// StandIn is a quantity for each kind that cannot be read (link.Rate,
	// link.Size, link.Duration); without one the value stays zero. Stood are
	// the paths of those.
	StandIn map[reflect.Type]int64
	Stood   map[string]bool
}

// Report adds an error at path.
func (r *Reader) Report(path, got, want string) {
	r.Add(Problem{Path: path, Got: got, Want: want})
}

// Add adds a problem; its place follows from its path.
func (r *Reader) Add(p Problem) {
	p.Place = placeOf(r.Places, p.Path)
	if p.Got == "" {
		p.Got = "nothing"
	}
	r.Problems = append(r.Problems, p)
}

// Sorted returns the problems in the order of their lines.
func (r *Reader) Sorted() []Problem {
	slices.SortStableFunc(r.Problems, func(a, b Problem) int { return a.Line - b.Line })
	return r.Problems
}

// Under returns a Report for the configuration at prefix.
func (r *Reader) Under(prefix string) link.Report {
	return func(path, got, want string) {
		r.Report(Join(prefix, bracketed.ReplaceAllString(path, "[$1]")), got, want)
	}
}

// bracketed finds places in lists that a model writes as "cut.0.for".
var bracketed = regexp.MustCompile(`\.(\d+)\b`)

// Within reports whether path is that of a table or of something in it.
func Within(path, table string) bool {
	rest, ok := strings.CutPrefix(path, table)
	return ok && (rest == "" || table == "" || rest[0] == '.' || rest[0] == '[')
}

// Parent returns the path of the table that a key stands in.
func Parent(path string) string { return path[:max(strings.LastIndexByte(path, '.'), 0)] }

// UnknownKey reports whether a problem is a key that nothing knows.
func UnknownKey(p Problem) bool { return strings.HasPrefix(p.Got, "unknown key") }

// Join appends a relative path to a prefix.
func Join(prefix, path string) string {
	switch {
	case prefix == "":
		return path
	case path == "" || path[0] == '[':
		return prefix + path
	}
	return prefix + "." + path
}

// placeOf returns the place of the key at path, or of the nearest table that
// encloses it.
func placeOf(places map[string]Place, path string) Place {
	for path != "" {
		if at, ok := places[path]; ok {
			return at
		}
		if at, ok := places[path+"[0]"]; ok { // a list of tables begins with its first
			return at
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	if len(places) > 0 {
		return Place{1, 1}
	}
	return Place{}
}
