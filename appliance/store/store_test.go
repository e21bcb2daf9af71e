package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestStoreReplacesWhole(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]int
	if found, err := s.Load("x.json", &got); found || err != nil {
		t.Errorf("nothing there: %v %v", found, err)
	}
	for i := range 3 {
		if err := s.Save("x.json", map[string]int{"i": i}); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := s.Load("x.json", &got); !found || err != nil || got["i"] != 2 {
		t.Errorf("%v %v %v", got, found, err)
	}
	if b, _ := os.ReadFile(s.Path("x.json")); string(b) != "{\n  \"i\": 2\n}\n" {
		t.Errorf("not for people: %q", b)
	}
	if left, _ := filepath.Glob(s.Path(".*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if err := s.SaveSecret("y", []byte("z")); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(s.Path("y")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("secret: %v %v", st, err)
	}
}

func TestStoreAfterKill(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// What a daemon that was killed between its writing and its renaming
	// leaves, beside the file as it was before.
	os.WriteFile(s.Path(".new-123"), []byte(`{"i": `), 0o600)
	if err := s.Save("x.json", 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(s.Path("")); len(entries) != 1 || entries[0].Name() != "x.json" {
		t.Errorf("%v", entries)
	}
	os.WriteFile(s.Path("bad.json"), []byte("{"), 0o600)
	if _, err := s.Load("bad.json", new(int)); err == nil || !strings.Contains(err.Error(), "bad.json: 1:1: got unexpected end of JSON input, want a JSON document; mend it or remove it") {
		t.Errorf("%v", err)
	}
}

func TestStoreLock(t *testing.T) {
	dir := t.TempDir()
	one, _ := Open(dir)
	two, _ := Open(dir)
	unlock, err := one.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Lock(); err == nil || !strings.Contains(err.Error(), "in use by another farlink") {
		t.Errorf("%v", err)
	}
	unlock()
	again, err := two.Lock()
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// A write that fails is remembered until one goes well.
func TestFaultIsRemembered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(dir)
	if s.Save("x.json", 1) == nil || s.Fault() == nil || s.Try() == nil {
		t.Error("a directory that is gone takes files")
	}
	os.Mkdir(dir, 0o755)
	if err := s.Try(); err != nil || s.Fault() != nil {
		t.Errorf("%v, %v", err, s.Fault())
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	if !Full(fmt.Errorf("x: %w", unix.ENOSPC)) || Full(os.ErrNotExist) {
		t.Error("what is full")
	}
}
