package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSimulateDoc runs every command of docs/simulate.md, in order, in a
// directory of its own; " > FILE" at the end is done as a shell would.
func TestSimulateDoc(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	in := writeCapture(t, 500)
	dir := t.TempDir()
	if err := os.Rename(in, filepath.Join(dir, "web.pcap")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	ran := 0
	for i, block := range strings.Split(string(doc), "```") {
		if i%2 == 0 {
			continue
		}
		for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
			runLine(t, line)
			ran++
		}
	}
	if ran < 15 {
		t.Errorf("%d commands", ran)
	}
	first, err := os.ReadFile("fates.pcapng")
	if err != nil || len(first) == 0 {
		t.Error(err)
	}
}

// runLine runs a command line of a document.
func runLine(t *testing.T, line string) {
	t.Helper()
	line, file, redirected := strings.Cut(line, " > ")
	args, ok := strings.CutPrefix(line, "farlink ")
	if !ok {
		t.Errorf("%q is no command of farlink", line)
		return
	}
	text, err := call(t, words(args)...)
	if err == nil && redirected {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

// words cuts a command line at blanks outside of quotes.
func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
