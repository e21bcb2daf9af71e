// Package linestest is for tests of those who read text line by line.
package linestest

import (
	"errors"
	"strings"
	"testing"

	"farlink/emulator/trace/lines"
)

// File is a file x with a text.
func File(text string) lines.File { return lines.File{Name: "x", Reader: strings.NewReader(text)} }

// Refused checks that an error is one of a place in a text, and says what is
// wanted.
func Refused(t *testing.T, name string, err error, want string) {
	t.Helper()
	var e *lines.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}
