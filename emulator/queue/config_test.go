package queue

import (
	"slices"
	"testing"

	"farlink/emulator/link"
)

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]Limit{
		"500kB": {Bytes: 500_000}, "2MiB": {Bytes: 2 << 20}, "60packets": {Packets: 60}, "60 packets": {Packets: 60},
		"100ms": {Time: 100 * link.Millisecond}, "1.5s": {Time: 1500 * link.Millisecond},
	} {
		got, err := ParseLimit(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
		b, _ := got.MarshalText()
		if again, err := ParseLimit(string(b)); err != nil || again != want {
			t.Errorf("%q written as %q, read as %+v, %v", text, b, again, err)
		}
	}
	for _, text := range []string{"", "0", "0B", "0ms", "0packets", "-3packets", "packets", "1.5packets", "60", "many"} {
		if got, err := ParseLimit(text); err == nil {
			t.Errorf("%q: read as %+v", text, got)
		}
	}
}

// FuzzParseLimit: what is read is written so that it is read the same.
func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"500kB", "60packets", "100ms", "", "9e9B", "1.0001s", "0.5KiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLimit(s)
		if err != nil {
			return
		}
		if again, err := ParseLimit(l.String()); err != nil || again != l {
			t.Errorf("%q is %+v, written %q, read %+v, %v", s, l, l.String(), again, err)
		}
	})
}

func TestCheck(t *testing.T) {
	const mbit = link.MegabitPerSecond
	for _, c := range []struct {
		config Config
		want   []string
	}{
		{Config{}, nil},
		{Config{Rate: mbit, Discipline: "codel", ECN: true, CoDel: &CoDelConfig{Interval: 6e8}}, nil},
		{Config{Rate: 5}, []string{"rate"}},
		{Config{Rate: mbit, Discipline: "blue"}, []string{"discipline"}},
		{Config{Discipline: "pie"}, []string{"discipline"}},
		{Config{Rate: mbit, ECN: true}, []string{"ecn"}},
		{Config{Rate: mbit, Discipline: "red", PIE: &PIEConfig{}}, []string{"pie"}},
		{Config{Rate: mbit, Discipline: "red", RED: &REDConfig{Least: 2, Most: 1, Probability: 2, Weight: -1}},
			[]string{"red.probability", "red.weight", "red.most"}},
		{Config{Rate: mbit, Discipline: "red", RED: &REDConfig{Least: 2}}, []string{"red.most"}},
		{Config{Rate: mbit, Discipline: "codel", CoDel: &CoDelConfig{Target: 2, Interval: 1}}, []string{"codel.target"}},
		{Config{Rate: mbit, Discipline: "pie", PIE: &PIEConfig{Update: 2e9}}, []string{"pie.update"}},
		{Config{FramingConfig: FramingConfig{Framing: "l4", Overhead: 1e5, Minimum: 1e5, CellOverhead: 5}},
			[]string{"framing", "overhead", "minimum", "cell_overhead"}},
		{Config{FramingConfig: FramingConfig{Cell: 1e5}}, []string{"cell"}},
	} {
		var got []string
		c.config.Check(func(path, _, want string) {
			got = append(got, path)
			if want == "" {
				t.Errorf("%s: nothing wanted", path)
			}
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: problems at %q, want %q", c.config, got, c.want)
		}
	}
}

// TestCheckBuffer: 8 Mbit/s and 500 ms need 500 kB; 50 packets of dummynet's
// hold 75.7 kB of them, a limit of 600 ms holds 600 kB.
func TestCheckBuffer(t *testing.T) {
	for limit, want := range map[Limit]string{
		{Packets: 50}:                  "500kB or more: 500ms at 8Mbit/s needs it; 75.7kB would cap a window at 1211.2kbit/s",
		{Bytes: 499_999}:               "500kB or more: 500ms at 8Mbit/s needs it; 499.999kB would cap a window at 7999.984kbit/s",
		{Bytes: 500_000}:               "",
		{Time: 600 * link.Millisecond}: "",
		{}:                             "",
	} {
		got := ""
		c := Config{Rate: 8 * link.MegabitPerSecond, Limit: limit}
		c.CheckBuffer(500*link.Millisecond, func(_, _, want string) { got = want })
		if got != want {
			t.Errorf("%v: %q, want %q", limit, got, want)
		}
	}
	if c := (Config{Rate: 64_000}).Complete(link.Millisecond); c.Limit.Bytes != 15_140 {
		t.Errorf("least default limit %v, want 15.14kB", c.Limit)
	}
}
