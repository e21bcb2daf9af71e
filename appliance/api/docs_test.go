package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"farlink/appliance/api/problem"
	"farlink/emulator/need"
)

// TestExamples replays the examples of docs/api.md, in order, on one box.
func TestExamples(t *testing.T) {
	need.Program(t, "curl")
	doc, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)\n# (\\d+)(.*?)\n```").FindAllStringSubmatch(string(doc), -1)
	if len(blocks) < 20 {
		t.Fatalf("%d examples", len(blocks))
	}
	dir := t.TempDir()
	b := newBench(t, func(c *Config) { c.State = dir })
	b.ask(readToken, "GET", "/api/v1/status", "")
	for _, block := range blocks {
		script, status := block[1], block[2]
		// Only the last curl of a block is judged.
		i := strings.LastIndex(script, "curl ")
		c := exec.Command("bash", "-c", script[:i]+`curl -sS -w '\n%{http_code}' `+script[i+len("curl "):])
		c.Env = append(os.Environ(), "BOX="+b.url, "TOKEN="+driveToken, "OTHER="+otherToken, "ADMIN="+adminToken)
		out, _ := c.CombinedOutput() // a stream ends by curl's time limit
		got := strings.TrimSpace(string(out))
		if !strings.HasSuffix(strings.SplitN(got, "curl: (28)", 2)[0], status) && !strings.Contains(got, "\n"+status) {
			t.Errorf("%s\nwant %s, got %.600s", script, status, got)
			continue
		}
		for part := range strings.SplitSeq(strings.TrimSpace(block[3]), " … ") {
			if !strings.Contains(got, part) {
				t.Errorf("%s\nwant %s in %.900s", script, part, got)
			}
		}
	}
}

// TestProblemsDocumented compares the table of docs/api.md with the types of
// problems in the code.
func TestProblemsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| \\d+ \\|").FindAllStringSubmatch(string(doc), -1) {
		written[m[1]] = true
	}
	inCode := map[string]bool{}
	for _, kind := range problem.Kinds {
		inCode[kind] = true
	}
	here, _ := filepath.Glob("*.go") // the patterns are good
	beneath, _ := filepath.Glob("*/*.go")
	for _, name := range append(here, beneath...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`Named\("([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			inCode[m[1]] = true
		}
	}
	for kind := range inCode {
		if !written[kind] {
			t.Errorf("docs/api.md has no row for the problem %s", kind)
		}
	}
	for kind := range written {
		if !inCode[kind] {
			t.Errorf("docs/api.md speaks of the problem %s, which is not there", kind)
		}
	}
}
