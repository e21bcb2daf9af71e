package appliance

import (
	"errors"
	"fmt"
	"strings"

	"farlink/profiles"
)

// Problem is one thing wrong with a document: where it stands, what stands
// there, what was wanted.
type Problem = profiles.Problem

// Problems is everything wrong with a document, as an error.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "; ")
}

// Unplaced returns the problems without line and column, for those of a
// document that nobody wrote: a patch laid over what was.
func (p Problems) Unplaced() Problems {
	for i := range p {
		p[i].Line, p[i].Column = 0, 0
	}
	return p
}

// Stale is the error of an If-Match that is not the version in force.
type Stale struct{ Got, Now string }

func (s Stale) Error() string {
	return fmt.Sprintf("want has version %s, not %s: read it again and decide anew", s.Now, s.Got)
}

// NoPair is the error of a pair that the box does not have.
type NoPair struct {
	Name string
	Have []string
}

func (n NoPair) Error() string {
	if n.Name == "" {
		return "box has several pairs, name one of " + strings.Join(n.Have, ", ")
	}
	return fmt.Sprintf("no pair %q, box has %s", n.Name, strings.Join(n.Have, ", "))
}

// ErrBusy is returned when a link event is asked for while one goes on.
var ErrBusy = errors.New("a link event is going on; wait for its end or reset")

// NotReady is the error of a pair that cannot do what is asked now.
type NotReady struct{ Pair, Why string }

func (n NotReady) Error() string { return fmt.Sprintf("pair %s: %s", n.Pair, n.Why) }

// Shipped is the error of changing a profile that is part of the program.
type Shipped struct{ Name string }

func (s Shipped) Error() string {
	return fmt.Sprintf("profile %s is shipped and read-only; store yours under another name", s.Name)
}

// NoProfile is the error of a profile that the box does not have.
type NoProfile struct{ Name string }

func (n NoProfile) Error() string { return fmt.Sprintf("no profile is called %q", n.Name) }

// InUse is the error of removing a profile that a pair refers to.
type InUse struct{ Name, Pair string }

func (i InUse) Error() string {
	return fmt.Sprintf("profile %s is in use on pair %s; apply another first", i.Name, i.Pair)
}
