package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestVendor compares the vendored files with their record.
func TestVendor(t *testing.T) {
	doc, err := os.ReadFile("vendor/README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| [^|]+ \\| [^|]+ \\| `([0-9a-f]{64})` \\|$").FindAllStringSubmatch(string(doc), -1)
	recorded := map[string]string{}
	for _, r := range rows {
		recorded[r[1]] = r[2]
	}
	files, err := fs.ReadDir(Files, "vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := fs.ReadFile(Files, "vendor/"+f.Name())
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:]); got != recorded[f.Name()] {
			t.Errorf("vendor/%s has hash %s, its record says %q; run make vendor", f.Name(), got, recorded[f.Name()])
		}
		delete(recorded, f.Name())
	}
	for name := range recorded {
		t.Errorf("vendor/README.md speaks of %s, which is not there", name)
	}
}

// TestNothingFromOutside: the panel loads nothing but its own files.
func TestNothingFromOutside(t *testing.T) {
	outside := regexp.MustCompile(`(?:src|href|url|from|import)\s*[=(]?\s*["'(](https?:)?//`)
	inline := regexp.MustCompile(`<script(?:>|[^>]*[^c]>)[^<]|\son[a-z]+="|\bstyle="`)
	err := fs.WalkDir(Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(Files, name)
		if m := outside.Find(b); m != nil {
			t.Errorf("%s loads %s", name, m)
		}
		if m := inline.Find(b); m != nil && strings.HasSuffix(name, ".html") {
			t.Errorf("%s has %s inline, which the content security policy forbids", name, m)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWords: every text that the panel asks for is there, and in Korean too.
func TestWords(t *testing.T) {
	words, err := fs.ReadFile(Files, "words.js")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?:^|[\s{])'?([a-zA-Z0-9_-]+)'?: \['((?:[^'\\]|\\.)*)'(, '(?:[^'\\]|\\.)*')?\]`).FindAllStringSubmatch(string(words), -1) {
		have[m[1]] = true
		if m[3] == "" {
			t.Errorf("%s has no Korean text", m[1])
		}
		if a, b := strings.Count(m[2], "%s"), strings.Count(m[3], "%s"); a != b {
			t.Errorf("%s takes %d arguments in English, %d in Korean", m[1], a, b)
		}
	}
	if len(have) < 100 {
		t.Fatalf("only %d texts found", len(have))
	}
	asked := regexp.MustCompile(`[^a-zA-Z.]t\('([a-z0-9_-]+)'[,)]`)
	names, _ := fs.Glob(Files, "*.js")
	for _, name := range names {
		b, err := fs.ReadFile(Files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllStringSubmatch(string(b), -1) {
			if !have[m[1]] {
				t.Errorf("%s asks for the text %s, which is not there", name, m[1])
			}
		}
	}
}

// TestSize: what a browser fetches stays under 100 KB, compressed as the box
// sends it.
func TestSize(t *testing.T) {
	var total bytes.Buffer
	err := fs.WalkDir(Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(Files, name)
		if err != nil {
			return err
		}
		z := gzip.NewWriter(&total)
		if _, err := z.Write(b); err != nil {
			return err
		}
		return z.Close()
	})
	if err != nil || total.Len() > 100_000 {
		t.Errorf("%d bytes, %v", total.Len(), err)
	}
}
