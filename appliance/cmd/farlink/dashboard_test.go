package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	metricRow = regexp.MustCompile("(?m)^\\| `(farlink_[a-z_]+)` \\|([a-z, ]*)\\|")
	selector  = regexp.MustCompile(`(farlink_[a-z_]+)(?:\{([^}]*)\})?`)
	labelName = regexp.MustCompile(`([a-z_]+)\s*[=!]~?`)
)

// TestDashboards: the dashboard and the rules ask only for metrics, and for
// labels of them, that docs/metrics.md lists, which a test compares with the
// code; and they leave out no metric but those named.
func TestDashboards(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, m := range metricRow.FindAllStringSubmatch(string(doc), -1) {
		labels[m[1]] = append(strings.Split(strings.ReplaceAll(m[2], " ", ""), ","), "instance", "job")
	}
	if len(labels) < 15 {
		t.Fatalf("%d metrics in docs/metrics.md", len(labels))
	}
	used := map[string]bool{}
	for _, file := range []string{"grafana.json", "alerts.yml"} {
		text, err := os.ReadFile("../../../docs/bench/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", file)
		}
		plain := strings.ReplaceAll(string(text), `\"`, `"`)
		for _, m := range selector.FindAllStringSubmatch(plain, -1) {
			if labels[m[1]] == nil {
				t.Errorf("%s asks for %s, which docs/metrics.md does not list", file, m[1])
				continue
			}
			used[m[1]] = true
			for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(labels[m[1]], l[1]) {
					t.Errorf("%s: %s has no label %s", file, m[1], l[1])
				}
			}
		}
	}
	unused := []string{"farlink_start_time_seconds", "farlink_link_held_packets", "farlink_link_arrived_packets_total"}
	for name := range labels {
		if !used[name] && !slices.Contains(unused, name) {
			t.Errorf("neither dashboard nor rules show %s", name)
		}
	}
}
