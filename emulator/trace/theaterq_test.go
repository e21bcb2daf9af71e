package trace

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/trace/lines"
	"farlink/emulator/trace/lines/linestest"
)

// check fails on any problem of a course.
func check(t *testing.T, w Way) {
	t.Helper()
	if w.Trace != nil {
		w.Trace.Check(func(path, got, want string) { t.Errorf("%s: got %s, want %s", path, got, want) })
	}
}

// TestTheaterQVectors are TQ-1 and TQ-2 of the link sheet.
func TestTheaterQVectors(t *testing.T) {
	w, notes, err := TheaterQ(linestest.File("1000000,250000000,8000000,4294967,500\n"), "loop")
	if err != nil || len(notes) != 0 {
		t.Fatal(err, notes)
	}
	check(t, w)
	s := w.Trace.Steps[0]
	if w.Trace.Period != link.Second || *s.Delay != 250*link.Millisecond || *s.Rate != 8*link.MegabitPerSecond || math.Abs(*s.Loss-0.001) > 1e-9 || w.Limit.Packets != 500 {
		t.Errorf("TQ-1: %+v %v %v %v, limit %v", w.Trace, *s.Delay, *s.Rate, *s.Loss, w.Limit)
	}
	_, _, err = TheaterQ(linestest.File("0,1,1,1,1\n"), "hold")
	linestest.Refused(t, "TQ-2", err, "x:1:1: keep 0, want 1 us or more")
}

func TestTheaterQ(t *testing.T) {
	w, notes, err := TheaterQ(linestest.File("KEEP,LATENCY,…\n# comment\n1000,0,-1,0,10\n2000,5,0,4294967295,10\n500,7,64000,0,20\n"), "hold")
	if err != nil {
		t.Fatal(err)
	}
	check(t, w)
	us := link.Microsecond
	want := []course.Step{
		{At: 0, Delay: of(link.Duration(0)), Rate: of(link.Rate(0)), Loss: of(0.0)},
		{At: 1000 * us, Delay: of(link.Duration(5)), Outage: true, Loss: of(1.0)},
		{At: 3000 * us, Delay: of(link.Duration(7)), Rate: of(link.Rate(64000)), Loss: of(0.0)},
	}
	if !reflect.DeepEqual(w.Trace.Steps, want) || w.Trace.Period != 0 || w.Limit.Packets != 0 {
		t.Errorf("%+v", w.Trace)
	}
	if len(notes) != 1 || notes[0] != "x: the limit of the queue changes: it is not followed" {
		t.Errorf("notes %q", notes)
	}
}

func TestTheaterQExtended(t *testing.T) {
	w, notes, err := TheaterQ(linestest.File("1000,9,3,64000,0,10,5,0,1\n1000,9,3,64000,0,10,5,0,1,2\n"), "clear")
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Trace.Steps) != 2 || *w.Trace.Steps[1].Rate != 64000 || *w.Trace.Steps[0].Delay != 9 || w.Limit.Packets != 10 {
		t.Errorf("%+v", w.Trace)
	}
	if len(notes) != 2 || notes[0] != "x: line 1 and others have jitter: it is not followed" {
		t.Errorf("notes %q", notes)
	}
}

func TestTheaterQFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "no lines",
		"a,b":                               "no lines",
		"1,2,3":                             "x:1:1: 3 fields",
		"1,2,3,4,5,6":                       "x:1:1: 6 fields",
		"1,x,3,4,5":                         `x:1:3: latency "x"`,
		"1,2,-2,4,5":                        `x:1:5: rate "-2"`,
		"1,2,3,4294967296,5":                `x:1:7: loss "4294967296"`,
		"1,2,3,4,-5":                        `x:1:9: limit "-5"`,
		"1,2,x,4,5,6,7,8,9":                 `x:1:5: jitter "x"`,
		"99999999999999,2,3,4,5":            "keep",
		"31622400000000,2,3,4,5\n9,2,3,4,5": "longer than a year",
	} {
		_, _, err := TheaterQ(linestest.File(text), "")
		linestest.Refused(t, text, err, want)
	}
}

func TestWriteTheaterQ(t *testing.T) {
	const text = "# KEEP_us,LATENCY_ns,RATE_bit/s,LOSS,LIMIT\n1000,0,-1,0,10\n2000,5,0,4294967295,10\n500,7,64000,4294967,10\n"
	w, _, err := TheaterQ(linestest.File(text), "loop")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteTheaterQ(&out, w, course.Step{}, 0); err != nil || out.String() != text {
		t.Errorf("%v\n%s", err, out.String())
	}
	// What a step leaves out comes from what is fixed.
	out.Reset()
	w = Way{Trace: &course.Config{Steps: []course.Step{{}}}}
	fixed := course.Step{Delay: of(3 * link.Nanosecond), Rate: of(link.Rate(9)), Loss: of(1.0)}
	if err := WriteTheaterQ(&out, w, fixed, link.Second); err != nil || !bytes.HasSuffix(out.Bytes(), []byte("\n1000000,3,9,4294967295,4294967295\n")) {
		t.Errorf("%v\n%s", err, out.String())
	}
	linestest.Refused(t, "no steps", WriteTheaterQ(&out, Way{}, fixed, 1), "want steps")
}

func FuzzTheaterQ(f *testing.F) {
	f.Add("1000000,250000000,8000000,4294967,500\n", "loop")
	f.Add("1000,9,3,64000,0,10,5,0,1\n", "hold")
	f.Fuzz(func(t *testing.T, text, end string) {
		if end != "hold" && end != "loop" && end != "clear" {
			end = ""
		}
		w, _, err := TheaterQ(linestest.File(text), end)
		if err != nil {
			linestest.Refused(t, "fuzz", err, "x")
			return
		}
		check(t, w)
		var out bytes.Buffer
		if err := WriteTheaterQ(&out, w, course.Step{}, w.Length()+link.Second); err != nil {
			t.Fatal(err)
		}
		if _, _, err := TheaterQ(lines.File{Name: "again", Reader: &out}, end); err != nil {
			t.Fatal(err)
		}
	})
}
