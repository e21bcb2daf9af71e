package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"farlink/appliance"
	"farlink/appliance/client"
	"farlink/pep/bundle"
)

func multipathStatusCommand() *cobra.Command {
	var to target
	var limit int
	var asJSON bool
	c := &cobra.Command{
		Use: "status", Short: "Show the paths of a running box, and what is carried over them", Args: cobra.NoArgs,
		Long: `status shows each path with what new connections find there, the connections
that are carried over several paths, and counts since the paths stand:
  opened     connections carried over all paths
  refused    those that servers refused or did not answer
  fallbacks  of mode wire: plain TCP, for the device or something on the way does
             not speak MPTCP
  resets     of mode lab: ended otherwise than properly
  strangers  subflows of mode lab that the far relay turned away: a wrong key, a
             greeting that was recorded, another version, or a socket that could
             not be set up; the log says which`,
		Example: "  farlink multipath status --lab lab",
		RunE: func(c *cobra.Command, _ []string) error {
			box, err := to.dial()
			if err != nil {
				return err
			}
			var s appliance.MultipathState
			if err := box.Call(c.Context(), http.MethodGet, fmt.Sprintf("/multipath?limit=%d", limit), nil, &s); err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), s)
			}
			return printMultipath(c.OutOrStdout(), s)
		},
	}
	to.flags(c)
	c.Flags().IntVar(&limit, "limit", 20, "show at most so many connections")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printMultipath(w io.Writer, s appliance.MultipathState) error {
	fmt.Fprintf(w, "mode %s, scheduler %s\n%s\n", s.Want.Mode, s.Scheduler, s.Note)
	if !s.Effective {
		fmt.Fprintf(w, "not effective: %s\n", s.Why)
	}
	t := table(w)
	fmt.Fprintln(t, "\nPATH\tLINK\tSTATE\tPRIORITY\tCONGESTION\tUP\tDOWN")
	for _, p := range s.Paths {
		state := "down"
		if p.Up {
			state = "up"
		}
		if p.Best {
			state += ", best"
		}
		priority, control := ofPath(s.Want, p.Name)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.1f MB\t%.1f MB\n", p.Name, p.Link, state, priority, control, float64(p.UpBytes)/1e6, float64(p.DownBytes)/1e6)
	}
	if len(s.Connections) > 0 {
		fmt.Fprintln(t, "\nCLIENT\tSERVER\tSUBFLOW BY\tCONGESTION\tRTT\tUP\tDOWN\tPRIORITY\tSTATE")
	}
	for _, c := range s.Connections {
		ends := fmt.Sprintf("%s\t%s", c.Client, c.Server)
		if c.Fallback {
			ends += " (fallback: plain TCP)"
		}
		for _, f := range c.Subflows {
			fmt.Fprintf(t, "%s\t%s\t%s\t%.1f ms\t%.1f MB\t%.1f MB\t%s\t%s\n", ends, f.Path, f.Congestion, f.RTTMs, float64(f.Up)/1e6, float64(f.Down)/1e6, f.Priority, f.State)
			ends = "\t"
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	n := s.Totals
	_, err := fmt.Fprintf(w, "\n%s now; %d opened, %d refused, %s, %s, %s\n", count(uint64(s.Total), "connection"),
		n.Opened, n.Refused, count(n.Fallbacks, "fallback"), count(n.Resets, "reset"), count(n.Strangers, "stranger"))
	return err
}

// ofPath is what new connections find on a path.
func ofPath(c bundle.Carriage, name string) (priority, control string) {
	one := c.Paths[name]
	if priority = "normal"; one.Backup {
		priority = "backup"
	}
	return priority, cmp.Or(one.Congestion, c.Congestion, "auto")
}

func count(n uint64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// multipathChange is what the flags of set name.
type multipathChange struct {
	scheduler, congestion, window, buffer string
	paths, backups                        []string
	ports                                 []uint
}

func multipathSetCommand() *cobra.Command {
	var to target
	var m multipathChange
	var asJSON bool
	c := &cobra.Command{
		Use: "set off|wire|lab", Short: "Say how a running box carries connections over its paths",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(bundle.Modes, bundle.Mode(args[0])) {
				return errors.New("want one word: off, wire (MPTCP) or lab (farlink's own relay)")
			}
			if err := m.backupsErr(c.Flags().Changed("backup")); err != nil {
				return err
			}
			_, err := m.patch(args[0])
			return err
		},
		Long: `set changes how new connections are carried; those that are go on as they began.
off routes each by one path, wire is MPTCP on the paths, lab is farlink's own
relay, which is not MPTCP. What no flag names stays. Rules are set over the API
(PUT or PATCH /api/v1/multipath).`,
		Example: `  farlink multipath set lab --lab lab --scheduler blest --congestion bbr
  farlink multipath set wire --lab lab --backup lte/kt
  farlink multipath set wire --lab lab --backup none
  farlink multipath set lab --lab lab --path lte/skt=cubic`,
		ValidArgs: []string{"off", "wire", "lab"},
		RunE: func(c *cobra.Command, args []string) error {
			patch, err := m.patch(args[0])
			if err != nil {
				return err
			}
			box, err := to.dial()
			if err != nil {
				return err
			}
			s, err := m.ask(c.Context(), box, patch)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), s)
			}
			return printMultipath(c.OutOrStdout(), s)
		},
	}
	to.flags(c)
	f := c.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&m.scheduler, "scheduler", "", "of mode lab: minrtt, roundrobin, redundant, blest, ecf or arrival")
	f.StringVar(&m.congestion, "congestion", "", "congestion control of the subflows")
	f.StringVar(&m.window, "window", "", `of mode lab: bytes in flight each way, "8MiB"`)
	f.StringVar(&m.buffer, "buffer", "", `of mode wire: what a connection may queue, "1MB"`)
	f.UintSliceVar(&m.ports, "ports", nil, "ports of servers whose connections are carried over all paths")
	f.StringArrayVar(&m.paths, "path", nil, "PATH=CONTROL: a congestion control for one path; nothing behind = takes it back")
	f.StringSliceVar(&m.backups, "backup", nil, `paths that carry only while no other is up, in place of those so far; "none" for no path`)
	return c
}

// ask has the box take the patch. Which paths are no backup any more only the
// box's own list of them says.
func (m *multipathChange) ask(ctx context.Context, box *client.Client, patch map[string]any) (s appliance.MultipathState, err error) {
	if len(m.backups) > 0 {
		if err := box.Call(ctx, http.MethodGet, "/multipath?limit=1", nil, &s); err != nil {
			return s, err
		}
		if err := m.spare(patch, s.Paths); err != nil {
			return s, err
		}
	}
	err = box.Call(ctx, http.MethodPatch, "/multipath", patch, &s)
	return s, err
}

// patch is the merge patch that the flags ask for.
func (m *multipathChange) patch(mode string) (map[string]any, error) {
	patch := map[string]any{"mode": mode}
	for key, text := range map[string]string{"scheduler": m.scheduler, "congestion": m.congestion, "window": m.window, "buffer": m.buffer} {
		if text != "" {
			patch[key] = text
		}
	}
	if len(m.ports) > 0 {
		patch["ports"] = m.ports
	}
	paths := map[string]any{}
	for _, text := range m.paths {
		name, control, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--path %q: want PATH=CONTROL, such as lte/skt=cubic", text)
		}
		paths[name] = map[string]any{"congestion": control}
	}
	if len(paths) > 0 {
		patch["paths"] = paths
	}
	return patch, nil
}

// noBackups is what --backup says to have none.
const noBackups = "none"

// backupsErr is what is wrong with --backup, before any box is asked.
func (m *multipathChange) backupsErr(given bool) error {
	switch {
	case given && (len(m.backups) == 0 || slices.Contains(m.backups, "")):
		return fmt.Errorf("--backup %q: want names of paths, such as lte/kt, or %s", strings.Join(m.backups, ","), noBackups)
	case len(m.backups) > 1 && slices.Contains(m.backups, noBackups):
		return fmt.Errorf("--backup %s: want names of paths, or %s alone", strings.Join(m.backups, ","), noBackups)
	}
	return nil
}

// spare makes the paths that are named backups, and no others.
func (m *multipathChange) spare(patch map[string]any, all []bundle.PathState) error {
	paths, _ := patch["paths"].(map[string]any)
	if paths == nil {
		paths = map[string]any{}
		patch["paths"] = paths
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
		one, _ := paths[p.Name].(map[string]any)
		if one == nil {
			one = map[string]any{}
			paths[p.Name] = one
		}
		one["backup"] = slices.Contains(m.backups, p.Name)
	}
	for _, name := range m.backups {
		if name != noBackups && !slices.Contains(names, name) {
			return fmt.Errorf("--backup %s: got %q, want %s, or %s", strings.Join(m.backups, ","), name, strings.Join(names, ", "), noBackups)
		}
	}
	return nil
}
