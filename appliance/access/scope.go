package access

import "fmt"

// Scope is how much a caller may do; each scope includes the ones before it.
type Scope uint8

// The scopes.
const (
	None  Scope = iota // nothing but health
	Read               // look at everything but tokens
	Drive              // change the link, profiles, runs; take the lease
	Admin              // tokens, a lease by force, the box's own settings
)

var scopeNames = [...]string{"none", "read", "drive", "admin"}

// Scopes lists the names of the scopes that a token can have.
var Scopes = scopeNames[1:]

func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return fmt.Sprintf("scope(%d)", uint8(s))
}

// ParseScope reads "none", "read", "drive" or "admin".
func ParseScope(text string) (Scope, error) {
	for i, name := range scopeNames {
		if text == name {
			return Scope(i), nil
		}
	}
	return None, fmt.Errorf("scope %q: want none, read, drive or admin", text)
}

// MarshalText and UnmarshalText make scopes text in documents.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Scope) UnmarshalText(text []byte) (err error) {
	*s, err = ParseScope(string(text))
	return err
}

// Caller is who makes a request.
type Caller struct {
	Name  string // of the token or user; "" for a caller without credentials
	Scope Scope
	From  string // address the request comes from
}

// May reports whether the caller's scope reaches need.
func (c Caller) May(need Scope) bool { return c.Scope >= need }
