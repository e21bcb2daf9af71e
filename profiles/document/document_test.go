package document

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"farlink/emulator/link"
)

// The index finds every key of a document of all the spellings of TOML.
func TestLines(t *testing.T) {
	doc := `a = 1 # one
b.c = "x#"
"d e" = '''
text
[no]
''' # seven
f = [
  1, 2, # eight
  { g = 2 } ]
[h]
i = {j = 1, k = [3]}
[[l]]
m = """
\"""
"""
[[l]]
m = 'x'
[l.n]
o = 2026-01-01
[[l.p]]
q = 0x1F
`
	got := indexTOML(doc)
	for path, line := range map[string]int{
		"a": 1, "b": 2, "b.c": 2, "d e": 3, "f": 7, "f[0]": 8, "f[1]": 8, "f[2]": 9, "f[2].g": 9,
		"h": 10, "h.i": 11, "h.i.j": 11, "h.i.k": 11, "h.i.k[0]": 11, "l[0]": 12, "l[0].m": 13,
		"l[1]": 16, "l[1].m": 17, "l[1].n": 18, "l[1].n.o": 19, "l[1].p[0]": 20, "l[1].p[0].q": 21,
	} {
		if got[path].Line != line {
			t.Errorf("%s: %v, want line %d", path, got[path], line)
		}
	}
	for path, column := range map[string]int{"a": 1, "f[0]": 3, "f[1]": 6, "f[2]": 3, "f[2].g": 5, "h.i": 1, "h.i.j": 6, "h.i.k": 13, "l[1]": 1} {
		if got[path].Column != column {
			t.Errorf("%s: %v, want column %d", path, got[path], column)
		}
	}
	if len(got) != 22 {
		t.Errorf("%d keys, want 22: %v", len(got), got)
	}
}

// thing has a field of every kind.
type thing struct {
	Inner
	Text  string            `toml:"text"`
	Yes   bool              `toml:"yes"`
	Whole int               `toml:"whole"`
	Small uint8             `toml:"small"`
	Large uint64            `toml:"large"`
	Real  float64           `toml:"real"`
	Rate  link.Rate         `toml:"rate"`
	Delay *link.Duration    `toml:"delay"`
	List  []int64           `toml:"list"`
	Pair  [2]float64        `toml:"pair"`
	Names map[string]string `toml:"names"`
	Any   map[string]any    `toml:"any"`
	Table *Inner            `toml:"table"`
	Many  []Inner           `toml:"many"`
	Not   int               `toml:"-"`
	Plain int
}

type Inner struct {
	Deep string `toml:"deep"`
}

func whole() thing {
	d := 250 * link.Millisecond
	return thing{
		Inner: Inner{"q\"\\\n\t\x01é"}, Text: "x", Yes: true, Whole: -3, Small: 255, Large: 1 << 40, Real: 1e-7,
		Rate: 8 * link.MegabitPerSecond, Delay: &d, List: []int64{1, 2}, Pair: [2]float64{1, 2.5},
		Names: map[string]string{"a b": "c", "d": "e"}, Any: map[string]any{"n": int64(5), "t": map[string]any{"u": true}},
		Table: &Inner{"y"}, Many: []Inner{{"1"}, {"2"}},
	}
}

func TestRoundTrip(t *testing.T) {
	want := whole()
	var fromTOML, fromJSON thing
	if p := ReadTOML(TOML(want), &fromTOML); p != nil || !reflect.DeepEqual(fromTOML, want) {
		t.Errorf("TOML: %v\n%s\n%+v", p, TOML(want), fromTOML)
	}
	if p := ReadJSON(JSON(want), &fromJSON); p != nil || !reflect.DeepEqual(fromJSON, want) {
		t.Errorf("JSON: %v\n%s\n%+v", p, JSON(want), fromJSON)
	}
	want.Large = math.MaxUint64 // TOML's numbers end at 2^63
	if p := ReadJSON(JSON(want), &fromJSON); p != nil || fromJSON.Large != math.MaxUint64 {
		t.Errorf("JSON: %v, %d", p, fromJSON.Large)
	}
}

// Wrong types, one each: what stands there, and what is wanted.
func TestTypes(t *testing.T) {
	for doc, want := range map[string]string{
		`text = 3`:            `1: text: got 3, want text in quotes`,
		`yes = "no"`:          `1: yes: got "no", want true or false`,
		`whole = 1.5`:         `1: whole: got 1.5, want a whole number`,
		`small = 256`:         `1: small: got 256, want a whole number from 0 to 255`,
		`small = -1`:          `1: small: got -1, want a whole number from 0 to 255`,
		`real = "x"`:          `1: real: got "x", want a number`,
		`real = inf`:          `1: real: got +Inf, want a number`,
		`rate = 8`:            `1: rate: got 8, want text with a unit, in quotes, such as "8Mbit/s"`,
		`delay = "3"`:         `1: delay: got duration "3" has no unit, want "250ms" (ns, us, ms, s, m, h)`,
		`list = 3`:            `1: list: got 3, want a list [ … ]`,
		`list = [1, "x"]`:     `1:12: list[1]: got "x", want a whole number`,
		`pair = [1.0]`:        `1: pair: got 1 elements, want 2`,
		`names = 3`:           `1: names: got 3, want a table [names]`,
		`table = [1]`:         `1: table: got a list, want a table [table]`,
		`many = [{deep = 1}]`: `1:10: many[0].deep: got 1, want text in quotes`,
		`deap = "x"`:          `1: deap: got unknown key "deap", want "deep" (the nearest known key)`,
		`bar = 1`:             `1: bar: got unknown key "bar", want one of deep, text, yes,`,
		"\n[[bar]]\n":         `2:1: bar: got unknown key "bar", want one of deep,`,
		"yes = true\n[bar.a]": `2:1: bar: got unknown key "bar", want one of deep,`,
		"[bar.a]\n[bar]":      `2:1: bar: got unknown key "bar", want one of deep,`,
		`Plain = 1`:           `want one of deep, text, yes,`,
		"text = \"" + strings.Repeat("x", 80) + "\"\nyes = \"" + strings.Repeat("y", 80) + "\"": `…, want true or false`,
		`text = `:                    `want a TOML document`,
		"text = \"a\"\ntext = \"b\"": `2: text: got Key 'text' has already been defined., want a TOML document`,
	} {
		p := ReadTOML([]byte(doc), &thing{})
		if len(p) != 1 || !strings.Contains(p[0].String(), want) {
			t.Errorf("%s: got %v, want %s", doc, p, want)
		}
	}
}

// Documents that cost the library minutes and gigabytes are refused at once.
func TestTooDeep(t *testing.T) {
	for doc, line := range map[string]int{
		"a = 1\nx = " + strings.Repeat("{a=", 100_000):                      2,
		"x = " + strings.Repeat("[\n", 100_000):                             33,
		"[" + strings.Repeat("a.", 100_000) + "a]":                          1,
		"# {{{{{{{\ns = '{{'\n" + strings.Repeat("'a'.", 100_000) + "a = 1": 3,
	} {
		p := ReadTOML([]byte(doc), &thing{})
		if len(p) != 1 || p[0].Line != line || p[0].Want != "at most 32 levels" {
			t.Errorf("%.20q: got %v, want line %d refused", doc, p, line)
		}
	}
	if p := ReadJSON([]byte(strings.Repeat(`{"a":`, 9_000)+"1"+strings.Repeat("}", 9_000)), &thing{}); len(p) != 1 || p[0].Want != "at most 32 levels" {
		t.Errorf("JSON: %v", p)
	}
	many := "any = {t = 1.5, u = " + strings.Repeat("[", 30) + strings.Repeat("]", 30) + "}\n" +
		"text = '" + strings.Repeat("{[.", 100) + "' # " + strings.Repeat("{[.", 100)
	if p := ReadTOML([]byte(many), &thing{}); p != nil {
		t.Error(p)
	}
	if d := Distance(strings.Repeat("x", 1_000_000), "x"); d != 1_000_000 {
		t.Errorf("distance %d of words that are too long", d)
	}
}

// RFC 7396, appendix A: the examples that have objects.
func TestMergePatch(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		r := &Reader{}
		got := Merge(r.AnyJSON([]byte(c[0])), r.AnyJSON([]byte(c[1])))
		if want := r.AnyJSON([]byte(c[2])); !reflect.DeepEqual(got, want) {
			t.Errorf("%s with %s: %v, want %v", c[0], c[1], got, want)
		}
	}
}

func TestProblem(t *testing.T) {
	p := Problem{Place: Place{3, 7}, Path: "a.b", Got: "1", Want: "2", Level: Warning, Rule: "r"}.In("f.toml")
	if got, want := fmt.Sprint(p), "f.toml:3:7: warning: a.b: got 1, want 2 [r]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if Fatal([]Problem{p}) || !Fatal([]Problem{p, {}}) {
		t.Error("a warning is fatal, or an error is not")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(TOML(whole()))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var a, b thing
		if ReadTOML(doc, &a) != nil {
			return
		}
		if p := ReadTOML(TOML(a), &b); p != nil || string(TOML(a)) != string(TOML(b)) {
			t.Fatalf("%v\n%s\n%s", p, TOML(a), TOML(b))
		}
	})
}

// JSON has places too.
func TestJSONPlaces(t *testing.T) {
	p := ReadJSON([]byte(`{
  "text": "a: {",
  "list": [1,
    "x"],
  "names": {"a.b": 3, "c":
    4},
  "wrong" : 5
}`), &thing{})
	var got []string
	for _, p := range p {
		got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Path))
	}
	if want := []string{"4:5 list[1]", "5:13 names.a.b", "5:23 names.c", "7:3 wrong"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
