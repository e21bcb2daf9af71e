package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"farlink/appliance/output"
	"farlink/profiles/draft"
)

func newCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "new [KIND]", Short: "Start a profile by asking", Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && !slices.Contains(draft.Kinds(), args[0]) {
				return fmt.Errorf("kind %q: want one of %s", args[0], strings.Join(draft.Kinds(), ", "))
			}
			return cobra.MaximumNArgs(1)(c, args)
		},
		Long: `new asks a few questions and writes a profile that runs. An empty answer takes
what stands in brackets. So does the end of the input for all that is left to
ask, once the kind is known: from the command line, or from an answer. Without
a kind and without any answer, nothing is written.`,
		Example:   "  farlink new geo -o mine.toml\n  farlink new lte < /dev/null",
		ValidArgs: draft.Kinds(),
		RunE: func(c *cobra.Command, args []string) error {
			// Before the questions, since the answers would be lost.
			if _, err := os.Stat(out); out != "" && err == nil {
				return fmt.Errorf("%s is there already: want a name that is not", out)
			}
			d := draft.New()
			if len(args) > 0 {
				if err := d.Answer(args[0]); err != nil {
					return err
				}
			}
			if err := interview(d, len(args) > 0, c.InOrStdin(), c.ErrOrStderr()); err != nil {
				return err
			}
			p, problems := d.Profile()
			for _, problem := range problems {
				fmt.Fprintln(c.ErrOrStderr(), problem)
			}
			if p == nil {
				return errSilent
			}
			write := func(w io.Writer) error { _, err := w.Write(p.Canonical()); return err }
			if out == "" {
				return write(c.OutOrStdout())
			}
			return output.Create(out, write)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "file to write; it must not exist yet")
	return c
}

// interview asks what is left to ask. A wrong answer is asked again; where the
// answers end, the rest takes its defaults and says so. What nobody has asked
// for, no kind on the command line and no answer, is refused.
func interview(d *draft.Draft, wanted bool, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	ended, heard := false, wanted
	for q, ok := d.Next(); ok; q, ok = d.Next() {
		fmt.Fprintf(out, "%s [%s]: ", q.Text, q.Default)
		if !ended && !lines.Scan() {
			if err := lines.Err(); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			if !heard {
				return errors.New("nobody answers: want a kind on the command line, or answers on standard input, a line each")
			}
			ended = true
			fmt.Fprintln(out, "\nthe input has ended: the rest takes what stands in brackets")
		}
		heard = true
		answer := lines.Text()
		if ended {
			answer = ""
			fmt.Fprintln(out)
		}
		if err := d.Answer(answer); err != nil {
			if ended {
				return err
			}
			fmt.Fprintf(out, "  %v\n", err)
		}
	}
	return nil
}
