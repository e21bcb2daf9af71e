package library

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"farlink/appliance"
)

const document = "about = \"a harbour\"\n"

// plain writes a file; the box does it whole or not at all.
func plain(path string, content []byte) error { return os.WriteFile(path, content, 0o644) }

func unused(string) string { return "" }

// files lists what is in the directory.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestShippedReadOnly(t *testing.T) {
	dir := t.TempDir()
	s := New(dir, plain)
	var shipped appliance.Shipped
	if _, err := s.Put("clear", []byte(document), false, appliance.Options{}); !errors.As(err, &shipped) {
		t.Errorf("stored over a shipped one: %v", err)
	}
	if err := s.Delete("clear", unused, appliance.Options{}); !errors.As(err, &shipped) {
		t.Errorf("removed a shipped one: %v", err)
	}
	if p, err := s.Find("clear"); err != nil || p.Name != "clear" || len(files(t, dir)) != 0 {
		t.Errorf("%v, %v, %v", p, err, files(t, dir))
	}
}

// An own profile is written, listed, read as it was written, kept while it is
// used, and removed; a dry run does none of it.
func TestOwn(t *testing.T) {
	dir := t.TempDir()
	s := New(dir, plain)
	const name = "mine/harbour"
	if _, err := s.Put(name, []byte(document), false, appliance.Options{DryRun: true}); err != nil || len(files(t, dir)) != 0 {
		t.Fatalf("dry run: %v, %v", err, files(t, dir))
	}
	info, err := s.Put(name, []byte(document), false, appliance.Options{})
	if err != nil || info.Name != name || info.Shipped || len(files(t, dir)) != 1 || files(t, dir)[0] != name+".toml" {
		t.Fatalf("%+v, %v, %v", info, err, files(t, dir))
	}
	if p, text, err := s.Lookup(name); err != nil || p.Name != name || string(text) != document || p.ShortHash() != info.Hash {
		t.Errorf("%v, %q, %v", p, text, err)
	}
	shipped, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(); err != nil || len(list) != len(shipped)+1 {
		t.Errorf("%d of %d + 1, %v", len(list), len(shipped), err)
	}
	var used appliance.InUse
	if err := s.Delete(name, func(string) string { return "main" }, appliance.Options{}); !errors.As(err, &used) || used.Pair != "main" {
		t.Errorf("removed while in use: %v", err)
	}
	if err := s.Delete(name, unused, appliance.Options{DryRun: true}); err != nil || len(files(t, dir)) != 1 {
		t.Errorf("dry run: %v, %v", err, files(t, dir))
	}
	if err := s.Delete(name, unused, appliance.Options{}); err != nil || len(files(t, dir)) != 0 {
		t.Errorf("%v, %v", err, files(t, dir))
	}
	var none appliance.NoProfile
	if _, err := s.Find(name); !errors.As(err, &none) {
		t.Errorf("found after its end: %v", err)
	}
}

// Names that are none, above all those that leave the directory, and documents
// that are none, leave nothing.
func TestRefused(t *testing.T) {
	top := t.TempDir()
	s := New(filepath.Join(top, "own"), plain)
	for _, name := range []string{"", "..", "../x", "a/../../x", "/etc/x", "a//b", "a/", ".x", "A", "a b", "a\\b", "a\x00b", "a/b/c/d/e", strings.Repeat("x", profileNameMost+1)} {
		var bad appliance.Problems
		if _, err := s.Put(name, []byte(document), false, appliance.Options{}); !errors.As(err, &bad) || bad[0].Path != "name" {
			t.Errorf("stored as %q: %v", name, err)
		}
		var none appliance.NoProfile
		if _, err := s.Find(name); !errors.As(err, &none) {
			t.Errorf("found %q: %v", name, err)
		}
		if err := s.Delete(name, unused, appliance.Options{}); !errors.As(err, &none) {
			t.Errorf("removed %q: %v", name, err)
		}
	}
	for _, text := range []string{"nonsense = 1\n", "name = \"other\"\n", "["} {
		if _, err := s.Put("mine", []byte(text), false, appliance.Options{}); !errors.As(err, new(appliance.Problems)) {
			t.Errorf("stored %q: %v", text, err)
		}
	}
	if left := files(t, top); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	full := New(filepath.Join(top, "own"), func(string, []byte) error { return os.ErrPermission })
	if _, err := full.Put("mine", []byte(document), false, appliance.Options{}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a file that was not kept: %v", err)
	}
}
