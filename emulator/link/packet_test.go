package link

import (
	"fmt"
	"reflect"
	"testing"
)

// A packet is small, and of no more fields than the compiler keeps in
// registers (ssa.MaxStruct), nor are those that it is made of.
func TestPacketInRegisters(t *testing.T) {
	p := reflect.TypeFor[Packet]()
	if p.Size() != 24 || p.NumField() > 4 {
		t.Errorf("%d bytes in %d fields, want 24 in at most 4", p.Size(), p.NumField())
	}
	for i := range p.NumField() {
		if f := p.Field(i).Type; f.Kind() == reflect.Struct && f.NumField() > 4 {
			t.Errorf("%v has %d fields", f, f.NumField())
		}
	}
}

func TestReasons(t *testing.T) {
	seen := map[string]bool{}
	for r := range Reason(Reasons) {
		if s := r.String(); s == "" || s == "unknown" || seen[s] {
			t.Errorf("reason %d is called %q", r, s)
		}
		seen[r.String()] = true
	}
	if s := Reason(Reasons).String(); s != "unknown" {
		t.Errorf("what is no reason is called %q", s)
	}
	if (Fate{}).Lost() || !(Fate{Cause: Cause{Reason: Cut}}).Lost() {
		t.Error("lost is what has a reason")
	}
}

// TestMarkLink: the link's index and the flags do not touch each other.
func TestMarkLink(t *testing.T) {
	flags := ECT | CE | Corrupted | Duplicate | Reordered
	for _, i := range []int{0, 1, 17, 255} {
		m := flags.OnLink(i)
		if m.Link() != i || m&flags != flags {
			t.Errorf("link %d: mark %x", i, m)
		}
		if m = m.OnLink(3); m.Link() != 3 || m&flags != flags {
			t.Errorf("link %d moved to 3: mark %x", i, m)
		}
	}
}

func TestTime(t *testing.T) {
	if Never.Add(Second) != Never || Time(5).Add(7) != 12 || Time(12).Sub(5) != 7 || Time(15e8).Seconds() != 1.5 {
		t.Error("arithmetic of instants")
	}
	if Down.Other() != Up || Up.Other() != Down || Down.String() != "down" || Up.String() != "up" {
		t.Error("ways")
	}
}

func TestReportUnder(t *testing.T) {
	var got string
	Report(func(path, _, _ string) { got = path }).Under("a").Under("b")("c", "", "")
	if got != "a.b.c" {
		t.Errorf("path %q, want a.b.c", got)
	}
}

// TestReportBounds: what is no probability and no delay is reported, and
// what is not.
func TestReportBounds(t *testing.T) {
	var got []string
	r := Report(func(path, is, _ string) { got = append(got, path+" "+is) })
	for _, p := range []float64{0, 0.5, 1, -0.1, 1.1} {
		r.Probability("p", p)
	}
	for _, d := range []Duration{0, MaxDelay, -1, MaxDelay + 1} {
		r.Delay("d", d)
	}
	if want := "[p -0.1 p 1.1 d -1ns d 3600000000.001us]"; fmt.Sprint(got) != want {
		t.Errorf("reported %v, want %v", got, want)
	}
	if s := (Span{2, 5}); s.Holds(1) || !s.Holds(2) || !s.Holds(4) || s.Holds(5) {
		t.Error("a span holds its start and not its end")
	}
}
