package farlink

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// floorRow matches a row of the floors table: "| F1 | `emulator/stage` |". A
// half floor (F0.5) is a landing: what several packages of the next floor share.
var floorRow = regexp.MustCompile("^\\| (F[0-7](?:[.]5)?|test) \\| `([^`]+)` \\|")

// pure lists what floors F0 to F3 must not import: the world.
var pure = []string{"os", "net", "sync", "context", "log", "log/slog", "math/rand", "math/rand/v2", "sync/atomic", "os/exec"}

type listed struct {
	ImportPath, Dir string
	Imports         []string
	GoFiles         []string
}

func readFloors(t *testing.T) map[string]string {
	f, err := os.Open("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	floors := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if m := floorRow.FindStringSubmatch(s.Text()); m != nil {
			floors["farlink/"+m[2]] = m[1]
		}
	}
	if len(floors) < 10 {
		t.Fatalf("docs/architecture.md: %d rows in the floors table", len(floors))
	}
	return floors
}

func listPackages(t *testing.T) []listed {
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestFloors(t *testing.T) {
	floors := readFloors(t)
	for _, p := range listPackages(t) {
		floor, ok := floors[p.ImportPath]
		if !ok && p.ImportPath != "farlink" {
			t.Errorf("%s has no row in the floors table of docs/architecture.md", p.ImportPath)
		}
		if floor == "test" || !ok {
			continue
		}
		for _, i := range p.Imports {
			if f, ours := floors[i]; ours && (f >= floor || f == "test") {
				t.Errorf("%s (%s) imports %s (%s): imports go down only", p.ImportPath, floor, i, f)
			}
			if floor <= "F3" && slices.Contains(pure, i) && p.ImportPath != "farlink/ui" {
				t.Errorf("%s (%s) imports %q: floors F0 to F3 are pure", p.ImportPath, floor, i)
			}
		}
		if floor <= "F3" {
			checkNoClock(t, p)
		}
	}
}

func checkNoClock(t *testing.T, p listed) {
	for _, name := range p.GoFiles {
		b, err := os.ReadFile(p.Dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"time.Now(", "time.Since(", "time.Sleep(", "time.After("} {
			if strings.Contains(string(b), call) {
				t.Errorf("%s/%s calls %s): floors F0 to F3 are told the time", p.ImportPath, name, call)
			}
		}
	}
}
