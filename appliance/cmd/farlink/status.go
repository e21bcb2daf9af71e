package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"farlink/appliance"
	"farlink/appliance/client"
)

func statusCommand() *cobra.Command {
	var to target
	var watch, asJSON bool
	c := &cobra.Command{
		Use: "status", Short: "Show what a running box does", Args: cobra.NoArgs,
		Example: `  farlink status --lab lab
  farlink status --lab lab --watch
  farlink status --api 192.0.2.2:8080 --token flk_… --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			box, err := to.dial()
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if watch {
				return watchStatus(ctx, box, c.OutOrStdout(), asJSON)
			}
			s, err := box.Status(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), s)
			}
			return printStatus(c.OutOrStdout(), s, appliance.State{})
		},
	}
	to.flags(c)
	c.Flags().BoolVarP(&watch, "watch", "w", false, "show it again each second, with rates")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// watchStatus shows the state each second until ctx ends.
func watchStatus(ctx context.Context, box *client.Client, w io.Writer, asJSON bool) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var before appliance.State
	for {
		s, err := box.Status(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if asJSON {
			err = printJSON(w, s)
		} else {
			if onTerminal(w) {
				fmt.Fprint(w, "\x1b[H\x1b[2J") // home, clear
			} else if !before.Now.IsZero() {
				fmt.Fprintln(w)
			}
			err = printStatus(w, s, before)
		}
		if err != nil {
			return err
		}
		before = s
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// printStatus shows a state; with an earlier one, rates too.
func printStatus(w io.Writer, s, before appliance.State) error {
	t := table(w)
	fmt.Fprintf(t, "box\t%s, farlink %s, up %v\n", s.Name, s.Version, s.Now.Sub(s.Started).Round(time.Second))
	if s.Storage != "" {
		fmt.Fprintf(t, "state\tcannot be written, changes are refused: %s\n", s.Storage)
	}
	for _, p := range s.Pairs {
		fmt.Fprintf(t, "\npair %s\t%s since %s", p.Name, p.Word, clock(p.Since, s.Now))
		if p.Why != "" {
			fmt.Fprintf(t, " (%s)", p.Why)
		}
		fmt.Fprintf(t, "\nports\t%s (device) and %s (network)", p.PortA, p.PortB)
		if p.Netns != "" {
			fmt.Fprintf(t, " in %s", p.Netns)
		}
		fmt.Fprintln(t)
		for _, warning := range p.PortWarnings {
			fmt.Fprintf(t, "warning\t%s\n", warning)
		}
		for _, l := range p.Links {
			fmt.Fprintf(t, "link %s\t%s@%s seed %d\n", l.Name, l.Profile, l.Hash, l.Seed)
		}
		if e := p.Event; e != nil {
			fmt.Fprintf(t, "link event\t%s since %s, until %s\n", e.Kind, clock(e.Begins, s.Now), clock(e.Ends, s.Now))
		}
		if !p.Effective && p.NotYet != p.Why {
			fmt.Fprintf(t, "not effective\t%s\n", p.NotYet)
		}
		printChecks(t, p.Checks)
		printEngine(t, p)
		if p.Figures != nil {
			printFigures(t, s, p, before)
		}
	}
	return t.Flush()
}

// clock writes a time of day here, with the date when that is another than
// now's.
func clock(t, now time.Time) string {
	if t, now := t.Local(), now.Local(); t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format(time.TimeOnly)
	}
	return t.Local().Format(time.DateTime)
}

func printEngine(w io.Writer, p appliance.PairState) {
	if p.Engine.PID == 0 {
		fmt.Fprintf(w, "engine\tdoes not run, restarts so far: %d\n", p.Engine.Restarts)
		return
	}
	fmt.Fprintf(w, "engine\tprocess %d, %s", p.Engine.PID, p.Engine.Driver)
	if p.Engine.Restarts > 0 {
		fmt.Fprintf(w, ", restarts: %d", p.Engine.Restarts)
	}
	if p.Engine.DriverWhy != "" {
		fmt.Fprintf(w, "\nwhy generic\t%s", p.Engine.DriverWhy)
	}
	if f := p.Engine.Floor; f != nil && f.Why != "" {
		fmt.Fprintf(w, "\nfloor\t%s", f.Why)
	} else if f != nil {
		fmt.Fprintf(w, "\nfloor\tp50 %.0f us, p99 %.0f us of %d frames through the box alone; seen from outside p50 %.0f us, p99 %.0f us", f.P50, f.P99, f.Frames, f.WitnessP50, f.WitnessP99)
	}
	fmt.Fprintf(w, "\nverdict\t%s", p.Verdict.Word)
	if p.Verdict.Reason != "" {
		fmt.Fprintf(w, ": %s", p.Verdict.Reason)
	}
	fmt.Fprintln(w)
}

func printFigures(w io.Writer, s appliance.State, p appliance.PairState, before appliance.State) {
	f := p.Figures
	fmt.Fprintf(w, "lateness\tp50 %.0f us, p99 %.0f us, max %.0f us\n", f.LatenessP50, f.LatenessP99, f.LatenessMax)
	var was *appliance.Figures
	i := slices.IndexFunc(before.Pairs, func(q appliance.PairState) bool { return q.Name == p.Name })
	if i >= 0 {
		was = before.Pairs[i].Figures
	}
	seconds := s.Now.Sub(before.Now).Seconds()
	for _, way := range []string{"down", "up"} {
		now := wayOf(f, way)
		fmt.Fprintf(w, "%s\tin %d, out %d, lost %s, inside %d packets (%d bytes)", way, now.PacketsIn, now.PacketsOut, losses(now), now.HeldPackets, now.HeldBytes)
		if was != nil && seconds > 0 {
			fmt.Fprintf(w, ", %.3f Mbit/s", float64(now.BytesOut-wayOf(was, way).BytesOut)*8e-6/seconds)
		}
		fmt.Fprintln(w)
	}
}

func wayOf(f *appliance.Figures, way string) appliance.WayFigures {
	if way == "down" {
		return f.Down
	}
	return f.Up
}

// losses sums the losses up and names their reasons.
func losses(f appliance.WayFigures) string {
	var sum uint64
	var why []string
	for reason, n := range f.Lost {
		sum += n
		why = append(why, fmt.Sprintf("%s %d", reason, n))
	}
	slices.Sort(why)
	text := fmt.Sprint(sum)
	if len(why) > 0 {
		text += " (" + strings.Join(why, ", ") + ")"
	}
	if f.LinkDown > 0 {
		text += fmt.Sprintf(" and %d for want of a link", f.LinkDown)
	}
	if f.EngineLost > 0 {
		text += fmt.Sprintf(" and %d by the box itself", f.EngineLost)
	}
	return text
}
