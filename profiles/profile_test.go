package profiles

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"farlink/emulator/link"
)

const bad = `name = "lab/bad"
down = 5

[up]
mtuu = 3
[up.queue]
rate = "8Mb"      # not a unit
limit = 64
[up.path]
delay = "2h"
[geo]
satellite = "east"
`

func TestAllProblemsAtOnce(t *testing.T) {
	p, problems := Parse([]byte(bad))
	if p != nil {
		t.Error("a bad document gave a profile")
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.In("bad.toml").String())
	}
	want := []string{
		`bad.toml:2:1: down: got 5, want a table [down]`,
		`bad.toml:5:1: up.mtuu: got unknown key "mtuu", want "mtu" (the nearest known key)`,
		`bad.toml:7:1: up.queue.rate: got rate "8Mb": unknown unit "Mb", want "8Mbit/s" (bit/s, kbit/s, Mbit/s, Gbit/s) or "unlimited"`,
		`bad.toml:8:1: up.queue.limit: got 64, want text with a unit, in quotes, such as "500kB", "60packets" or "100ms"`,
		`bad.toml:10:1: up.path.delay: got 7200s, want 0..1h`,
		`bad.toml:12:1: geo.satellite: got "east", want a number`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A document that cannot be read whole is checked as far as it can be: what
// has nothing to do with the rest, and what follows from nothing unread.
func TestChecksBesideUnread(t *testing.T) {
	_, problems := Parse([]byte(`[down]
mtuu = 3
[down.queue]
rate = "1Gbit/s"
limit = "2MB"
[down.path]
delay = "250ms"
[up.wlan]
rate = 8
[up.carrier]
symbol_rat = 1e6
[up.carrier.downlink]
es_n0 = 9.0
[[timeline]]
cut = "left"
`))
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprint(p.Line, " ", p.Path))
	}
	want := []string{"2 down.mtuu", "5 down.queue.limit", "9 up.wlan.rate", "10 up.carrier", "11 up.carrier.symbol_rat", "15 timeline[0].cut"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q\n%v", got, want, problems)
	}
}

// What is wrong whatever an unread quantity is stands beside it; what only
// some values make wrong does not.
func TestChecksWhateverTheUnread(t *testing.T) {
	for doc, want := range map[string][]string{
		"[down.queue]\nrate = \"8Mb\"\n[down.queue.codel]\ntarget = \"5ms\"\n":                {"2 down.queue.rate", "3 down.queue.codel"},
		"[down.queue]\nrate = \"8Mb\"\nlimit = \"10kB\"\n[down.path]\ndelay = \"250ms\"\n":    {"2 down.queue.rate"},
		"[down.queue]\nrate = \"8Mb\"\ndiscipline = \"codel\"\n":                              {"2 down.queue.rate"},
		"[down.queue]\nrate = 8\n[down.queue.pie]\n[up.path]\ndelay = \"2h\"\n":               {"2 down.queue.rate", "3 down.queue.pie", "5 up.path.delay"},
		"[down.queue]\nratt = \"8Mbit/s\"\n[down.queue.codel]\ntarget = \"5ms\"\n[up]\nx = 1": {"2 down.queue.ratt", "3 down.queue.codel", "6 up.x"},
	} {
		_, problems := Parse([]byte(doc))
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprint(p.Line, " ", p.Path))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q, want %q\n%v", doc, got, want, problems)
		}
	}
}

// 250 ms · 1 Gbit/s / 8 = 31.25 MB; 2 MB · 8 / 250 ms = 64 Mbit/s.
func TestBufferTooSmall(t *testing.T) {
	doc := `name = "x"
[down.queue]
rate = "1Gbit/s"
limit = "2MB"
[down.path]
delay = "250ms"
`
	_, problems := Parse([]byte(doc))
	if len(problems) != 1 {
		t.Fatalf("problems: %v", problems)
	}
	got := problems[0].String()
	const want = "4:1: down.queue.limit: got 2MB, want 250ms at 1Gbit/s needs 31MB of queue, limit is 2MB: would cap at 64Mbit/s; raise or omit the limit, or say shallow_queue = true"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if p, problems := Parse([]byte(strings.Replace(doc, "[down.queue]", "[down]\nshallow_queue = true\n[down.queue]", 1))); p == nil {
		t.Errorf("shallow_queue: %v", problems)
	}
}

func TestSyntax(t *testing.T) {
	_, problems := Parse([]byte("name = \"x\"\n\n[down]]\n"))
	if len(problems) != 1 || problems[0].Line != 3 {
		t.Errorf("TOML: %v, want one problem in line 3", problems)
	}
	_, problems = ParseJSON([]byte("{\"name\": \"x\",\n\"down\": }"))
	if len(problems) != 1 || problems[0].Line != 2 {
		t.Errorf("JSON: %v, want one problem in line 2", problems)
	}
	for _, doc := range []string{"[]", "null", "3", "", "{} {}"} {
		if p, problems := ParseJSON([]byte(doc)); p != nil || len(problems) != 1 {
			t.Errorf("JSON %q: %v, %v", doc, p, problems)
		}
	}
}

// Every shipped profile reads back from both its forms as itself.
func TestRoundTrip(t *testing.T) {
	all, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		fromTOML, problems := Parse(s.Canonical())
		if fromTOML == nil {
			t.Fatalf("%s: canonical form: %v\n%s", s.Name, problems, s.Canonical())
		}
		fromJSON, problems := ParseJSON(s.JSON())
		if fromJSON == nil {
			t.Fatalf("%s: JSON: %v\n%s", s.Name, problems, s.JSON())
		}
		for _, p := range []*Profile{fromTOML, fromJSON} {
			if !reflect.DeepEqual(p, s.Profile) || p.Hash() != s.Hash() {
				t.Errorf("%s: read back as\n%s\nwant\n%s", s.Name, p.Canonical(), s.Canonical())
			}
		}
	}
}

// Comments, order and spelling do not matter to the hash; values do.
func TestHash(t *testing.T) {
	hash := func(doc string) string {
		p, problems := Parse([]byte(doc))
		if p == nil {
			t.Fatal(problems)
		}
		return p.Hash()
	}
	a := hash("name = \"x\"\n[up.queue]\nrate = \"8Mbit/s\"\n")
	b := hash("# the same\nup = {queue = {rate = '8000kbit/s'}}\nname = \"x\"")
	c := hash("name = \"x\"\n[up.queue]\nrate = \"8001kbit/s\"\n")
	if a != b || a == c || len(a) != 64 {
		t.Errorf("hashes %s %s %s", a, b, c)
	}
}

// RFC 7396: what is named is replaced, null removes, the rest stays.
func TestMerge(t *testing.T) {
	s, err := Lookup("geo/qirse-sat")
	if err != nil {
		t.Fatal(err)
	}
	p, problems := s.Merge([]byte(`{"down": {"loss": {"probability": 0.01}, "path": null}}`))
	if p == nil {
		t.Fatal(problems)
	}
	if p.Down.Loss.Probability != 0.01 || p.Down.Path.Delay != 0 || p.Down.Queue.Rate != s.Down.Queue.Rate {
		t.Errorf("merged into\n%s", p.Canonical())
	}
	if s.Down.Loss.Probability != 0 || s.Down.Path.Delay != 300*link.Millisecond {
		t.Error("the profile itself changed")
	}
	for _, patch := range []string{`3`, `null`, `{`, `{"down": 3}`, `{"donw": {}}`, `{"up": {"path": {"delay": "3"}}}`} {
		if p, problems := s.Merge([]byte(patch)); p != nil || len(problems) != 1 {
			t.Errorf("patch %s: %v, want one problem", patch, problems)
		}
	}
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]string{
		"qirse-sat":     `did you mean "geo/qirse-sat"?`,
		"geo/qirse-sta": `did you mean "geo/qirse-sat"?`,
		"../profile":    `want a name such as`,
		"mesh":          `unknown profile "mesh"; did you mean "geo/mesh"?`,
		"xyzzy":         "those that there are",
	} {
		if _, err := Lookup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

func TestLibraryNames(t *testing.T) {
	for _, name := range Names() {
		s, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != name || s.About == "" || s.Source == "" {
			t.Errorf("%s: named %q, about %q, source %q", name, s.Name, s.About, s.Source)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(bad))
	for _, name := range Names() {
		s, err := Lookup(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s.Text)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, problems := Parse(doc)
		if p == nil {
			if len(problems) == 0 {
				t.Fatal("no profile and no problem")
			}
			for _, p := range problems {
				if p.Line < 1 || p.Got == "" || p.Want == "" {
					t.Errorf("problem without its parts: %#v", p)
				}
			}
			return
		}
		q, problems := Parse(p.Canonical())
		if q == nil || q.Hash() != p.Hash() {
			t.Fatalf("canonical form does not read back: %v\n%s", problems, p.Canonical())
		}
		if q, problems := ParseJSON(p.JSON()); q == nil || q.Hash() != p.Hash() {
			t.Fatal(fmt.Sprintf("JSON does not read back: %v\n%s", problems, p.JSON()))
		}
	})
}

// A document that begins with a brace is JSON, since no TOML does.
func TestParseReadsEither(t *testing.T) {
	as := func(doc string) string {
		p, problems := Parse([]byte(doc))
		if p == nil {
			t.Fatal(problems)
		}
		return p.Hash()
	}
	if toml, json := as("[down.queue]\nrate = \"8Mbit/s\"\n"), as(` {"down": {"queue": {"rate": "8Mbit/s"}}}`); toml != json {
		t.Errorf("hash %s of TOML, %s of the same as JSON", toml, json)
	}
}

// A key that is known one table deeper was meant there.
func TestKeyOfDeeperTable(t *testing.T) {
	for doc, want := range map[string]string{
		"[up]\nrate = \"8Mbit/s\"\n":      `2:1: up.rate: got unknown key "rate", want "up.queue.rate"`,
		"[down]\nspread = \"8ms\"\n":      `unknown key "spread"`,
		"[down.path]\nspread = \"8ms\"\n": `want "down.path.jitter.spread"`,
		"[up.queue]\nrat = \"8Mbit/s\"\n": `want "rate" (the nearest known key)`,
	} {
		_, problems := Parse([]byte(doc))
		if len(problems) == 0 || !strings.Contains(problems[0].String(), want) {
			t.Errorf("%s: %v, want %s", doc, problems, want)
		}
	}
}
