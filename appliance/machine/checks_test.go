package machine

import (
	"strings"
	"testing"

	"farlink/appliance"
	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/emulator/wire"
	"farlink/profiles"
)

// Of 10,000 frames 1 % lost are 100, give or take 10: 160 are still chance
// six deviations away, 170 and 30 are not. With 3,000 held, 70 may be all of
// 7,000 as well.
func TestShareIsJudged(t *testing.T) {
	term := emulator.Term{What: emulator.TermLoss, Promise: "1 % of frames", Share: 0.01}
	for _, c := range []struct {
		lost, out, held, before int
		want                    appliance.Kept
	}{
		{100, 9900, 0, 0, appliance.IsKept}, {160, 9840, 0, 0, appliance.IsKept}, {170, 9830, 0, 0, appliance.Broken}, {30, 9970, 0, 0, appliance.Broken},
		{70, 6930, 3000, 0, appliance.IsKept}, {3, 500, 0, 0, appliance.Waiting}, {50, 450, 0, 0, appliance.Broken}, {0, 0, 0, 0, appliance.Waiting},
		{50, 10_000, 0, 5000, appliance.IsKept}, // half of what left was past the air before the change
	} {
		seen := wire.Check{Out: c.out, Held: c.held, Before: c.before}
		seen.Lost[link.Random] = c.lost
		if word, text := judge(term, &seen, nil); word != c.want || !strings.HasPrefix(text, "1 % of frames: ") {
			t.Errorf("%+v: %s, %s", c, word, text)
		}
	}
}

// The mean of 10,000 delays with a deviation of 2 ms is known to 0.02 ms: six
// times that, and 2 % of the deviation, are 0.16 ms.
func TestJitterIsJudged(t *testing.T) {
	term := emulator.Term{What: emulator.TermJitter, Promise: "as asked"}
	look := func(mean float64) func(string) float64 {
		return func(name string) float64 {
			return map[string]float64{"delay_mean_ms": mean, "delay_asked_ms": 50, "jitter_ms": 2, "jitter_asked_ms": 2}[name]
		}
	}
	for _, c := range []struct {
		mean   float64
		n      int
		memory float64
		want   appliance.Kept
		text   string
	}{
		{50.1, 10_000, 0, appliance.IsKept, "mean 50.100 ms, asked 50.000 ms"}, {50.2, 10_000, 0, appliance.Broken, "half_life"}, {49.8, 10_000, 0, appliance.Broken, "49.800"},
		{50.2, 10_000, 9, appliance.IsKept, ""}, {60, 50, 0, appliance.Waiting, "too little"}, {50.1, 10_000, -1, appliance.Unchecked, "not checked: deviations last longer"},
	} {
		term.Memory = c.memory
		if word, text := judge(term, &wire.Check{Out: c.n}, look(c.mean)); word != c.want || !strings.Contains(text, c.text) {
			t.Errorf("%+v: %s, %s", c, word, text)
		}
	}
}

// Each way of each link says something of delay, rate and frames, and what is
// not promised says why.
func TestEveryLinkIsSpokenOf(t *testing.T) {
	var spec emulator.Spec
	all, err := profiles.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"main", "second"} {
		spec.Links = append(spec.Links, emulator.LinkSpec{Name: name, Profile: all[i].Profile})
	}
	s := wire.Stats{}
	for _, w := range link.Ways {
		s.Ways[w].Checks = make([]wire.Check, 1) // the engine checks one of them only
		s.Ways[w].Checks[0].Early, s.Ways[w].Checks[0].Timed, s.Ways[w].Checks[0].Least = 3, 10, link.Millisecond
	}
	said := map[string]appliance.Check{}
	for _, c := range termsOf(spec.JSON()).checks(s, nil) {
		said[c.Link+" "+c.Way+" "+c.What] = c
		if c.Word == appliance.Unchecked && !strings.HasPrefix(c.Text, "not checked: ") {
			t.Errorf("%+v says not why", c)
		}
	}
	for _, name := range []string{"main", "second"} {
		for _, w := range link.Ways {
			for _, what := range []string{emulator.TermDelay, emulator.TermRate, emulator.TermFrames} {
				if _, there := said[name+" "+w.String()+" "+what]; !there {
					t.Errorf("nothing said of %s %v %s", name, w, what)
				}
			}
		}
	}
	if c := said["main up delay"]; c.Word != appliance.Broken || !strings.Contains(c.Text, "3 of 10 frames were sooner, the soonest after 1ms") {
		t.Errorf("%+v", c)
	}
	if c := said["second up frames"]; c.Word != appliance.Unchecked {
		t.Errorf("%+v", c)
	}
	if got := termsOf([]byte("{")); len(got.links) != 0 {
		t.Errorf("%+v", got)
	}
}
