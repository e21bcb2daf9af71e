package trace

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/opportunity"
	"farlink/emulator/trace/lines"
	"farlink/emulator/trace/lines/linestest"
)

// leave returns when packets leave, in milliseconds; each is given as when it
// comes, in milliseconds, and how many bytes of IP it has.
func leave(s link.Stage, packets ...[2]int) []int {
	log := &linktest.Log{}
	for i, p := range packets {
		s.Put(link.Packet{When: link.Time(p[0]) * link.Time(link.Millisecond), Seq: uint64(i), Body: link.Body{Size: uint16(p[1] + 14)}}, log)
	}
	s.Run(link.Time(10*link.Second), log)
	var out []int
	for _, p := range log.Delivered() {
		out = append(out, int(p.When/link.Time(link.Millisecond)))
	}
	return out
}

func delivery(t *testing.T, text string) *opportunity.Delivery {
	t.Helper()
	w, err := Mahimahi(linestest.File(text))
	if err != nil {
		t.Fatal(err)
	}
	return opportunity.NewDelivery(*w.Delivery, link.NewDraw(1, "x"))
}

// TestMahimahiVectors are MM-1 to MM-5 of the link sheet.
func TestMahimahiVectors(t *testing.T) {
	w, err := Mahimahi(linestest.File("1\n"))
	if err != nil {
		t.Fatal(err)
	}
	// MM-1: 1,500 bytes a millisecond are 12 Mbit/s.
	if r := Rate(w.Delivery, link.Millisecond); len(r) != 1 || r[0] != 12e6 {
		t.Errorf("MM-1: %v, want 12 Mbit/s", r)
	}
	if got := leave(delivery(t, "1"), [2]int{0, 1500}, [2]int{0, 1500}, [2]int{5, 1500}); !reflect.DeepEqual(got, []int{1, 2, 6}) {
		t.Errorf("MM-1: left at %v", got)
	}
	// MM-2: four opportunities in 10 ms are 4.8 Mbit/s.
	w, err = Mahimahi(linestest.File("0\n0\n5\n10\n"))
	if err != nil {
		t.Fatal(err)
	}
	if r := Rate(w.Delivery, 10*link.Millisecond); len(r) != 1 || r[0] != 4.8e6 {
		t.Errorf("MM-2: %v, want 4.8 Mbit/s", r)
	}
	if got := leave(delivery(t, "0\n0\n5\n10\n"), [2]int{6, 1500}); got[0] != 10 {
		t.Errorf("MM-2: left at %v, want 10", got)
	}
	if got := leave(delivery(t, "3"), [2]int{0, 500}, [2]int{0, 500}, [2]int{0, 500}); !reflect.DeepEqual(got, []int{3, 3, 3}) {
		t.Errorf("MM-3: left at %v, want 3, 3, 3", got)
	}
	if got := leave(delivery(t, "1\n2"), [2]int{0, 100}, [2]int{0, 1500}); !reflect.DeepEqual(got, []int{1, 2}) {
		t.Errorf("MM-4: left at %v, want 1, 2", got)
	}
	_, err = Mahimahi(linestest.File("5\n3\n"))
	linestest.Refused(t, "MM-5", err, "x:2:1: 3 after 5: not monotonic")
}

func TestMahimahiFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "no lines",
		"0\n0\n":            "x:2:1: the last time is 0",
		"1\n\n2":            "x:2:1: 0 numbers",
		"1\n2 3":            "x:2:1: 2 numbers",
		"1\n  x":            `x:2:3: time "x"`,
		"-1":                `x:1:1: time "-1"`,
		"1.5":               "want a whole number",
		"99999999999999999": "want a whole number from 0 to 31622400000",
		"1\n" + strings.Repeat("9", lines.Longest+1): "x:2:1: line of more than 65536 bytes",
	} {
		_, err := Mahimahi(linestest.File(text))
		linestest.Refused(t, text[:min(len(text), 9)], err, want)
	}
	if _, err := Mahimahi(linestest.File("\uFEFF1\r\n2\r\n")); err != nil {
		t.Errorf("a file from Windows: %v", err)
	}
}

// TestWriteMahimahi: 12 Mbit/s for 3 ms are lines at 1, 2, 3; at 6 Mbit/s the
// 12,000 bit of a line take 2 ms: 5, 7; the last line is the period of 8.
func TestWriteMahimahi(t *testing.T) {
	w := Way{Trace: &course.Config{Steps: []course.Step{
		{Rate: of(link.Rate(12e6))}, {At: 3 * link.Millisecond, Rate: of(link.Rate(6e6))}}}}
	var out bytes.Buffer
	if err := WriteMahimahi(&out, w, 8*link.Millisecond); err != nil || out.String() != "1\n2\n3\n5\n7\n8\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	// An outage writes nothing, and saved credit is kept through it.
	w.Trace.Steps = []course.Step{{Rate: of(link.Rate(9e6))}, {At: 2 * link.Millisecond, Outage: true}, {At: 5 * link.Millisecond, Rate: of(link.Rate(12e6))}}
	out.Reset()
	// 9 Mbit/s: 12,000 bit after 1.33 ms, line 2; 6,000 bit saved at 2 ms;
	// from 5 ms on the next 6,000 bit take 0.5 ms: line 6, then 7.
	if err := WriteMahimahi(&out, w, 7*link.Millisecond); err != nil || out.String() != "2\n6\n7\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	// What was read is written as it was.
	text := "0\n0\n5\n10\n"
	w, err := Mahimahi(linestest.File(text))
	out.Reset()
	if err == nil {
		err = WriteMahimahi(&out, w, 0)
	}
	if err != nil || out.String() != text {
		t.Errorf("%v, %q", err, out.String())
	}
}

// TestWriteMahimahiRate: no rate drifts: 7.777 Mbit/s for 60 s are
// 7.777e6·60/12000 = 38,885 opportunities.
func TestWriteMahimahiRate(t *testing.T) {
	w := Way{Trace: &course.Config{Steps: []course.Step{{Rate: of(link.Rate(7_777_000))}}}}
	var out bytes.Buffer
	if err := WriteMahimahi(&out, w, 60*link.Second); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 38885 {
		t.Errorf("%d lines, want 38885", n)
	}
	back, err := Mahimahi(lines.File{Name: "back", Reader: &out})
	if err != nil || back.Length() != 60*link.Second {
		t.Errorf("%v, length %v", err, back.Length())
	}
}

func TestWriteMahimahiRefused(t *testing.T) {
	steps := func(s ...course.Step) Way { return Way{Trace: &course.Config{Steps: s}} }
	for _, c := range []struct {
		w    Way
		want string
	}{
		{Way{}, "opportunities or steps"},
		{steps(course.Step{}), "a rate in every step"},
		{steps(course.Step{Rate: of(link.Rate(100))}), "bytes for one opportunity"},
		{steps(course.Step{Rate: of(link.Rate(400e9))}), "less than 8388608 opportunities"},
	} {
		linestest.Refused(t, c.want, WriteMahimahi(&bytes.Buffer{}, c.w, 10*link.Second), c.want)
	}
}

func FuzzMahimahi(f *testing.F) {
	for _, s := range []string{"1", "0\n0\n5\n10\n", "5\n3", "", "x", "1\n\n2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Mahimahi(linestest.File(text))
		if err != nil {
			linestest.Refused(t, "fuzz", err, "x")
			return
		}
		w.Delivery.Check(func(path, got, want string) { t.Errorf("%s: got %s, want %s", path, got, want) })
		var out bytes.Buffer
		if err := WriteMahimahi(&out, w, 0); err != nil {
			t.Fatal(err)
		}
		again, err := Mahimahi(lines.File{Name: "again", Reader: &out})
		if err != nil || !reflect.DeepEqual(w, again) {
			t.Fatalf("%v: %v is not %v", err, again.Delivery, w.Delivery)
		}
	})
}
