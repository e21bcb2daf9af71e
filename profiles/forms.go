package profiles

import (
	"crypto/sha256"
	"encoding/hex"

	"farlink/profiles/document"
)

// Problem, and what goes with it, is of every document.
type (
	// Problem is one thing that is wrong with a document.
	Problem = document.Problem
	// Level says how bad a problem is.
	Level = document.Level
)

// The levels.
const (
	Error   = document.Error
	Warning = document.Warning
)

// Fatal reports whether any of the problems is an error.
func Fatal(problems []Problem) bool { return document.Fatal(problems) }

// ReadJSON reads any JSON document of structs with toml tags, in the manner
// of profiles.
func ReadJSON(doc []byte, into any) []Problem { return document.ReadJSON(doc, into) }

// WriteJSON writes a struct with toml tags, as ReadJSON reads it.
func WriteJSON(from any) []byte { return document.JSON(from) }

// Canonical returns the profile as TOML in its one canonical form: keys in
// the order of docs/reference.toml, quantities in their largest exact unit,
// values at their default left out. Parse reads it back as the same profile.
func (p *Profile) Canonical() []byte { return document.TOML(*p) }

// JSON returns the same document, with the same names, as JSON.
func (p *Profile) JSON() []byte { return document.JSON(*p) }

// MarshalJSON makes a profile stand in a larger document as JSON does.
func (p *Profile) MarshalJSON() ([]byte, error) { return p.JSON(), nil }

// Hash returns the SHA-256 of the canonical form, in hex. The first seven
// digits name the profile in the panel, metrics, captures and reports.
func (p *Profile) Hash() string {
	sum := sha256.Sum256(p.Canonical())
	return hex.EncodeToString(sum[:])
}

// ShortHash returns the seven hex digits by which people know the profile.
func (p *Profile) ShortHash() string { return p.Hash()[:7] }

// String names the profile with its hash: "geo/qirse-sat@1a2b3c4".
func (p *Profile) String() string { return p.Name + "@" + p.ShortHash() }
