package draft

import (
	"strings"
	"testing"

	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/profiles"
)

// The defaults of every kind make a profile without a problem, and a link.
func TestDefaults(t *testing.T) {
	for _, kind := range Kinds() {
		d := New()
		answer := kind
		for q, ok := d.Next(); ok; q, ok = d.Next() {
			if err := d.Answer(answer); err != nil {
				t.Fatalf("%s: %s: %v", kind, q.Text, err)
			}
			answer = ""
		}
		p, problems := d.Profile()
		if len(problems) > 0 {
			t.Errorf("%s: %v", kind, problems)
			continue
		}
		if _, err := emulator.New(emulator.Spec{Links: []emulator.LinkSpec{{Name: "main", Profile: p}}}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// One word for one thing: a kind is called as the family of shipped profiles
// of its like, and every family can be begun.
func TestKindsAreFamilies(t *testing.T) {
	families := map[string]bool{}
	for _, name := range profiles.Names() {
		if family, _, ok := strings.Cut(name, "/"); ok && family != "seed" {
			families[family] = true
		}
	}
	for _, kind := range Kinds() {
		if !families[kind] {
			t.Errorf("kind %s is no family of the library", kind)
		}
		delete(families, kind)
	}
	if len(families) > 0 {
		t.Errorf("no kind for %v", families)
	}
}

// What is wrong is said, and the question stays.
func TestAnswers(t *testing.T) {
	d := New()
	if err := d.Answer("tin can"); err == nil || !strings.Contains(err.Error(), "want one of terrestrial, geo") {
		t.Errorf("kind: %v", err)
	}
	for _, a := range []string{"terrestrial", "lab/x"} {
		if err := d.Answer(a); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ wrong, want, right string }{
		{"8Mb", "unknown unit", "8Mbit/s"},
		{"1", "has no unit", "1Mbit/s"},
		{"soon", "want", "600ms"},
		{"200", "want a probability", "1%"},
	} {
		q, _ := d.Next()
		if err := d.Answer(c.wrong); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q: %v, want %s", q.Text, c.wrong, err, c.want)
		}
		if err := d.Answer(c.right); err != nil {
			t.Errorf("%s: %q: %v", q.Text, c.right, err)
		}
	}
	p, problems := d.Profile()
	if p == nil || p.Name != "lab/x" || p.Down.Path.Delay != 300*link.Millisecond || p.Up.Loss.Probability != 0.01 || p.Up.Queue.Rate != link.MegabitPerSecond {
		t.Errorf("%v, %+v", problems, p)
	}
}
