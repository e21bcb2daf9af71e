package appliance

import (
	"strings"
	"testing"

	"farlink/emulator/link"
)

// What is wrong with a link event is said all at once.
func TestDisruptionProblems(t *testing.T) {
	cases := map[string]Disruption{
		"kind":           {Kind: "rain"},
		"duration":       {Kind: CutFor},
		"duration count": {Kind: CutFor, Duration: 25 * 3600 * link.Second, Count: 2},
		"down up count":  {Kind: Flap},
		"duration down":  {Kind: Flap, Duration: 1, Up: 1, Count: 1},
		"count":          {Kind: Flap, Down: 3600 * link.Second, Up: 3600 * link.Second, Count: 13},
	}
	for want, d := range cases {
		var paths []string
		for _, p := range d.Check() {
			paths = append(paths, p.Path)
		}
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("%+v: problems at %q, want %q", d, got, want)
		}
	}
}
