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
	c.SetArgs([]string{"new"})
	c.SetIn(strings.NewReader(""))
	if err := c.Execute(); err == nil || !strings.Contains(err.Error(), "nobody answers") {
		t.Errorf("without a kind and any answer: %v", err)
	}
	var wrote, said bytes.Buffer
	c, _ = command()
	c.SetArgs([]string{"new", "lte"})
	c.SetIn(strings.NewReader(""))
	c.SetOut(&wrote)
	c.SetErr(&said)
	if err := c.Execute(); err != nil || !strings.Contains(said.String(), "takes what stands in brackets") {
		t.Errorf("a kind and no answer: %v\n%s", err, said.String())
	}
	if p, problems := profiles.Parse(wrote.Bytes()); p == nil || p.LTE == nil {
		t.Errorf("a kind and no answer: %v\n%s", problems, wrote.String())
	}
	if _, err := ask("tin-can"); err == nil {
		t.Error("a link of no kind")
	}
}
