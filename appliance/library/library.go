// Package library is the profiles of a box: those that are shipped with the
// program, and the user's own, one TOML file each, by name.
package library

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"farlink/appliance"
	"farlink/profiles"
)

// Library is the profiles of a box.
type Library struct {
	dir  string // of the user's own
	keep Keep
}

// Keep writes a file whole or not at all.
type Keep func(path string, content []byte) error

// New returns the library whose own profiles are in the directory.
func New(dir string, keep Keep) Library { return Library{dir, keep} }

// profileName is what a profile may be called: words of small letters,
// figures, dots and dashes, with slashes between.
var profileName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(/[a-z0-9][a-z0-9.-]*){0,3}$`)

const profileNameMost = 80

func (s Library) path(name string) string {
	return filepath.Join(s.dir, filepath.FromSlash(name)+".toml")
}

// names lists the profiles of the user, sorted.
func (s Library) names() (names []string, err error) {
	err = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		name, ok := strings.CutSuffix(filepath.ToSlash(strings.TrimPrefix(path, s.dir+string(filepath.Separator))), ".toml")
		if err == nil && !d.IsDir() && ok && profileName.MatchString(name) {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// read returns the document of a profile of the user.
func (s Library) read(name string) ([]byte, error) {
	if !profileName.MatchString(name) {
		return nil, appliance.NoProfile{Name: name}
	}
	doc, err := os.ReadFile(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, appliance.NoProfile{Name: name}
	}
	return doc, err
}

// write stores a document whole or not at all.
func (s Library) write(name string, doc []byte) error {
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("store profile: %w", err)
	}
	if err := s.keep(path, doc); err != nil {
		return fmt.Errorf("store profile: %w", err)
	}
	return nil
}

// Lookup finds a profile, shipped or of the user, by name, and its document.
func (s Library) Lookup(name string) (*profiles.Profile, []byte, error) {
	if d, err := profiles.Lookup(name); err == nil {
		return d.Profile, d.Text, nil
	}
	doc, err := s.read(name)
	if err != nil {
		return nil, nil, err
	}
	p, problems := profiles.Parse(doc)
	if p == nil {
		return nil, doc, errorsOf(problems)
	}
	p.Name = name
	return p, doc, nil
}

// Find is Lookup for who needs no document.
func (s Library) Find(name string) (*profiles.Profile, error) {
	p, _, err := s.Lookup(name)
	return p, err
}

// errorsOf drops warnings.
func errorsOf(problems []appliance.Problem) (bad appliance.Problems) {
	for _, p := range problems {
		if p.Level == profiles.Error {
			bad = append(bad, p)
		}
	}
	return bad
}

// Put checks a document, TOML or JSON, and stores it as the profile
// called name. Every problem is in the error. A pair that runs an older
// document of that name goes on with it until a want is applied again.
func (s Library) Put(name string, doc []byte, isJSON bool, o appliance.Options) (appliance.ProfileInfo, error) {
	if !profileName.MatchString(name) || len(name) > profileNameMost {
		return appliance.ProfileInfo{}, appliance.Problems{{Path: "name", Got: fmt.Sprintf("%q", name), Want: `a name such as "mine/harbour"`}}
	}
	if _, err := profiles.Lookup(name); err == nil {
		return appliance.ProfileInfo{}, appliance.Shipped{Name: name}
	}
	parse := profiles.Parse
	if isJSON {
		parse = profiles.ParseJSON
	}
	p, problems := parse(doc)
	bad := errorsOf(problems)
	if p != nil && p.Name != "" && p.Name != name {
		bad = append(bad, appliance.Problem{Path: "name", Got: fmt.Sprintf("%q", p.Name), Want: fmt.Sprintf("%q, as it is stored, or no name", name)})
	}
	if len(bad) > 0 {
		return appliance.ProfileInfo{}, bad
	}
	p.Name = name
	if isJSON {
		doc = p.Canonical()
	}
	info := inform(p)
	info.Shipped = false
	if o.DryRun {
		return info, nil
	}
	return info, s.write(name, doc)
}

// Delete removes a profile of the user. used says which pair refers to it, ""
// if none does: one that is in use stays.
func (s Library) Delete(name string, used func(name string) string, o appliance.Options) error {
	if _, err := profiles.Lookup(name); err == nil {
		return appliance.Shipped{Name: name}
	}
	if _, err := s.read(name); err != nil {
		return err
	}
	if pair := used(name); pair != "" {
		return appliance.InUse{Name: name, Pair: pair}
	}
	if o.DryRun {
		return nil
	}
	if err := os.Remove(s.path(name)); err != nil {
		return fmt.Errorf("remove profile: %w", err)
	}
	return nil
}
