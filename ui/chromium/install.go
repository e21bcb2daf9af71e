package chromium

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"farlink/emulator/need"
)

//go:embed drive.mjs package.json package-lock.json
var files embed.FS

// Axe is the script of axe-core, which looks for what keeps people out.
func Axe(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(install(t), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// install puts drive.mjs and what package-lock.json pins into a directory that
// later tests find again: one for each state of the files.
func install(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"drive.mjs", "package.json", "package-lock.json"}
	sum := sha256.New()
	for _, name := range names {
		b, _ := files.ReadFile(name) // embedded
		sum.Write(b)
	}
	dir := filepath.Join(cache, "farlink-test", fmt.Sprintf("panel-%x", sum.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	// Made aside and renamed: half an installation is never found.
	aside, err := os.MkdirTemp(filepath.Dir(dir), "making-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(aside)
	for _, name := range names {
		b, _ := files.ReadFile(name)
		if err := os.WriteFile(filepath.Join(aside, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund")
	c.Dir = aside
	if out, err := c.CombinedOutput(); err != nil {
		need.That(t, false, fmt.Sprintf("npm to fetch Playwright: %v: %s", err, out))
	}
	if err := os.Rename(aside, dir); err != nil {
		if _, other := os.Stat(dir); other != nil { // else another test was quicker
			t.Fatal(err)
		}
	}
	return dir
}
