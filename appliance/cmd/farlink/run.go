package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"farlink/appliance"
	"farlink/appliance/carriers"
	"farlink/appliance/experiment"
	"farlink/appliance/lab"
	"farlink/appliance/traffic"
)

func runCommand() *cobra.Command {
	var x experimenting
	c := &cobra.Command{
		Use: "run FILE|NAME", Short: "Run an experiment: settings compared on the same channels",
		Long: `run measures every cell of an experiment (profiles, seeds, repetitions,
settings), in a lab of its own, and writes a report: report.html, cells.csv,
results.json and junit.xml. Each cell is on disk before the next begins; after
a crash or Ctrl-C, --resume goes on where it was.

seed-000 is the matrix of multipath schedulers and congestion controls, see
farlink multipath matrix; it prints its report, and with --out keeps it there
as report.txt and results.json.

With --lab or --api it uses a box that runs already: it takes the lease, and
puts the link back in the end. A lab knows its hosts; with --api, and only
there, say with --host-a and --host-b where traffic begins and ends: ADDRESS, ADDRESS@NAMESPACE of this machine, or
ADDRESS@COMMAND… that reaches another machine, such as "192.0.2.7@ssh dut".

Exit status 1 when a cell fails: its verdict is INVALID, its traffic did not
come through, or what the experiment expects is not met.`,
		Example: `  farlink run --list
  farlink run geo-pep --quick
  farlink run mine.toml --out results/mine
  farlink run mine.toml --out results/mine --resume
  farlink run mine.toml --api 192.0.2.2:8080 --host-a 10.0.0.7@dut --host-b 10.0.0.8`,
		Args: x.understand,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return shippedExperiments(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return x.names(c.OutOrStdout())
			}
			if args[0] == seed000 && !x.list {
				return runSeed000(c, x.quick, x.json, x.out)
			}
			return x.run(c, args[0])
		},
	}
	x.to.flags(c)
	f := c.Flags()
	f.BoolVar(&x.list, "list", false, "list the shipped experiments, or the cells of the one named")
	f.BoolVar(&x.quick, "quick", false, "see whether it works: one profile, one repetition, 3 s or 16 round trips each, nothing expected")
	f.StringVar(&x.out, "out", "", "directory of cells and reports (default: experiment-NAME; of seed-000: none, it prints)")
	f.BoolVar(&x.resume, "resume", false, "go on with the experiment that the directory holds")
	f.BoolVar(&x.json, "json", false, "print the results as JSON")
	f.StringVar(&x.pair, "pair", "", "pair of ports, where the box has several")
	f.StringVar(&x.hostA, "host-a", "", "device side, with --api")
	f.StringVar(&x.hostB, "host-b", "", "network side, with --api")
	return c
}

// experimenting is what run was asked for.
type experimenting struct {
	to                        target
	list, quick, resume, json bool
	out, pair, hostA, hostB   string
	hosts                     traffic.Hosts
}

func (x *experimenting) understand(c *cobra.Command, args []string) error {
	if err := cobra.MaximumNArgs(1)(c, args); err != nil {
		return err
	}
	if len(args) == 0 && !x.list {
		return errors.New("nothing to run: want a file, or one of " + strings.Join(shippedExperiments(), ", "))
	}
	if (x.to.api == "") != (x.hostA == "" && x.hostB == "") {
		return errors.New("--api and --host-a, --host-b: want all three or none; a lab knows its hosts")
	}
	for _, side := range []struct {
		flag, text string
		into       *traffic.Host
	}{{"--host-a", x.hostA, &x.hosts.A}, {"--host-b", x.hostB, &x.hosts.B}} {
		if x.to.api == "" {
			continue
		}
		*side.into = host(side.text)
		var bad error
		side.into.Check(func(path, got, want string) { bad = fmt.Errorf("%s: %s: got %s, want %s", side.flag, path, got, want) })
		if bad != nil {
			return bad
		}
	}
	return nil
}

// host reads ADDRESS, ADDRESS@NAMESPACE or ADDRESS@COMMAND….
func host(text string) traffic.Host {
	address, where, _ := strings.Cut(text, "@")
	h := traffic.Host{Address: address}
	if words := strings.Fields(where); len(words) > 1 {
		h.Via = words
	} else {
		h.Netns = where
	}
	return h
}

// shippedExperiments are the names that run takes besides files.
func shippedExperiments() []string { return append(experiment.Names(), seed000) }

// names lists the shipped experiments.
func (x *experimenting) names(out io.Writer) error {
	type line struct {
		Name  string  `json:"name"`
		About string  `json:"about"`
		Cells int     `json:"cells"`
		Takes float64 `json:"takes_s"`
	}
	lines := []line{}
	for _, name := range experiment.Names() {
		e, _, _, err := experiment.Load(name, nil)
		if err != nil || e == nil {
			return fmt.Errorf("experiment %s does not read: %w", name, err)
		}
		cells := e.Cells()
		lines = append(lines, line{name, e.About, len(cells), e.Length(cells).Seconds()})
	}
	n := len(seed000Channels)
	lines = append(lines, line{seed000, "Multipath schedulers and congestion controls over three pairs of carriers; see farlink multipath matrix.", n * carriers.Full.Cells(2), float64(n) * carriers.Full.Takes(2).Seconds()})
	if x.json {
		return printJSON(out, lines)
	}
	var b strings.Builder
	t := table(&b)
	fmt.Fprintln(t, "EXPERIMENT\tCELLS\tTAKES\tABOUT")
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t%d\t%v\t%s\n", l.Name, l.Cells, time.Duration(l.Takes*1e9).Round(time.Second), l.About)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return fit(out, []byte(b.String()))
}

func (x *experimenting) run(c *cobra.Command, name string) error {
	var known func(string) bool
	if x.to.api != "" || x.to.lab != "" {
		known = func(string) bool { return true } // the box says
	}
	if name == seed000 {
		return fmt.Errorf("%s is no list of cells: see farlink multipath matrix --help", name)
	}
	e, text, bad, err := experiment.Load(name, known)
	if errors.As(err, new(experiment.Unknown)) {
		return fmt.Errorf("%w; want a file, or one of %s", err, strings.Join(shippedExperiments(), ", "))
	}
	if err != nil {
		return err
	}
	for _, p := range bad {
		fmt.Fprintln(c.ErrOrStderr(), p)
	}
	if e == nil {
		return errSilent
	}
	if x.quick {
		e = e.Quick()
	}
	cells := e.Cells()
	if x.list {
		return x.cells(c.OutOrStdout(), e, cells)
	}
	if x.out == "" {
		x.out = "experiment-" + e.Name
	}
	s, err := experiment.Open(x.out, experiment.Plan{Text: text, Profiles: e.Files(), Quick: x.quick, Command: x.command(name),
		Version: version, Kernel: kernel(), Begun: time.Now()}, x.resume)
	if err != nil {
		return err
	}
	defer s.Close()
	return x.measure(c, e, s)
}

// measure measures what is missing, and writes the reports whatever came of
// it.
func (x *experimenting) measure(c *cobra.Command, e *experiment.Experiment, s *experiment.Store) error {
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	bar := &progress{out: c.ErrOrStderr(), of: len(e.Cells()), e: e}
	err := x.in(ctx, s, func(p experiment.Place) error { return e.Measure(ctx, s, p, bar.next) })
	bar.end()
	o := e.Outcome(s)
	if bad := o.Write(s); bad != nil {
		return errors.Join(err, bad)
	}
	if x.json {
		if bad := printJSON(c.OutOrStdout(), o); bad != nil {
			return bad
		}
	} else {
		t := table(c.OutOrStdout())
		fmt.Fprint(t, o.Text())
		if bad := t.Flush(); bad != nil {
			return bad
		}
		fmt.Fprintf(c.OutOrStdout(), "%s%d of %d cells passed\n%s\n", o.Caveats(), o.Passed, o.Cells, s.Path("report.html"))
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted after %d of %d cells; --resume goes on", o.Measured, o.Cells)
	case err != nil:
		return err
	case o.Passed < o.Cells:
		return errSilent
	}
	return nil
}

// in runs f where the experiment is to be made.
func (x *experimenting) in(ctx context.Context, s *experiment.Store, f func(experiment.Place) error) error {
	if x.to.api != "" || x.to.lab != "" {
		box, err := x.to.dial()
		if err != nil {
			return err
		}
		p := experiment.Place{Box: box, Hosts: x.hosts, Pair: x.pair, Shared: true}
		if x.to.lab != "" {
			l, err := lab.Find(x.to.lab)
			if err != nil {
				return err
			}
			p.Hosts = experiment.LabHosts(l)
		}
		return f(p)
	}
	l, down, err := s.Raise(ctx, "/proc/self/exe")
	if err != nil {
		return err
	}
	box, err := target{api: l.API, token: l.Token}.dial()
	if err == nil {
		err = f(experiment.Place{Box: box, Hosts: experiment.LabHosts(l)})
	}
	return errors.Join(err, down())
}

// command is what repeats the experiment.
func (x *experimenting) command(name string) string {
	words := []string{"farlink", "run", name}
	if x.quick {
		words = append(words, "--quick")
	}
	for _, f := range []struct{ flag, value string }{{"--lab", x.to.lab}, {"--api", x.to.api}, {"--pair", x.pair}, {"--host-a", x.hostA}, {"--host-b", x.hostB}} {
		if f.value != "" {
			words = append(words, f.flag, quoted(f.value))
		}
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell reads it.
func quoted(s string) string {
	if strings.ContainsAny(s, " '\"$\\;&|<>()*?[]#~") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// cells lists what would be measured.
func (x *experimenting) cells(out io.Writer, e *experiment.Experiment, cells []experiment.Cell) error {
	if x.json {
		return printJSON(out, cells)
	}
	t := table(out)
	fmt.Fprintln(t, "PROFILE\tSETTING\tSEED\tREPETITION")
	for _, c := range cells {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\n", c.Profile, c.Setting, c.Seed, c.Repetition)
	}
	fmt.Fprintf(t, "%d cells, about %v\n", len(cells), e.Length(cells).Round(time.Second))
	return t.Flush()
}

// progress shows how far an experiment is: a bar on a terminal, a line a cell
// elsewhere.
type progress struct {
	out   io.Writer
	of    int
	e     *experiment.Experiment
	drawn bool
}

const barWidth = 24

func (p *progress) next(i int, cell experiment.Cell, r *experiment.Record) {
	if !onTerminal(p.out) {
		if r != nil {
			fmt.Fprintf(p.out, "[%d/%d] %v: %s\n", i+1, p.of, cell, p.word(*r))
		}
		return
	}
	if r != nil {
		if word := p.word(*r); word != "passed" {
			fmt.Fprintf(p.out, "\r\x1b[K%v: %s\n", cell, word)
		}
		i++
	}
	full := barWidth * i / p.of
	left := p.e.Length(p.e.Cells()[min(i, p.of):]).Round(time.Second)
	fmt.Fprintf(p.out, "\r\x1b[K%s%s %d/%d, %v left  %s", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), i, p.of, left, cell.ID())
	p.drawn = true
}

// word is what came of a cell.
func (p *progress) word(r experiment.Record) string {
	if why := p.e.Failures(r); len(why) > 0 {
		return "failed: " + strings.Join(why, "; ")
	}
	if r.Verdict.Word == appliance.Degraded {
		return strings.TrimSpace("passed, DEGRADED " + r.Verdict.Reason)
	}
	return "passed"
}

func (p *progress) end() {
	if p.drawn {
		fmt.Fprintln(p.out)
	}
}

func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
