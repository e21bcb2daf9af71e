// Package trace reads and writes the files in which others keep the course of
// a link: Mahimahi, CellReplay, TheaterQ, ERRANT, OpenSAND, Augmented Traffic
// Control, a table of this project, and captures. What is read becomes the
// configurations of stages that follow a trace.
//
//	file ──▶ reader ──▶ Course{Down, Up} ──▶ stage.TraceConfig     steps in time
//	                                    ├──▶ opportunity.DeliveryConfig  opportunities
//	                                    └──▶ opportunity.TrainConfig     light and heavy load
//	run ──▶ Record ──▶ file ──▶ Replay: the same fates again, bit for bit
//
// Readers hold at most Most lines of 64 KiB and MostSteps steps, and say of every fault
// the file, line and column.
//
// Units are those of link: integer ns, bit/s, bytes of Ethernet frame without
// FCS; those of files are said at each reader.
package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"farlink/emulator/link"
	"farlink/emulator/opportunity"
	"farlink/emulator/stage"
)

// Most is how many lines or opportunities a file may have; MostSteps is how
// many steps a course may have.
const (
	Most      = 8 << 20
	MostSteps = 1 << 20
)

// longestLine is how long a line may be.
const longestLine = 64 << 10

// Course is what a file says of a link.
type Course struct {
	Down, Up Way
	// Notes are what the file says and no stage can follow.
	Notes []string
}

// Of returns way w.
func (c *Course) Of(w link.Way) *Way {
	if w == link.Down {
		return &c.Down
	}
	return &c.Up
}

// Way is what a file says of one way; at most one of its parts is set.
type Way struct {
	Trace    *stage.TraceConfig          // rate, delay, loss in steps
	Delivery *opportunity.DeliveryConfig // opportunities to send
	Train    *opportunity.TrainConfig    // light and heavy load apart
	Limit    stage.Limit                 // of the queue, where the file has one for all its length
}

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

// lines reads a file line by line.
type lines struct {
	file    string
	scanner *bufio.Scanner
	number  int
	most    int // lines; MostSteps unless set
	text    string
	err     error
}

func newLines(f File) *lines {
	s := bufio.NewScanner(f)
	s.Buffer(make([]byte, 0, 4096), longestLine)
	return &lines{file: f.Name, scanner: s, most: MostSteps}
}

// next goes to the next line; false at the end, or at a fault, which is then
// in err.
func (l *lines) next() bool {
	if l.err != nil {
		return false
	}
	if !l.scanner.Scan() {
		if l.scanner.Err() != nil {
			l.number++
		}
		switch err := l.scanner.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			l.err = l.fault(0, "line of more than %d bytes", longestLine)
		case err != nil:
			l.err = l.fault(0, "%v", err)
		}
		return false
	}
	if l.number++; l.number > l.most {
		l.err = l.fault(0, "more than %d lines", l.most)
		return false
	}
	l.text = strings.TrimSuffix(l.scanner.Text(), "\r")
	if l.number == 1 {
		l.text = strings.TrimPrefix(l.text, "\uFEFF") // byte order mark
	}
	return true
}

// fault returns an Error at a column of the present line; 0 is its beginning.
func (l *lines) fault(column int, format string, args ...any) error {
	return &Error{File: l.file, Line: max(l.number, 1), Column: max(column, 1), Text: fmt.Sprintf(format, args...)}
}

// whole returns an Error of the file as a whole: of text at its end, where
// what is missing was to come.
func (l *lines) whole(format string, args ...any) error {
	if l.scanner != nil {
		return l.fault(len(l.text)+1, format, args...)
	}
	return &Error{File: l.file, Text: fmt.Sprintf(format, args...)}
}

// field is a part of a line, and the column where it begins, in bytes from 1.
type field struct {
	text   string
	column int
}

// split cuts the present line at each separator; blanks around a field, and
// quotes around all of it, are not part of it.
func (l *lines) split(separator byte) []field {
	var out []field
	for start := 0; start <= len(l.text); {
		end := strings.IndexByte(l.text[start:], separator)
		if end < 0 {
			end = len(l.text) - start
		}
		raw := l.text[start : start+end]
		text := strings.TrimLeft(raw, " \t")
		column := start + len(raw) - len(text) + 1
		text = strings.TrimRight(text, " \t")
		if n := len(text); n >= 2 && text[0] == '"' && text[n-1] == '"' {
			text, column = text[1:n-1], column+1
		}
		out = append(out, field{text, column})
		start += end + 1
	}
	return out
}

// words cuts the present line at blanks.
func (l *lines) words() []field {
	var out []field
	for _, f := range l.split(' ') {
		if f.text != "" {
			out = append(out, f)
		}
	}
	return out
}

// skippable reports whether the present line is empty or a comment.
func (l *lines) skippable() bool {
	t := strings.TrimSpace(l.text)
	return t == "" || t[0] == '#'
}

// count reads a field as a whole number from 0 to most.
func (l *lines) count(f field, what string, most int64) (int64, error) {
	n, err := strconv.ParseInt(f.text, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, l.fault(f.column, "%s %q: want a whole number from 0 to %d", what, f.text, most)
	}
	return n, nil
}

// decimal reads a field as a decimal number from 0 to most.
func (l *lines) decimal(f field, what string, most float64) (float64, error) {
	x, err := strconv.ParseFloat(f.text, 64)
	if err != nil || !(x >= 0 && x <= most) {
		return 0, l.fault(f.column, "%s %q: want a number from 0 to %g", what, f.text, most)
	}
	return x, nil
}

// Greatest values of files.
const (
	maxSeconds = 366 * 24 * 3600 // a year
	maxRate    = 400e9           // bit/s
	maxDelay   = 3600            // s
)

// seconds reads a field in units of so many to the second as a duration.
func (l *lines) seconds(f field, what string, perSecond, most float64) (link.Duration, error) {
	x, err := l.decimal(f, what, most*perSecond)
	return link.Duration(math.Round(x * 1e9 / perSecond)), err
}

// rate reads a field in units of so many bit/s.
func (l *lines) rate(f field, what string, unit float64) (link.Rate, error) {
	x, err := l.decimal(f, what, maxRate/unit)
	return link.Rate(math.Round(x * unit)), err
}

// step adds a step to a course; what holds at the same instant as the step
// before replaces it.
func step(t *stage.TraceConfig, s stage.StepConfig) {
	if n := len(t.Steps); n > 0 && t.Steps[n-1].At == s.At {
		t.Steps[n-1] = s
		return
	}
	t.Steps = append(t.Steps, s)
}

// serve sets the rate of a step: none at all is an outage.
func serve(s *stage.StepConfig, r link.Rate) {
	if r == 0 {
		s.Outage = true
		return
	}
	s.Rate = &r
}

// of returns a pointer to a copy.
func of[T any](v T) *T { return &v }
