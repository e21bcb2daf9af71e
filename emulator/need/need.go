// Package need is for tests that need something of their machine: where that
// is missing they are skipped, and say so. In CI (CI=true) nothing may be
// missing: there they fail.
package need

import (
	"os"
	"os/exec"
	"testing"
)

// Root is for tests that make namespaces or load BPF programs.
func Root(t testing.TB) {
	t.Helper()
	That(t, os.Geteuid() == 0, "root")
}

// Program returns where a program is, by its name in the PATH.
func Program(t testing.TB, name string) (path string) {
	t.Helper()
	path, err := exec.LookPath(name)
	That(t, err == nil, name)
	return path
}

// That is for anything else that is there, or is not.
func That(t testing.TB, there bool, what string) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("CI") == "true":
		t.Fatalf("needs %s, and CI must have it", what)
	default:
		t.Skipf("needs %s", what)
	}
}
