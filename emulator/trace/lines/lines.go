// Package lines reads text line by line, field by field, for readers of
// files: each fault says the file, the line and the column. It holds at most so
// many lines of 64 KiB.
//
// Units are those of link: integer ns, bit/s; those of files are the caller's.
package lines

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"farlink/emulator/link"
)

// Most is how many lines or opportunities a file may have; MostSteps is how
// many steps a course may have.
const (
	Most      = 8 << 20
	MostSteps = 1 << 20
)

// Longest is how long a line may be.
const Longest = 64 << 10

// File is text with the name by which errors call it.
type File struct {
	Name string
	io.Reader
}

// Error is a fault of a file.
type Error struct {
	File         string
	Line, Column int // from 1; 0 in files that are no text, whose Text says at which byte or packet
	Text         string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Reader reads a file line by line; one with a name alone says the faults of
// files that are no text.
type Reader struct {
	Name    string // of the file
	scanner *bufio.Scanner
	Number  int    // of the present line, from 1
	Most    int    // lines; MostSteps unless set
	Text    string // the present line
	Err     error  // what ended the reading, but for the end
}

// New returns a reader of f.
func New(f File) *Reader {
	s := bufio.NewScanner(f)
	s.Buffer(make([]byte, 0, 4096), Longest)
	return &Reader{Name: f.Name, scanner: s, Most: MostSteps}
}

// Next goes to the next line; false at the end, or at a fault, which is then
// in Err.
func (l *Reader) Next() bool {
	if l.Err != nil {
		return false
	}
	if !l.scanner.Scan() {
		if l.scanner.Err() != nil {
			l.Number++
		}
		switch err := l.scanner.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			l.Err = l.Fault(0, "line of more than %d bytes", Longest)
		case err != nil:
			l.Err = l.Fault(0, "%v", err)
		}
		return false
	}
	if l.Number++; l.Number > l.Most {
		l.Err = l.Fault(0, "more than %d lines", l.Most)
		return false
	}
	l.Text = strings.TrimSuffix(l.scanner.Text(), "\r")
	if l.Number == 1 {
		l.Text = strings.TrimPrefix(l.Text, "\uFEFF") // byte order mark
	}
	return true
}

// Fault returns an Error at a column of the present line; 0 is its beginning.
func (l *Reader) Fault(column int, format string, args ...any) error {
	return &Error{File: l.Name, Line: max(l.Number, 1), Column: max(column, 1), Text: fmt.Sprintf(format, args...)}
}

// Whole returns an Error of the file as a whole: of text at its end, where
// what is missing was to come.
func (l *Reader) Whole(format string, args ...any) error {
	if l.scanner != nil {
		return l.Fault(len(l.Text)+1, format, args...)
	}
	return &Error{File: l.Name, Text: fmt.Sprintf(format, args...)}
}

// Field is a part of a line, and the column where it begins, in bytes from 1.
type Field struct {
	Text   string
	Column int
}

// Split cuts the present line at each separator; blanks around a Field, and
// quotes around all of it, are not part of it.
func (l *Reader) Split(separator byte) []Field {
	var out []Field
	for start := 0; start <= len(l.Text); {
		end := strings.IndexByte(l.Text[start:], separator)
		if end < 0 {
			end = len(l.Text) - start
		}
		raw := l.Text[start : start+end]
		text := strings.TrimLeft(raw, " \t")
		column := start + len(raw) - len(text) + 1
		text = strings.TrimRight(text, " \t")
		if n := len(text); n >= 2 && text[0] == '"' && text[n-1] == '"' {
			text, column = text[1:n-1], column+1
		}
		out = append(out, Field{text, column})
		start += end + 1
	}
	return out
}

// Words cuts the present line at blanks.
func (l *Reader) Words() []Field {
	var out []Field
	for _, f := range l.Split(' ') {
		if f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

// Skippable reports whether the present line is empty or a comment.
func (l *Reader) Skippable() bool {
	t := strings.TrimSpace(l.Text)
	return t == "" || t[0] == '#'
}

// Count reads a field as a whole number from 0 to most.
func (l *Reader) Count(f Field, what string, most int64) (int64, error) {
	n, err := strconv.ParseInt(f.Text, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, l.Fault(f.Column, "%s %q: want a whole number from 0 to %d", what, f.Text, most)
	}
	return n, nil
}

// Decimal reads a field as a decimal number from 0 to most.
func (l *Reader) Decimal(f Field, what string, most float64) (float64, error) {
	x, err := strconv.ParseFloat(f.Text, 64)
	if err != nil || !(x >= 0 && x <= most) {
		return 0, l.Fault(f.Column, "%s %q: want a number from 0 to %g", what, f.Text, most)
	}
	return x, nil
}

// Greatest values of files.
const (
	MaxSeconds = 366 * 24 * 3600 // a year
	MaxRate    = 400e9           // bit/s
	MaxDelay   = 3600            // s
)

// Seconds reads a field in units of so many to the second as a duration.
func (l *Reader) Seconds(f Field, what string, perSecond, most float64) (link.Duration, error) {
	x, err := l.Decimal(f, what, most*perSecond)
	return link.Duration(math.Round(x * 1e9 / perSecond)), err
}

// Rate reads a field in units of so many bit/s.
func (l *Reader) Rate(f Field, what string, unit float64) (link.Rate, error) {
	x, err := l.Decimal(f, what, MaxRate/unit)
	return link.Rate(math.Round(x * unit)), err
}
