package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"farlink/emulator/need"
)

// python returns a Python that has the module; where there is none it skips,
// in CI it fails.
func python(t *testing.T, module string) string {
	t.Helper()
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import "+module).Run() == nil {
			return p
		}
	}
	need.That(t, false, fmt.Sprintf("python3 with %s, as Debian's package python3-%[1]s has it", module))
	return ""
}

// TestPython runs the tests of the Python client and of the pytest plugin on
// a lab.
func TestPython(t *testing.T) {
	t.Parallel()
	interpreter := python(t, "pytest")
	l := labUp(t)
	c := exec.Command(interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--farlink-reports", t.TempDir(), "tests")
	c.Dir = "../../../docs/bench"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	c.Env = append(os.Environ(), "FARLINK_TEST=1", "FARLINK="+self, "FARLINK_LAB="+l.Name, "FARLINK_API="+l.API, "FARLINK_TOKEN="+l.Token,
		"PYTHONPATH="+here, "PYTHONDONTWRITEBYTECODE=1")
	out, err := c.CombinedOutput()
	if err != nil || strings.Contains(string(out), "skipped") {
		t.Errorf("%v\n%s", err, out)
	}
}
