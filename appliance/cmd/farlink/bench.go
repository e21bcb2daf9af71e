package main

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"farlink/appliance/bench"
)

func benchCommand() *cobra.Command {
	var only string
	var asJSON, list bool
	var o bench.Options
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure what farlink promises, on this machine",
		Long: `bench measures throughput, accuracy and recovery in laboratories of its
own (network namespaces on this machine) and holds each figure against its
target. Figures of speed are ratios to a peer measured in the same run. Needs
root.`,
		Example: "  farlink bench --only 'delay|rate' --out bench/out",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cases := slices.Concat(bench.Wire(), bench.Models(), bench.Multipath(), bench.PEP())
			if list {
				return bench.List(c.OutOrStdout(), cases)
			}
			if only != "" {
				re, err := regexp.Compile(only)
				if err != nil {
					return fmt.Errorf("--only %q: %w; want a regular expression of case names", only, err)
				}
				o.Only = re
			}
			figures := bench.Run(c.Context(), o, cases, c.ErrOrStderr())
			if len(figures) == 0 {
				return fmt.Errorf("--only %q: no case is called so; want some of %s", only, names(cases))
			}
			r := bench.Report{At: time.Now().UTC(), Version: version, Figures: figures,
				Machine: fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}
			if o.Out != "" {
				if err := bench.Write(o.Out, r); err != nil {
					return err
				}
			}
			if asJSON {
				if err := printJSON(c.OutOrStdout(), r); err != nil {
					return err
				}
			} else if err := bench.Print(c.OutOrStdout(), figures); err != nil {
				return err
			}
			if n := bench.Failed(figures); n > 0 {
				return fmt.Errorf("%d of %d figures missed their target", n, len(figures))
			}
			return nil
		},
	}
	c.Flags().StringVar(&only, "only", "", "run only the cases whose name matches this regular expression")
	c.Flags().BoolVar(&list, "list", false, "list the cases and measure nothing")
	c.Flags().IntVar(&o.Rounds, "rounds", 0, "samples of each figure (default 3)")
	c.Flags().IntVar(&o.Kills, "kills", 0, "how often to kill the engine (default 20)")
	c.Flags().IntVar(&o.Swaps, "swaps", 0, "how often to change the profile under load (default 1000)")
	c.Flags().StringVar(&o.Out, "out", "", "directory to keep bench.json in")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func names(cases []bench.Case) string {
	all := make([]string, len(cases))
	for i, c := range cases {
		all[i] = c.Name
	}
	return strings.Join(all, ", ")
}
