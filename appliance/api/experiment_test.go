package api

import (
	"strings"
	"testing"
)

const aPing = `name = \"echo\"\nprofiles = [\"clear\"]\n[[traffic]]\nname = \"echo\"\nkind = \"ping\"\nduration = \"1s\"\n`

// A box says at once why it will not make an experiment; that it does make
// them is shown on a lab (cmd/farlink).
func TestExperimentRefusals(t *testing.T) {
	b := newBench(t, func(c *Config) { c.State = t.TempDir() })
	shell := strings.ReplaceAll(aPing, `kind = \"ping\"`, `kind = \"command\"\ncommand = [\"id\"]`)
	file := strings.ReplaceAll(aPing, `\"clear\"`, `\"/etc/passwd.toml\"`)
	for _, c := range []struct {
		what, path, body string
		status           int
		says             string
	}{
		{"nothing to begin", "/experiments/a?dry_run=true", `{}`, 422, "body.document"},
		{"a command", "/experiments/a?dry_run=true", `{"document":"` + shell + `"}`, 422, "a box runs no commands"},
		{"a file", "/experiments/a?dry_run=true", `{"document":"` + file + `"}`, 422, "want a profile of the box"},
		{"not one that is shipped", "/experiments/a", `{"shipped":"nothing"}`, 422, "body.shipped"},
		{"good, but checked only", "/experiments/a?dry_run=true", `{"document":"` + aPing + `"}`, 200, ""},
		{"no hosts", "/experiments/a", `{"document":"` + aPing + `"}`, 409, "urn:farlink:problem:no-hosts"},
		{"another pair", "/experiments/a?pair=x", `{"document":"` + aPing + `"}`, 404, "query.pair"},
		{"to stop what is not there", "/experiments/a", `{"phase":"stopped"}`, 404, "path.id"},
	} {
		got := b.ask(driveToken, "PUT", "/api/v1"+c.path, c.body)
		if got.StatusCode != c.status || !strings.Contains(got.body, c.says) {
			t.Errorf("%s: %d %s; want %d, %q", c.what, got.StatusCode, got.body, c.status, c.says)
		}
	}
	if got := decoded[Experiments](t, b.ask(readToken, "GET", "/api/v1/experiments", "").body); len(got.Experiments) != 0 || len(got.Shipped) < 5 {
		t.Errorf("%+v", got)
	}
}
