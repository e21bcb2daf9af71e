package farlink

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// docs/cases.md names tests; each must be one.
func TestCasesExist(t *testing.T) {
	doc, err := os.ReadFile("docs/cases.md")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("grep", "-rhoE", "--include=*_test.go", `^func Test\w+`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		there[strings.TrimPrefix(strings.TrimSpace(line), "func ")] = true
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(doc), -1)
	if len(named) < 30 {
		t.Errorf("docs/cases.md names %d tests", len(named))
	}
	for _, m := range named {
		if !there[m[1]] {
			t.Errorf("docs/cases.md: there is no %s", m[1])
		}
	}
}
