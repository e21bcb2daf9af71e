package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"farlink/appliance"
	"farlink/profiles"
)

func applyCommand() *cobra.Command {
	var to target
	var pair string
	var seed uint64
	var dryRun, newRun, asJSON bool
	c := &cobra.Command{
		Use: "apply FILE|PROFILE", Short: "Have a running box emulate a profile", Args: cobra.ExactArgs(1),
		Long: `apply gives a running box a profile: one of its own by name, or a file of
yours ("-" is standard input). The box takes all of it or, with every reason
why not, nothing. Seed, mode and pair stay unless they are given.`,
		Example: `  farlink apply --lab lab geo/qirse-sat --seed 7
  farlink apply --api 192.0.2.2:8080 --token flk_… mine.toml`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return profiles.Names(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error {
			patch, err := linkPatch(c, args[0])
			if err != nil {
				return err
			}
			if c.Flags().Changed("seed") {
				patch["seed"] = seed
			}
			box, err := to.dial()
			if err != nil {
				return err
			}
			query := url.Values{"dry_run": {strconv.FormatBool(dryRun)}, "new_run": {strconv.FormatBool(newRun)}}
			if pair != "" {
				query.Set("pair", pair)
			}
			var done appliance.Applied
			if err := box.Call(c.Context(), http.MethodPatch, "/link?"+query.Encode(), patch, &done); err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), done)
			}
			return printApplied(c.OutOrStdout(), done)
		},
	}
	to.flags(c)
	f := c.Flags()
	f.StringVar(&pair, "pair", "", "pair of ports, where the box has several")
	f.Uint64Var(&seed, "seed", 0, "seed of the channel")
	f.BoolVar(&dryRun, "dry-run", false, "check only, change nothing")
	f.BoolVar(&newRun, "new-run", false, "begin a new run: channel and counters begin anew")
	f.BoolVar(&asJSON, "json", false, "print the answer as JSON")
	return c
}

// linkPatch is the merge patch that puts a profile in the place of the one
// before and of its overrides. The problems of a file are shown here, where
// the file has a name.
func linkPatch(c *cobra.Command, arg string) (map[string]any, error) {
	if _, err := profiles.Lookup(arg); err == nil || !looksLikeFile(arg) {
		return map[string]any{"profile": arg, "inline": nil, "overrides": nil}, nil
	}
	text, err := readFile(c.InOrStdin(), arg)
	if err != nil {
		return nil, err
	}
	_, problems := profiles.Parse(text)
	for _, p := range problems {
		fmt.Fprintln(c.ErrOrStderr(), p.In(arg))
	}
	if profiles.Fatal(problems) {
		return nil, errSilent
	}
	return map[string]any{"profile": nil, "inline": string(text), "overrides": nil}, nil
}

func looksLikeFile(arg string) bool {
	return arg == "-" || strings.HasSuffix(arg, ".toml") || strings.HasSuffix(arg, ".json") || strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "/")
}

func printApplied(w io.Writer, a appliance.Applied) error {
	if a.DryRun {
		fmt.Fprintln(w, "the box would take it")
		return nil
	}
	for _, l := range a.Links {
		fmt.Fprintf(w, "%s: %s@%s seed %d", l.Name, l.Profile, l.Hash, l.Seed)
		if a.Hitless {
			fmt.Fprint(w, ", no frame lost")
		}
		fmt.Fprintln(w)
	}
	if !a.Effective {
		fmt.Fprintln(w, "not effective:", a.NotYet)
	}
	t := table(w)
	printChecks(t, a.Checks)
	return t.Flush()
}
