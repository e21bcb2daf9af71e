package preview

import (
	"testing"
	"time"

	"farlink/profiles"
)

// TestBounded: fast links, and such without a limit, are not run for
// as long as they are asked for.
func TestBounded(t *testing.T) {
	for _, doc := range []string{"", "[down.queue]\nrate = \"10Gbit/s\"\n[up.queue]\nrate = \"10Gbit/s\"\n",
		"[down.queue]\nrate = \"900Mbit/s\"\nlimit = \"40MB\"\n[down.path]\ndelay = \"100ms\"\n[up.queue]\nrate = \"900Mbit/s\"\nlimit = \"40MB\"\n[up.path]\ndelay = \"100ms\"\n"} {
		p, problems := profiles.Parse([]byte(doc))
		if p == nil {
			t.Fatalf("%v", problems)
		}
		begun := time.Now()
		if _, err := Draw(p, 1, Most); err != nil {
			t.Errorf("%q: %v", doc, err)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%q takes %s", doc, took)
		}
	}
}
