package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"farlink/appliance/traffic"
	"farlink/profiles/document"
)

// TestShipped reads every shipped experiment, whole and quick.
func TestShipped(t *testing.T) {
	names := Names()
	if len(names) < 3 {
		t.Fatal(names)
	}
	for _, name := range names {
		e, _, bad, err := Load(name, nil)
		if err != nil || len(bad) > 0 || e.Name != name || e.About == "" {
			t.Errorf("%s: %v %v", name, bad, err)
			continue
		}
		if n := len(e.Quick().Cells()); n != len(e.Settings) {
			t.Errorf("%s: %d quick cells", name, n)
		}
		if want := 16 * e.roundTrip(e.Profiles[0]); e.Quick().Traffic[0].Duration < min(want, e.Traffic[0].Duration) {
			t.Errorf("%s: quick traffic lasts %v, want 16 round trips, %v", name, e.Quick().Traffic[0].Duration, want)
		}
		if e.Traffic[0].Duration < e.Quick().Traffic[0].Duration {
			t.Errorf("%s: quick changes the experiment", name)
		}
	}
}

// wrong is an experiment with a fault in each part.
const wrong = `name = "A B"
profiles = ["geo/qirse-st", "geo/qirse-sat", "mine.toml", "none.toml"]
repetitons = 2
baseline = "nobody"
show = ["bulk"]

[[settings]]
name = "one"
[settings.overrides.down.queue]
rate = "fast"
[settings.pep]
enabled = true

[[settings]]
name = "one"
traffic = ["nothing"]
[settings.pep.wan]
congestion = "vegas2"

[[traffic]]
kind = "udp"

[[traffic]]
kind = "udp"
rate = "1Mbit/s"
duration = "1ms"

[[expect]]
metric = "bulk.goodput_bps"
`

// TestProblems: every mistake is found at once, with its line.
func TestProblems(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mine := write("mine.toml", "about = \"x\"\n[down.queue]\nrat = \"1Mbit/s\"\n")
	path := write("x.toml", wrong)
	e, _, bad, err := Load(path, nil)
	if e != nil || err != nil {
		t.Fatal(e, err)
	}
	var all strings.Builder
	for _, p := range bad {
		all.WriteString(p.String() + "\n")
	}
	for _, want := range []string{
		path + `:1:1: name: got "A B"`, path + `:2:13: profiles[0]: got "geo/qirse-st"`, path + `:2:59: profiles[3]: `, mine + `:3:1: down.queue.rat`,
		path + `:3:1: repetitons: got unknown key "repetitons", want "repetitions"`, path + `:4:1: baseline`, path + ":5:9: show[0]",
		path + ":10:1: settings[0].overrides.down.queue.rate", path + ":12:1: settings[0].pep.enabled", "settings[1].name", "settings[1].traffic[0]",
		"settings[1].pep.wan.congestion", "traffic[0].rate", "traffic[1].name", "traffic[1].duration", "expect[0].metric", "expect[0]",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no problem %s", want)
		}
	}
	if t.Failed() {
		t.Log(all.String())
	}
}

// TestFiles: a profile beside the document, and an experiment by no name.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	profile := "about = \"x\"\n[down.path]\ndelay = \"5ms\"\n"
	if err := os.WriteFile(filepath.Join(dir, "mine.toml"), []byte(profile), 0o644); err != nil {
		t.Fatal(err)
	}
	e, bad := Parse([]byte("name = \"x\"\nprofiles = [\"mine.toml\"]\n[[traffic]]\nkind = \"ping\"\n"), dir, nil)
	if e == nil || e.Files()["mine.toml"] != profile || len(e.Cells()) != 3 {
		t.Error(bad)
	}
	if _, _, _, err := Load("no-such", nil); !errors.As(err, new(Unknown)) {
		t.Error(err)
	}
	if _, bad := Parse([]byte("name = \"x\"\nprofiles = [\"mine/own\"]\n[[traffic]]\nkind = \"ping\"\n"), dir, func(string) bool { return true }); len(bad) > 0 {
		t.Error("a profile of the box:", bad)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		text, _ := Shipped(name)
		f.Add(text)
	}
	f.Add(pairDoc)
	f.Fuzz(func(t *testing.T, text string) {
		e, bad := Parse([]byte(text), "/nonexistent", nil)
		if (e == nil) == (len(bad) == 0) {
			t.Errorf("%v and %v", e, bad)
		}
	})
}

// TestReference: docs/bench/experiment.toml reads, and has every key.
func TestReference(t *testing.T) {
	const path = "../../docs/bench/experiment.toml"
	e, text, bad, err := Load(path, nil)
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	for _, of := range []reflect.Type{reflect.TypeFor[Experiment](), reflect.TypeFor[Setting](), reflect.TypeFor[Expect](), reflect.TypeFor[traffic.Load]()} {
		for _, f := range document.Fields(of) {
			if !regexp.MustCompile(`(?m)^(\[*[a-z.]*\.?` + f.Key + `\b[a-z.]*\]+|` + f.Key + ` = )`).MatchString(text) {
				t.Errorf("%s lacks %s", path, f.Key)
			}
		}
	}
	if len(e.Cells()) != 4 {
		t.Errorf("%d cells", len(e.Cells()))
	}
}

// TestGuide: the document in docs/bench.md reads.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) != 1 {
		t.Fatalf("%d documents", len(blocks))
	}
	if e, bad := Parse(blocks[0][1], t.TempDir(), nil); e == nil || len(bad) > 0 {
		t.Error(bad)
	}
	for _, name := range regexp.MustCompile("farlink run ([a-z][a-z-]+) ").FindAllSubmatch(text, -1) {
		if _, ok := Shipped(string(name[1])); !ok {
			t.Errorf("docs/bench.md runs %s, which does not ship", name[1])
		}
	}
}
