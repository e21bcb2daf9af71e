package need

import (
	"fmt"
	"strings"
	"testing"
)

// told is a test that keeps how it was ended.
type told struct {
	testing.TB
	how string
}

func (t *told) Helper()                        {}
func (t *told) Fatalf(format string, a ...any) { t.how = "failed: " + fmt.Sprintf(format, a...) }
func (t *told) Skipf(format string, a ...any)  { t.how = "skipped: " + fmt.Sprintf(format, a...) }

func TestMissing(t *testing.T) {
	for ci, want := range map[string]string{"": "skipped: needs no-such-program", "true": "failed: needs no-such-program"} {
		t.Setenv("CI", ci)
		var missing, there told
		Program(&missing, "no-such-program")
		if !strings.HasPrefix(missing.how, want) {
			t.Errorf("CI=%q: %q, want %q", ci, missing.how, want)
		}
		if path := Program(&there, "sh"); there.how != "" || !strings.HasSuffix(path, "/sh") {
			t.Errorf("CI=%q: sh at %q, %q", ci, path, there.how)
		}
	}
}
