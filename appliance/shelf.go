package appliance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"farlink/profiles"
)

// shelf keeps the profiles of the user: one TOML file each, under profiles/
// in the state directory, by name.
type shelf struct{ dir string }

// profileName is what a profile may be called: words of small letters,
// figures, dots and dashes, with slashes between.
var profileName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(/[a-z0-9][a-z0-9.-]*){0,3}$`)

const profileNameMost = 80

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

func (s shelf) path(name string) string {
	return filepath.Join(s.dir, filepath.FromSlash(name)+".toml")
}

// names lists the profiles of the user, sorted.
func (s shelf) names() (names []string, err error) {
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
func (s shelf) read(name string) ([]byte, error) {
	if !profileName.MatchString(name) {
		return nil, NoProfile{name}
	}
	doc, err := os.ReadFile(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, NoProfile{name}
	}
	return doc, err
}

// write stores a document whole or not at all.
func (s shelf) write(name string, doc []byte) error {
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("store profile: %w", err)
	}
	if err := (&Store{filepath.Dir(path)}).write(path, doc, 0o644); err != nil {
		return fmt.Errorf("store profile: %w", err)
	}
	return nil
}

// lookup finds a profile, shipped or of the user, by name.
func (b *Box) lookup(name string) (*profiles.Profile, []byte, error) {
	if d, err := profiles.Lookup(name); err == nil {
		return d.Profile, d.Text, nil
	}
	doc, err := b.shelf().read(name)
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

func (b *Box) shelf() shelf { return shelf{b.store.Path("profiles")} }

// errorsOf drops warnings.
func errorsOf(problems []Problem) (bad Problems) {
	for _, p := range problems {
		if p.Level == profiles.Error {
			bad = append(bad, p)
		}
	}
	return bad
}

// PutProfile checks a document, TOML or JSON, and stores it as the profile
// called name. Every problem is in the error. A pair that runs an older
// document of that name goes on with it until a want is applied again.
func (b *Box) PutProfile(name string, doc []byte, isJSON bool, o Options) (ProfileInfo, error) {
	if !profileName.MatchString(name) || len(name) > profileNameMost {
		return ProfileInfo{}, Problems{{Path: "name", Got: fmt.Sprintf("%q", name), Want: `a name such as "mine/harbour"`}}
	}
	if _, err := profiles.Lookup(name); err == nil {
		return ProfileInfo{}, Shipped{name}
	}
	parse := profiles.Parse
	if isJSON {
		parse = profiles.ParseJSON
	}
	p, problems := parse(doc)
	bad := errorsOf(problems)
	if p != nil && p.Name != "" && p.Name != name {
		bad = append(bad, Problem{Path: "name", Got: fmt.Sprintf("%q", p.Name), Want: fmt.Sprintf("%q, as it is stored, or no name", name)})
	}
	if len(bad) > 0 {
		return ProfileInfo{}, bad
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
	return info, b.shelf().write(name, doc)
}

// DeleteProfile removes a profile of the user that no pair refers to.
func (b *Box) DeleteProfile(name string, o Options) error {
	if _, err := profiles.Lookup(name); err == nil {
		return Shipped{name}
	}
	if _, err := b.shelf().read(name); err != nil {
		return err
	}
	for _, p := range b.State().Pairs {
		for _, link := range p.Want.Names() {
			if l, _ := p.Want.Named(link); l.Profile == name {
				return InUse{name, p.Name}
			}
		}
	}
	if o.DryRun {
		return nil
	}
	if err := os.Remove(b.shelf().path(name)); err != nil {
		return fmt.Errorf("remove profile: %w", err)
	}
	return nil
}
