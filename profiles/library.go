package profiles

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"farlink/profiles/document"
)

//go:embed library
var library embed.FS

// Document is a shipped profile and its text.
type Document struct {
	*Profile
	Text []byte // its document, with comments
}

// Shipped returns the shipped profiles, by name.
func Shipped() ([]Document, error) {
	var all []Document
	err := fs.WalkDir(library, "library", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		s, err := load(path)
		all = append(all, s)
		return err
	})
	slices.SortFunc(all, func(a, b Document) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// Names returns the names of the shipped profiles, sorted.
func Names() []string {
	var names []string
	fs.WalkDir(library, "library", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(path, "library/"), ".toml"))
		}
		return nil
	})
	slices.Sort(names)
	return names
}

// Lookup returns the shipped profile called name.
func Lookup(name string) (Document, error) {
	path := "library/" + name + ".toml"
	if !fs.ValidPath(path) {
		return Document{}, fmt.Errorf("profile %q: want a name such as %q", name, "geo/qirse-sat")
	}
	if _, err := fs.Stat(library, path); err != nil {
		return Document{}, unknown(name)
	}
	return load(path)
}

func load(path string) (Document, error) {
	text, err := library.ReadFile(path)
	if err != nil {
		return Document{}, err
	}
	p, problems := Parse(text)
	if p == nil {
		return Document{}, fmt.Errorf("shipped profile: %v", problems[0].In(path))
	}
	return Document{p, text}, nil
}

// unknown says which name was probably meant.
func unknown(name string) error {
	best, distance := "", len(name)/2+1
	for _, n := range Names() {
		if d := document.Distance(name, n); d < distance {
			best, distance = n, d
		}
		// "qirse-sat" for "geo/qirse-sat"
		if strings.HasSuffix(n, "/"+name) {
			best, distance = n, 0
		}
	}
	if best == "" {
		return fmt.Errorf("unknown profile %q; `farlink profiles` and /api/v1/profiles list those that there are", name)
	}
	return fmt.Errorf("unknown profile %q; did you mean %q?", name, best)
}
