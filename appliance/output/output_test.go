package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// What takes the place of a file has its permissions; a symbolic link stays
// one; what is no file is written into; a new file must not be there.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file, soft := filepath.Join(dir, "file"), filepath.Join(dir, "soft")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o640), os.Chmod(file, 0o640), os.Symlink(file, soft)); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string { b, _ := os.ReadFile(name); return string(b) }
	write := func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }
	if err := Write(nil, soft, write); err != nil {
		t.Fatal(err)
	}
	of, err := os.Lstat(file)
	if err != nil || of.Mode() != 0o640 || read(file) != "new" {
		t.Errorf("%v, %v, %q: want the new text with the old permissions", err, of.Mode(), read(file))
	}
	if link, err := os.Readlink(soft); err != nil || link != file {
		t.Errorf("the link is gone: %q, %v", link, err)
	}
	if err := Write(nil, os.DevNull, write); err != nil {
		t.Error(err)
	}
	if of, err := os.Lstat(os.DevNull); err != nil || of.Mode().IsRegular() {
		t.Fatalf("%s is a file now: %v, %v", os.DevNull, of, err)
	}
	if err := Create(file, func(io.Writer) error { return errors.New("called") }); !errors.Is(err, os.ErrExist) || read(file) != "new" {
		t.Errorf("a file that was there: %v", err)
	}
	if err := Create(filepath.Join(dir, "never"), func(io.Writer) error { return errors.New("no") }); err == nil {
		t.Error("a write that failed is none")
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) != 2 {
		t.Errorf("%v, %v: want two files", there, err)
	}
}
