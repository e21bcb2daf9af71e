package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"farlink/appliance"
	"farlink/appliance/library"
	"farlink/profiles"
)

func profilesCommand() *cobra.Command {
	c := profilesListCommand()
	c.Use, c.Short = "profiles", "List and show the profiles"
	c.Example = `  farlink profiles
  farlink profiles --json
  farlink profiles show geo/qirse-sat > mine.toml`
	c.AddCommand(profilesListCommand(), profilesShowCommand())
	return c
}

func profilesListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the profiles that come with farlink", Args: cobra.NoArgs,
		Example: "  farlink profiles list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := library.Shipped()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), list)
			}
			var text bytes.Buffer
			t := table(&text)
			fmt.Fprintln(t, "PROFILE\tRTT\tDOWN\tUP\tLOSS\tABOUT")
			for _, p := range list {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", p.Name, p.RTT, p.Down, p.Up, p.Loss, firstSentence(p.About))
			}
			if err := t.Flush(); err != nil {
				return err
			}
			return fit(c.OutOrStdout(), text.Bytes())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// firstSentence leaves out what would make the table a book. Where a terminal
// is narrower yet, fit cuts.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSuffix(s, ".")
}

func profilesShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show NAME", Short: "Print a profile, ready to be changed", Args: cobra.ExactArgs(1),
		Example:           "  farlink profiles show geo/qirse-sat > mine.toml",
		ValidArgsFunction: completeProfile,
		RunE: func(c *cobra.Command, args []string) error {
			p, err := profiles.Lookup(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), p.Profile)
			}
			_, err = c.OutOrStdout().Write(p.Text)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the profile as JSON")
	return c
}

func completeProfile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return profiles.Names(), cobra.ShellCompDirectiveNoFileComp
}

func validateCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "validate FILE…", Short: "Check profiles and configurations; show every problem", Args: cobra.MinimumNArgs(1),
		Long: `validate reads profiles and configurations of ` + "`farlink serve`" + ` (TOML, profiles
also JSON; "-" is standard input; the name of a shipped profile is one too) and
shows every problem with its line and column, where it is, what stands there and
what is wanted. It fails if there is an error; warnings do not fail it.`,
		Example: "  farlink validate mine.toml\n  farlink validate /etc/farlink/config.toml\n  farlink validate geo/qirse-sat",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return profiles.Names(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error {
			all := []profiles.Problem{}
			for _, file := range args {
				problems, err := validate(c.InOrStdin(), file)
				if err != nil {
					problems = []profiles.Problem{unreadable(err).In(file)}
				}
				all = append(all, problems...)
			}
			if asJSON {
				if err := printJSON(c.OutOrStdout(), all); err != nil {
					return err
				}
			} else {
				for _, p := range all {
					fmt.Fprintln(c.OutOrStdout(), p)
				}
			}
			if profiles.Fatal(all) {
				return errSilent
			}
			if !asJSON && len(all) == 0 {
				fmt.Fprintln(c.OutOrStdout(), "ok")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the problems as JSON")
	return c
}

func validate(in io.Reader, file string) ([]profiles.Problem, error) {
	text, err := readFile(in, file)
	if errors.Is(err, os.ErrNotExist) && !looksLikeFile(file) {
		shipped, unknown := profiles.Lookup(file)
		if unknown != nil {
			return nil, fmt.Errorf("%w, and %w", err, unknown)
		}
		text, err = shipped.Text, nil
	}
	if err != nil {
		return nil, err
	}
	problems := check(text)
	for i := range problems {
		problems[i] = problems[i].In(file)
	}
	return problems, nil
}

// unreadable is a file that cannot be read as one problem of it.
func unreadable(err error) profiles.Problem {
	var at *os.PathError
	if errors.As(err, &at) && err == error(at) { // the problem names the file itself
		err = at.Err
	}
	return profiles.Problem{Got: err.Error(), Want: "a file that can be read, or a profile's name"}
}

// check reads a profile or, when it has pairs of ports, the configuration of
// a box.
func check(text []byte) []profiles.Problem {
	var document struct{ Pairs any }
	if _, err := toml.Decode(string(text), &document); err == nil && document.Pairs != nil {
		_, problems := appliance.ParseConfig(text)
		return problems
	}
	_, problems := profiles.Parse(text)
	return problems
}

// readFile reads a file, or standard input for "-"; at most 1 MB.
func readFile(in io.Reader, file string) ([]byte, error) {
	const most = 1 << 20
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && len(text) > most {
		err = errors.New(file + ": larger than 1MB, want a profile")
	}
	return text, err
}
