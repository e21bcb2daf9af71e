package carriers

import (
	"bytes"
	"strings"
	"testing"
)

// asPublished is a matrix in which everything of seed 000 holds: sum 54.11.
func asPublished() *Result {
	r := &Result{Carriers: []string{"skt", "kt"}, SumMbps: 54.11, Cells: map[string]map[string][]float64{}, Single: map[string]map[string][]float64{}}
	fill := func(into map[string]map[string][]float64, row string, values ...float64) {
		for i, c := range Controls {
			put(into, row, c, values[i])
		}
	}
	//                              lia olia balia wvegas reno cubic bbr
	fill(r.Cells, "minrtt", 25, 25, 25, 10, 40, 46, 45)
	fill(r.Cells, "roundrobin", 25, 25, 25, 10, 42, 41, 45)
	fill(r.Cells, "redundant", 24, 24, 24, 9, 25, 27, 30)
	fill(r.Cells, "blest", 26, 26, 26, 11, 42, 45, 48.6)
	fill(r.Cells, "ecf", 25, 25, 25, 10, 42, 44, 47)
	fill(r.Single, "skt", 14, 14, 14, 6, 15, 16.14, 18.36)
	fill(r.Single, "kt", 25, 25, 25, 12, 28, 30.1, 30.1)
	return r
}

func TestVerdicts(t *testing.T) {
	r := asPublished()
	for _, v := range r.Verdicts() {
		if !v.Holds {
			t.Errorf("%s: %s", v.Claim, v.Found)
		}
	}
	// Each change breaks what it should, and shows who broke it.
	for _, c := range []struct {
		scheduler, control string
		mbps               float64
		claim, found       string
	}{
		{"blest", "bbr", 40, "the best cell", "minrtt with cubic"}, // no: ecf with bbr 47
		{"roundrobin", "wvegas", 300, "uncoupled", "roundrobin"},
		{"ecf", "lia", 31, "coupled controls", "31.0"},
		{"minrtt", "bbr", 47, "CUBIC is", "bbr is"},
		{"redundant", "cubic", 33, "Redundant", "cubic"},
		{"ecf", "reno", 45, "Reno is the lowest", "ecf"},
		{"minrtt", "reno", 20, "multipath", "minrtt"},
		{"ecf", "wvegas", 26, "wVegas", "ecf"},
	} {
		r := asPublished()
		r.Cells[c.scheduler][c.control] = []float64{c.mbps}
		broken := false
		for _, v := range r.Verdicts() {
			if strings.HasPrefix(v.Claim, c.claim) {
				broken = !v.Holds && (strings.Contains(v.Found, c.found) || c.claim == "the best cell")
			}
		}
		if !broken {
			t.Errorf("%s with %s at %v: %q still holds, or does not name %s", c.scheduler, c.control, c.mbps, c.claim, c.found)
		}
	}
}

// A report has every channel beside the other: where the first is as published
// and the second has CUBIC in front with BLEST and a poor BBR on one path alone, two
// orderings tell them apart, and one number.
func TestReport(t *testing.T) {
	r := Report{Plan: Quick}
	r.Add("clean", "constant rates", asPublished())
	other := asPublished()
	other.Cells["blest"]["cubic"], other.Single["kt"]["bbr"] = []float64{50}, []float64{20}
	other.Carriers = []string{"skt", "kt"}
	r.Add("fading", "shadows", other)
	var out bytes.Buffer
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for _, l := range strings.Split(out.String(), "\n") {
		lines[strings.Join(strings.Fields(l), " ")] = true
	}
	for _, want := range []string{
		"BLEST with BBR over both, the best cell 48.60 48.6 = 48.6 =",
		"second carrier (KT) alone, BBR 27.70 30.1 = 20.0 less",
		"blest 26.0 | 26.0 26.0 | 26.0 26.0 | 26.0 11.0 | 11.0 42.0 | 42.0 45.0 | 50.0 48.6 | 48.6",
		"skt 14.0 | 14.0 14.0 | 14.0 14.0 | 14.0 6.0 | 6.0 15.0 | 15.0 16.1 | 16.1 18.4 | 18.4",
		"fading ##################################### 92.4 %", // 50 of 54.11: 37 of 40
		"yes no BBR is the best control with RR, Redundant, BLEST and ECF",
		"yes yes wVegas is the worst control, over both and alone",
		"clean: 11 of 11", "fading: 9 of 11",
	} {
		if !lines[want] {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
}

// The median of an even number is between the middle two.
func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}} {
		if got := median(c.v); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.v, got, c.want)
		}
	}
}
