package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"text/tabwriter"

	"golang.org/x/sys/unix"
)

// printJSON prints v as one indented document.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table returns a writer that aligns columns set apart by tabs; flush it.
func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 8, 2, ' ', 0) }

// fit writes text to w; on a terminal, lines end where it does.
func fit(w io.Writer, text []byte) error {
	columns := 0
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			columns = int(size.Col)
		}
	}
	for line := range bytes.Lines(text) {
		if r := []rune(string(line)); columns > 0 && len(r) > columns+1 {
			line = append([]byte(string(r[:columns-1])), "…\n"...)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}
