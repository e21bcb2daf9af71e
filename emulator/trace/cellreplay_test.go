package trace

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/opportunity"
	"farlink/emulator/trace/lines"
	"farlink/emulator/trace/lines/linestest"
)

const (
	trainsFile = "0 20 0 1 1\n100 40 0 2 2\n200 40 0\n"
	heavyFile  = "10\n20\n"
)

// TestCellReplayVectors are CR-1 to CR-3 of the link sheet.
func TestCellReplayVectors(t *testing.T) {
	w, err := CellReplay(linestest.File(heavyFile), linestest.File(trainsFile), lines.File{})
	if err != nil {
		t.Fatal(err)
	}
	if w.Train.Heavy.Size != 1400 || w.Length() != 200*link.Millisecond {
		t.Errorf("%+v", w.Train)
	}
	for at, want := range map[int]int{0: 20, 50: 80} {
		s := opportunity.NewTrain(*w.Train, link.NewDraw(1, "x"))
		if got := leave(s, [2]int{at, 1000}); got[0] != want {
			t.Errorf("came at %d, left at %v, want %d", at, got, want)
		}
	}
	_, err = CellReplay(linestest.File(heavyFile), linestest.File("0 20 0\n100 40 0\n"), lines.File{})
	linestest.Refused(t, "CR-3", err, "x:2:9: 2 lines, want three or more")
}

func TestCellReplayFaults(t *testing.T) {
	for _, c := range []struct{ heavy, light, sizes, want string }{
		{"x", trainsFile, "", `x:1:1: time "x"`},
		{heavyFile, "0\n1 2 0\n2 2 0", "", "x:1:1: 1 numbers"},
		{heavyFile, "0 1 0\n5 1 0\n4 1 0", "", "x:3:1: 4 after 5ms: not monotonic"},
		{heavyFile, "0 1 7\n5 1 0\n6 1 0", "", "x:1:5: offset 7 of the first packet, want 0"},
		{heavyFile, "0 1 0 5 4\n5 1 0\n6 1 0", "", "x:1:9: offset 4 after 5: not monotonic"},
		{heavyFile, "0 x 0\n5 1 0\n6 1 0", "", `x:1:3: base delay "x"`},
		{heavyFile, "0 1 0\n0 1 0\n0 1 0", "", "the last time is 0"},
		{heavyFile, trainsFile, "200 1\n", "x:1:1: size 200, want 100"},
		{heavyFile, trainsFile, "100\n", "x:1:1: 1 numbers"},
		{heavyFile, trainsFile, "100 -2\n", `x:1:5: offset "-2"`},
		{heavyFile, trainsFile, "\n", "0 numbers"},
	} {
		sizes := lines.File{}
		if c.sizes != "" {
			sizes = linestest.File(c.sizes)
		}
		_, err := CellReplay(linestest.File(c.heavy), linestest.File(c.light), sizes)
		linestest.Refused(t, c.light+c.sizes, err, c.want)
	}
}

func TestCellReplayRoundTrip(t *testing.T) {
	const offsets = "100 0\n200 1.5\n300 2\n"
	w, err := CellReplay(linestest.File(heavyFile), linestest.File(trainsFile), linestest.File(offsets))
	if err != nil {
		t.Fatal(err)
	}
	if want := []link.Duration{0, 1500 * link.Microsecond, 2 * link.Millisecond}; !reflect.DeepEqual(w.Train.Sizes, want) {
		t.Errorf("sizes %v", w.Train.Sizes)
	}
	var heavy, light, sizes bytes.Buffer
	if err := WriteCellReplay(&heavy, &light, &sizes, w); err != nil {
		t.Fatal(err)
	}
	if heavy.String() != heavyFile || light.String() != trainsFile || sizes.String() != offsets {
		t.Errorf("%q %q %q", heavy.String(), light.String(), sizes.String())
	}
	linestest.Refused(t, "no trains", WriteCellReplay(&heavy, &light, &sizes, Way{}), "want trains")
}

func FuzzCellReplay(f *testing.F) {
	f.Add(heavyFile, trainsFile, "100 0\n")
	f.Add("1", "0 1\n0 1\n1 1", "")
	f.Fuzz(func(t *testing.T, heavy, light, sizes string) {
		w, err := CellReplay(linestest.File(heavy), linestest.File(light), linestest.File(sizes))
		if err != nil {
			linestest.Refused(t, "fuzz", err, "x")
			return
		}
		w.Train.Check(func(path, got, want string) { t.Errorf("%s: got %s, want %s", path, got, want) })
		s := opportunity.NewTrain(*w.Train, link.NewDraw(1, "x"))
		if got := leave(s, [2]int{0, 100}); len(got) > 1 || strings.Count(light, "\n") < 2 {
			t.Fatalf("left at %v", got)
		}
	})
}
