package lab

import (
	"strings"
	"testing"
)

// The sides of a lab are those of its kind, and one that is not there is told
// with all that are.
func TestSides(t *testing.T) {
	plain := Lab{Name: "one", NsA: "one-a", NsB: "one-b"}
	several := Lab{Name: "two", NsA: "two-a", NsB: "two-b", NsDevice: "two-d", NsServer: "two-s"}
	for _, c := range []struct {
		lab        Lab
		word, into string
		says       string
	}{
		{plain, "a", "one-a", ""},
		{plain, "b", "one-b", ""},
		{plain, "d", "", "want a (device side), b (network side)"},
		{several, "a", "two-a", ""},
		{several, "d", "two-d", ""},
		{several, "s", "two-s", ""},
		{several, "x", "", "want d (plain device), a (device with all carriers), b (proxy), s (server)"},
	} {
		into, err := c.lab.side(c.word)
		if into != c.into || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s of lab %s: %q, %v", c.word, c.lab.Name, into, err)
		}
	}
}

// What is not there is said before anything is made: both names, where both
// are wrong.
func TestUpWithoutProfile(t *testing.T) {
	for _, c := range []struct {
		o    Options
		says []string
	}{
		{Options{Name: "nowhere", Profile: "geo/qirse-st"}, []string{`"geo/qirse-sat"`}},
		{Options{Name: "nowhere", Profile: "clear", Carriers: []string{"nope", "lte/kt", "neither"}}, []string{"nope", "neither"}},
	} {
		_, err := Up(t.Context(), "/nonexistent", c.o)
		if err == nil {
			t.Fatalf("%+v: up", c.o)
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%+v: %v; want %s", c.o, err, s)
			}
		}
		if _, err := Find("nowhere"); err == nil {
			t.Error("a lab stands")
		}
	}
}
