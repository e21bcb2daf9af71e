package emulator

import (
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/profiles"
)

// What profiles promise, by hand: a uniform delay of 50 ± 5 ms is at least
// 45 ms; a normal one has no least; a trace's least is that of its steps.
func TestTerms(t *testing.T) {
	for _, c := range []struct{ text, what, want string }{
		{"[up.path]\ndelay = \"250ms\"", TermDelay, "at least 250ms"},
		{"[up.path]\ndelay = \"50ms\"\n[up.path.jitter]\ndistribution = \"uniform\"\nspread = \"5ms\"", TermDelay, "at least 45ms"},
		{"[up.path]\ndelay = \"50ms\"\n[up.path.jitter]\ndistribution = \"normal\"\nspread = \"5ms\"", TermDelay, "why: a normal delay has no least"},
		{"[up.path]\ndelay = \"50ms\"\n[up.path.jitter]\ndistribution = \"normal\"\nspread = \"5ms\"", TermJitter, "mean and deviation"},
		{"[up.path]\ndelay = \"50ms\"\n[[timeline]]\nat = \"1s\"\n[timeline.set.up.path]\ndelay = \"20ms\"", TermDelay, "at least 20ms"},
		{"[up.path]\ndelay = \"50ms\"\n[up.trace]\n[[up.trace.step]]\nat = \"0s\"\n[[up.trace.step]]\nat = \"1s\"\ndelay = \"30ms\"", TermDelay, "at least 30ms"},
		{"", TermRate, "why: no limit is asked"},
		{"[up.queue]\nrate = \"8Mbit/s\"", TermRate, "8Mbit/s while frames wait, never more"},
		{"[up.queue]\nrate = \"8Mbit/s\"\n[up.loss]\nprobability = 0.1", TermRate, "at most 8Mbit/s"},
		{"[up.queue]\nrate = \"8Mbit/s\"\n[[timeline]]\nat = \"1s\"\n[timeline.set.up.queue]\nrate = \"9Mbit/s\"", TermRate, "as the timeline has it, at most 9Mbit/s"},
		{"[up.loss]\nprobability = 0.02", TermLoss, "2 % of frames"},
		{"[up.loss]\nber = 1e-6", TermLoss, "why: losses come in bursts, by size"},
		{"[up.duplicate]\nprobability = 0.01", TermDuplicate, "1 % of frames"},
		{"[up.reorder]\nprobability = 0.01\ndelay = \"5ms\"", TermReorder, "why: "},
		{"[up.corrupt]\nprobability = 0.01", TermCorrupt, "why: "},
		{"", TermFrames, "offered = delivered + lost + held"},
		{"lte", TermRate, "at most "},
		{"dama", TermRate, "the rate follows grants"},
		{"leo", TermJitter, "why: the delay has a course"},
	} {
		p := byKind(t, c.text)
		got := "nothing"
		for _, term := range Terms(p, link.Up) {
			if term.What == c.what {
				got = term.Promise
				if got == "" {
					got = "why: " + term.Why
				}
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q: %s is %q, want %q", c.text, c.what, got, c.want)
		}
	}
}

// byKind is a profile of that text, or the first shipped one of that kind.
func byKind(t *testing.T, text string) *profiles.Profile {
	has := map[string]func(*profiles.Profile) bool{
		"lte": func(p *profiles.Profile) bool { return p.LTE != nil }, "dama": func(p *profiles.Profile) bool { return p.DAMA != nil },
		"leo": func(p *profiles.Profile) bool { return p.LEO != nil },
	}[text]
	if has == nil {
		return parse(t, text)
	}
	all, err := profiles.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if has(d.Profile) {
			return d.Profile
		}
	}
	t.Fatalf("no shipped profile with %s", text)
	return nil
}
