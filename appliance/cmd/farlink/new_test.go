package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"farlink/profiles"
)

// A wrong answer is asked again, an empty one takes the default, and the
// file that is written is a profile.
func TestNew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.toml")
	ask := func(args ...string) (string, error) {
		var said bytes.Buffer
		c, _ := command()
		c.SetArgs(append([]string{"new"}, args...))
		c.SetIn(strings.NewReader("lab/mine\nfast\n8Mbit/s\n\n600ms\n1\n"))
		c.SetErr(&said)
		return said.String(), c.Execute()
	}
	if said, err := ask("terrestrial", "-o", file); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	text, err := readFile(nil, file)
	if err != nil {
		t.Fatal(err)
	}
	p, problems := profiles.Parse(text)
	if p == nil || len(problems) > 0 || p.Name != "lab/mine" || p.Expect.Down != 0 || p.Up.Queue.Rate.String() != "2Mbit/s" || p.RTT().String() != "600ms" {
		t.Errorf("%v\n%s", problems, text)
	}
	if _, err := ask("terrestrial", "-o", file); err == nil {
		t.Error("a file that was there is overwritten")
	}
	c, _ := command()
	c.SetArgs([]string{"new", "terrestrial"})
	c.SetIn(strings.NewReader(""))
	if err := c.Execute(); err == nil || !strings.Contains(err.Error(), "nobody answers") {
		t.Errorf("without any answer: %v", err)
	}
	if _, err := ask("tin-can"); err == nil {
		t.Error("a link of no kind")
	}
}
