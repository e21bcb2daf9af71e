package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was not understood exits with 2 and shows how it is said; what was
// understood and failed exits with 1.
func TestExitStatuses(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there.toml")
	if err := os.WriteFile(there, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "results.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"--version", 0, ""},
		{"no-such-command", 2, "unknown command"},
		{"apply", 2, "usage: farlink apply FILE|PROFILE"},
		{"sim", 2, "want --profile"},
		{"sim --profile clear --seed 18446744073709551616", 2, `--seed: got "18446744073709551616", want a whole number from 0 to 18446744073709551615`},
		{"status --watch=maybe", 2, `--watch: got "maybe", want true or false`},
		{"sim --profile clear --load ping --for 5s --after 10s", 2, "--after 10s: want less than --for 5s"},
		{"sim --profile clear --for long", 2, `--for: got "long", want a duration`},
		{"plot mine.toml", 2, "--profile mine.toml"},
		{"plot geo/qirse-sat", 1, "want --profile geo/qirse-sat --load"},
		{"plot nothing-there", 1, "no series nothing-there: want a file"},
		{"run nope", 1, "geo-pep, "},
		{"run nope", 1, ", seed-000"},
		{"run", 2, ", seed-000"},
		{"run --list seed-000", 1, "farlink multipath matrix"},
		{"run seed-000 --out " + there, 1, "there.toml"},
		{"run seed-000 --out " + full, 1, "holds results already"},
		{"lab up --name noprofile --profile nope", 1, `farlink: unknown profile "nope"`},
		{"lab up --name noprofile --carriers nope,lte/kt", 1, "nope"},
		{"lab exec", 2, "usage: farlink lab exec SIDE -- COMMAND"},
		{"new no-such-kind", 2, "want one of terrestrial, geo"},
		{"completion bogus", 2, "bogus"},
		{"help bogus", 2, "bogus"},
		{"help lab up", 0, ""},
		{"lab up --name Bad_Name", 2, "want 1 to 11 of a to z"},
		{"lab up --mtu 5", 2, "want 1280"},
		{"lab down --name Bad_Name", 2, "want 1 to 11 of a to z"},
		{"lab exec --name Bad_Name a -- true", 2, "want 1 to 11 of a to z"},
		{"lab down --name nosuchlab", 1, "no lab"},
		{"pep set perhaps", 2, "on or off"},
		{"pep set on --sides left", 2, "near, far or both"},
		{"new geo -o " + there, 1, "is there already"},
		{"sim --profile geo/qirse-st", 1, `did you mean "geo/qirse-sat"?`},
		{"bench --only no-such-case", 1, "want some of throughput"},
	} {
		_, stderr, status := farlink(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(stderr, c.says) {
			t.Errorf("farlink %s: status %d, %q; want %d, %q", c.args, status, stderr, c.status, c.says)
		}
	}
}

// What goes into a pipe is not cut: columns are for people at a terminal.
func TestProfilesInAPipe(t *testing.T) {
	out, _, status := farlink(t, "profiles")
	if status != 0 || strings.Contains(out, "…") {
		t.Errorf("status %d; lines are cut: %.300s", status, out)
	}
}
