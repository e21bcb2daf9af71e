package metrics

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestDocumented compares docs/metrics.md with the code.
func TestDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(farlink_[a-z_]+)` \\|").FindAllStringSubmatch(string(doc), -1) {
		written[m[1]] = true
	}
	name := regexp.MustCompile(`fqName: "([^"]+)"`)
	for _, d := range slices.Concat(allMetrics, pepMetrics, multipathMetrics) {
		n := name.FindStringSubmatch(d.String())[1]
		if !written[n] {
			t.Errorf("docs/metrics.md has no row for %s", n)
		}
		delete(written, n)
	}
	for n := range written {
		t.Errorf("docs/metrics.md speaks of %s, which is not there", n)
	}
}
