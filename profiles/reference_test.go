package profiles

import (
	"bytes"
	"encoding"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"farlink/profiles/document"
)

var update = flag.Bool("update", false, "write docs/reference.toml anew from the doc comments of the configurations")

const reference = "../docs/reference.toml"

// docs/reference.toml is what the configurations say of themselves: written
// from their doc comments, read back here, key by key.
func TestReference(t *testing.T) {
	w := &referee{comments: readComments(t), said: map[string]bool{}}
	w.say("Every key of a profile. No profile has them all: a way has one server (queue, with or without\n" +
		"carrier; wlan; delivery; train; or the profile's lte, leo, nr, dama), and most tables are left out.\n" +
		"Written by `go test ./profiles -run TestReference -update` from the doc comments of the\nconfigurations. Quantities are text: \"8Mbit/s\", \"2MB\", \"250ms\".")
	w.table("", "", reflect.TypeFor[Profile]())
	if *update {
		if err := os.WriteFile(reference, w.b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(doc, w.b.Bytes()) {
		t.Error("docs/reference.toml is not what the configurations say: go test ./profiles -run TestReference -update")
	}
	checkReference(t, doc)
}

// The examples of docs/profiles.md are documents without a problem.
func TestExamples(t *testing.T) {
	doc, err := os.ReadFile("../docs/profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllSubmatch(doc, -1)
	if len(blocks) < 2 {
		t.Fatalf("%d examples", len(blocks))
	}
	for _, b := range blocks {
		text := string(b[1])
		if _, problems := Parse([]byte(text)); len(problems) > 0 {
			t.Errorf("%v in\n%s", problems, text)
		}
	}
}

// docs/profiles.md lists the lint rules as the code has them.
func TestRulesDocumented(t *testing.T) {
	const file = "../docs/profiles.md"
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| rule | what it finds |\n|---|---|\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name, r.About)
	}
	table := regexp.MustCompile(`(?s)\| rule \|.*?\n\n|@RULES@\n\n`)
	want := table.ReplaceAllLiteral(doc, []byte(b.String()+"\n"))
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(doc, want) {
		t.Error("docs/profiles.md does not list the rules as they are: go test ./profiles -run Documented -update")
	}
}

// checkReference reads the document as users' documents are read.
func checkReference(t *testing.T, doc []byte) {
	r := &reader{}
	p := &Profile{}
	r.Table("", r.TOML(doc), reflect.ValueOf(p).Elem())
	for _, problem := range r.Problems {
		t.Error(problem.In("docs/reference.toml"))
	}
	r.Problems = nil
	r.check(p)
	for _, problem := range r.Problems {
		// The document has everything at once, and so both of each
		// "either, or".
		if problem.Level == Error && !eitherOr.MatchString(problem.Got+" "+problem.Want) {
			t.Error(problem.In("docs/reference.toml"))
		}
	}
	for _, path := range keysOf("", reflect.TypeFor[Profile]()) {
		_, ok := r.Places[path]
		if _, list := r.Places[path+"[0]"]; !ok && !list && !strings.HasPrefix(path, "up.") {
			t.Errorf("docs/reference.toml does not have %s", path)
		}
	}
}

var eitherOr = regexp.MustCompile(`either|instead|beside|one model|no rate|no queue|no carrier|not both|or no table|or a |leo\.`)

// keysOf lists every key under t.
func keysOf(path string, t reflect.Type) (keys []string) {
	for _, f := range document.Fields(t) {
		ft := t.FieldByIndex(f.Index).Type
		key := document.Join(path, f.Key)
		keys = append(keys, key)
		if inner, list := structOf(ft); inner != nil {
			if list {
				key += "[0]"
			}
			keys = append(keys, keysOf(key, inner)...)
		}
	}
	return keys
}

// structOf returns the struct that a field's table is read into, nil if it
// takes a value.
func structOf(t reflect.Type) (inner reflect.Type, list bool) {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil, false
	}
	switch t.Kind() {
	case reflect.Pointer:
		return structOf(t.Elem())
	case reflect.Slice:
		inner, _ = structOf(t.Elem())
		return inner, true
	case reflect.Struct:
		return t, false
	}
	return nil, false
}

// referee writes the reference.
type referee struct {
	b        bytes.Buffer
	comments map[string]string // "stage.PathConfig.Delay", "stage.PathConfig"
	said     map[string]bool   // types whose keys are explained above
}

func (w *referee) say(text string) {
	for line := range strings.SplitSeq(wrap(text, 96), "\n") {
		fmt.Fprintln(&w.b, strings.TrimRight("# "+line, " "))
	}
}

func wrap(text string, width int) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		n := 0
		for j, word := range strings.Fields(line) {
			if j > 0 && n+1+len(word) > width {
				b.WriteByte('\n')
				n = 0
			} else if j > 0 {
				b.WriteByte(' ')
				n++
			}
			b.WriteString(word)
			n += len(word)
		}
	}
	return b.String()
}

// table writes the keys of t: values first, tables behind them.
func (w *referee) table(path, plain string, t reflect.Type) {
	fields := document.Fields(t)
	said := w.said[t.String()]
	w.said[t.String()] = true
	for _, f := range fields {
		sf := t.FieldByIndex(f.Index)
		if inner, _ := structOf(sf.Type); inner == nil {
			if text := w.comment(t, f.Index); text != "" && !said {
				w.b.WriteByte('\n')
				w.say(text)
			}
			fmt.Fprintf(&w.b, "%s = %s\n", f.Key, w.example(document.Join(plain, f.Key), sf.Type, w.comment(t, f.Index)))
		}
	}
	for _, f := range fields {
		sf := t.FieldByIndex(f.Index)
		inner, list := structOf(sf.Type)
		if inner == nil {
			continue
		}
		w.b.WriteByte('\n')
		if path == "" && f.Key == "up" {
			w.say("from the device: the same keys as [down]")
			fmt.Fprint(&w.b, "[up]\n")
			continue
		}
		text := w.comment(t, f.Index)
		if w.said[inner.String()] {
			text += " (keys as above)"
		} else if of := w.comments[inner.String()]; of != "" && !strings.Contains(text, of) {
			text = strings.TrimSpace(text + "\n" + of)
		}
		w.say(strings.TrimPrefix(text, "\n"))
		header := "[%s]\n"
		if list {
			header = "[[%s]]\n"
		}
		fmt.Fprintf(&w.b, header, document.Join(path, f.Key))
		w.table(document.Join(path, f.Key), document.Join(plain, f.Key), inner)
	}
}

// comment returns what the field says of itself, with the keys of its table
// in place of the names of fields.
func (w *referee) comment(t reflect.Type, index []int) string {
	for len(index) > 1 {
		t = t.Field(index[0]).Type
		index = index[1:]
	}
	text := w.comments[t.String()+"."+t.Field(index[0]).Name]
	for _, f := range document.Fields(t) {
		if len(f.Index) == 1 {
			name := t.Field(f.Index[0]).Name
			text = regexp.MustCompile(`\b`+name+`\b`).ReplaceAllString(text, f.Key)
		}
	}
	return text
}

// example returns a value for a key: the one listed for the longest tail of
// its path, else the first that the comment quotes, else one of its type.
func (w *referee) example(path string, t reflect.Type, comment string) string {
	for tail := path; tail != ""; {
		if e, ok := examples[tail]; ok {
			return e
		}
		_, tail, _ = strings.Cut(tail, ".")
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.String() {
	case "link.Rate":
		return `"8Mbit/s"`
	case "link.Size":
		return `"64kB"`
	case "link.Duration":
		return `"100ms"`
	case "queue.Limit":
		return `"500kB"`
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true"
	case reflect.String:
		if m := quoted.FindString(comment); m != "" {
			return m
		}
		return `"…"`
	case reflect.Float64:
		return "0.01"
	case reflect.Slice:
		return "[" + w.example(path+"[]", t.Elem(), comment) + "]"
	case reflect.Map:
		return "{}"
	}
	return "1"
}

var quoted = regexp.MustCompile(`"[^"]+"`)

// readComments reads the doc comments of the configurations' sources.
func readComments(t *testing.T) map[string]string {
	comments := map[string]string{}
	for _, dir := range []string{".", "../emulator/frame", "../emulator/stage", "../emulator/course", "../emulator/opportunity", "../emulator/air", "../emulator/queue", "../emulator/sat", "../emulator/leo", "../emulator/orbit", "../emulator/lte", "../emulator/lte/radio", "../emulator/nr", "../emulator/dama"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(files)
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if g, ok := n.(*ast.GenDecl); ok {
					readTypes(f.Name.Name, g, comments)
				}
				return true
			})
		}
	}
	return comments
}

func readTypes(pkg string, g *ast.GenDecl, comments map[string]string) {
	for _, spec := range g.Specs {
		ts, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		st, ok := ts.Type.(*ast.StructType)
		if !ok {
			continue
		}
		name := pkg + "." + ts.Name.Name
		comments[name] = sentence(g.Doc.Text(), ts.Name.Name)
		for _, f := range st.Fields.List {
			for _, id := range f.Names {
				text := strings.Join(strings.Fields(f.Doc.Text()), " ")
				if line := f.Comment.Text(); line != "" {
					text = strings.TrimSpace(text + " " + strings.TrimSpace(line))
				}
				comments[name+"."+id.Name] = text
			}
		}
	}
}

// sentence drops "FooConfig is " from a type's comment.
func sentence(doc, name string) string {
	var text []string
	for line := range strings.Lines(doc) {
		if !strings.HasPrefix(line, "\t") { // no pictures
			text = append(text, strings.Fields(line)...)
		}
	}
	doc = strings.Join(text, " ")
	doc = strings.TrimPrefix(strings.TrimPrefix(doc, name+" "), "is ")
	return doc
}
