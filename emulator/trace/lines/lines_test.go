package lines

import (
	"strings"
	"testing"
)

// TestFields: fields are cut, trimmed and unquoted, and know their column;
// a byte order mark and carriage returns are no part of a line.
func TestFields(t *testing.T) {
	l := New(File{Name: "x", Reader: strings.NewReader("\uFEFFa, \"b\" ,c\r\n# no\n\n1  2\n")})
	if !l.Next() || l.Number != 1 {
		t.Fatal(l.Err)
	}
	got := l.Split(',')
	want := []Field{{"a", 1}, {"b", 5}, {"c", 9}}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	for range 2 {
		if !l.Next() || !l.Skippable() {
			t.Errorf("line %d %q is not skippable", l.Number, l.Text)
		}
	}
	if !l.Next() || len(l.Words()) != 2 || l.Next() || l.Err != nil {
		t.Errorf("%q, %v", l.Text, l.Err)
	}
}

// TestFaults: each says file, line and column, and what is wanted.
func TestFaults(t *testing.T) {
	l := New(File{Name: "x", Reader: strings.NewReader("t,up\n1,x\n")})
	err := l.Rows(func(at map[string]int) error { return l.Need(at, "t", "up") }, func(get func(string) Field) error {
		if _, err := l.Count(get("t"), "t", 1); err != nil {
			return err
		}
		_, err := l.Decimal(get("up"), "up", 9)
		return err
	})
	if err == nil || err.Error() != `x:2:3: up "x": want a number from 0 to 9` {
		t.Error(err)
	}
	l = New(File{Name: "x", Reader: strings.NewReader("t,t\n")})
	err = l.Rows(func(map[string]int) error { return nil }, nil)
	if err == nil || err.Error() != `x:1:3: column "t" stands twice` {
		t.Error(err)
	}
	l = New(File{Name: "x", Reader: strings.NewReader(strings.Repeat("9", Longest+1))})
	if l.Next() || l.Err == nil || l.Err.Error() != "x:1:1: line of more than 65536 bytes" {
		t.Error(l.Err)
	}
}
