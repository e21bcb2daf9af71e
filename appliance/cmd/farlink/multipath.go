package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"farlink/appliance/carriers"
	"farlink/pep/multipath"
)

func multipathCommand() *cobra.Command {
	return group("multipath", "Carry connections over several carriers at once", multipathStatusCommand(), multipathSetCommand(), multipathTryCommand(), multipathExecCommand(), multipathMatrixCommand(),
		multipathRouterCommand(), multipathProxyCommand(), multipathWireCommand(), multipathConverterCommand())
}

// carriersFlags are what the commands on laboratories of their own ask for.
type carriersFlags struct {
	names  string
	seed   uint64
	asJSON bool
}

func (f *carriersFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.names, "carriers", "lte/skt,lte/kt", "profiles of the carriers, 1 to 8")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the channels")
}

// prints adds the flag of those that print data.
func (f *carriersFlags) prints(c *cobra.Command) {
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
}

// with makes the lab, and takes it down again after f.
func (f *carriersFlags) with(c *cobra.Command, config multipath.Config, do func(ctx context.Context, l *carriers.Lab) error) (err error) {
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	l, err := carriers.Up(context.WithoutCancel(ctx), carriers.Options{
		Name: fmt.Sprintf("mp%x", rand.Uint32N(1<<24)), Profiles: strings.Split(f.names, ","), Seed: f.seed, Config: config,
	})
	if err != nil {
		return err
	}
	defer func() {
		if down := l.Close(); err == nil {
			err = down
		}
	}()
	return do(ctx, l)
}

func multipathTryCommand() *cobra.Command {
	var f carriersFlags
	var config multipath.Config
	var lasts time.Duration
	var cut int
	c := &cobra.Command{
		Use: "try", Short: "Transfer over several emulated carriers and show each path's share", Args: cobra.NoArgs,
		Long: `try makes a laboratory of several emulated carriers between two relays, sends
one bulk transfer up through them and shows every second what came in order and
what each carrier took. This is farlink's own relay (mode "lab"), not MPTCP on
the wire. Needs root.`,
		Example: `  farlink multipath try --scheduler blest --congestion bbr
  farlink multipath try --carriers geo/qirse-sat,lte/kt --for 20s --cut 1`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := config.Err(); err != nil {
				return err
			}
			return f.with(c, config, func(ctx context.Context, l *carriers.Lab) error {
				return try(ctx, c, l, &f, lasts, cut)
			})
		},
	}
	f.add(c)
	f.prints(c)
	c.Flags().StringVar(&config.Scheduler, "scheduler", "arrival", "minrtt, roundrobin, redundant, blest, ecf or arrival")
	c.Flags().StringVar(&config.Congestion, "congestion", multipath.Auto, "congestion control of the subflows; auto is bbr, and cubic where a round trip takes 200 ms")
	c.Flags().DurationVar(&lasts, "for", 10*time.Second, "how long to send")
	c.Flags().IntVar(&cut, "cut", 0, "make this carrier, counted from 1, silent in the middle third")
	return c
}

// second is one line of what try shows.
type second struct {
	At      float64            `json:"t_s"`
	Goodput float64            `json:"goodput_mbps"`
	Paths   map[string]float64 `json:"sent_mbps"`
}

func try(ctx context.Context, c *cobra.Command, l *carriers.Lab, f *carriersFlags, lasts time.Duration, cut int) error {
	if cut < 0 || cut > len(l.Profiles) {
		return fmt.Errorf("--cut %d: want a carrier, 1 to %d", cut, len(l.Profiles))
	}
	t, err := l.Bulk()
	if err != nil {
		return err
	}
	defer t.Close()
	var all []second
	sent, begun := map[string]uint64{}, time.Now()
	for n := 0; time.Since(begun) < lasts; n++ {
		if cut > 0 && (n == int(lasts.Seconds())/3 || n == 2*int(lasts.Seconds())/3) {
			if err := l.Cut(cut-1, n == int(lasts.Seconds())/3); err != nil {
				return err
			}
		}
		got, err := t.Goodput(ctx, 0, time.Second)
		if err != nil {
			return err
		}
		s := second{At: time.Since(begun).Seconds(), Goodput: got, Paths: map[string]float64{}}
		line := fmt.Sprintf("%5.1f s  %6.1f Mbit/s  ", s.At, got)
		for _, conn := range l.Router.Stats().Connections {
			for _, p := range conn.Paths {
				s.Paths[p.Carrier] = float64(p.Sent-sent[p.Carrier]) * 8e-6
				sent[p.Carrier] = p.Sent
				line += fmt.Sprintf("  %s %5.1f (%.0f ms)", p.Carrier, s.Paths[p.Carrier], p.RTTMs)
			}
		}
		all = append(all, s)
		if !f.asJSON {
			fmt.Fprintln(c.OutOrStdout(), line)
		}
	}
	if f.asJSON {
		return printJSON(c.OutOrStdout(), all)
	}
	d, s := l.Proxy.Delays(), l.Router.Stats()
	_, err = fmt.Fprintf(c.OutOrStdout(), "in-order delay p50 %v, p95 %v; %d chunks sent again\n", d.Quantile(0.5), d.Quantile(0.95), s.Reinjected)
	return err
}

func multipathMatrixCommand() *cobra.Command {
	var f carriersFlags
	var quick bool
	c := &cobra.Command{
		Use: "matrix", Short: "Measure every scheduler with every congestion control (seed 000)", Args: cobra.NoArgs,
		Long: `matrix measures schedulers × congestion controls over all carriers, and each
control over each carrier alone, and says of each published ordering of
seed 000 whether it appears. Other channels show other orderings:
  clean   --carriers lte/skt-constant,lte/kt-constant
  cells   --carriers lte/skt,lte/kt
  fading  --carriers lte/skt-faded,lte/kt-faded
Needs root. In full it takes 5 hours, with --quick some 6 minutes.`,
		Example: "  farlink multipath matrix --quick",
		RunE:    func(c *cobra.Command, _ []string) error { return matrix(c, &f, quick) },
	}
	f.add(c)
	f.prints(c)
	c.Flags().BoolVar(&quick, "quick", false, "each cell once, 3 s")
	return c
}

func matrix(c *cobra.Command, f *carriersFlags, quick bool) error {
	r, err := measureOn(c, f, quick, channel{"this", f.names, "as asked"})
	if err != nil {
		return err
	}
	return printReport(c, r, f.asJSON)
}

// measureOn measures the matrix on channels and reports on them.
func measureOn(c *cobra.Command, f *carriersFlags, quick bool, channels ...channel) (*carriers.Report, error) {
	r := &carriers.Report{Plan: carriers.Full}
	if quick {
		r.Plan = carriers.Quick
	}
	for _, one := range channels {
		fmt.Fprintf(os.Stderr, "%s: %s, some %v\n", one.name, one.carriers, r.Plan.Takes(len(strings.Split(one.carriers, ","))).Round(time.Minute))
		over := *f
		over.names = one.carriers
		err := over.with(c, multipath.Config{}, func(ctx context.Context, l *carriers.Lab) error {
			m, err := l.Matrix(ctx, r.Plan, os.Stderr)
			if err == nil {
				r.Add(one.name, one.what, m)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func printReport(c *cobra.Command, r *carriers.Report, asJSON bool) error {
	if asJSON {
		return printJSON(c.OutOrStdout(), r)
	}
	return r.Print(c.OutOrStdout())
}

// seed000 is the experiment that `farlink run` hands to the matrix.
const seed000 = "seed-000"

// channel is a kind of carriers.
type channel struct{ name, carriers, what string }

// seed000Channels are its channels, the quick ones first: which orderings
// appear depends on them.
var seed000Channels = [...]channel{
	{"clean", "lte/skt-constant,lte/kt-constant", "constant rates, nothing else"},
	{"fading", "lte/skt-faded,lte/kt-faded", "LTE cells with shadowing, Rayleigh fading, HARQ, load that comes and goes, handovers"},
	{"cells", "lte/skt,lte/kt", "LTE cells with HARQ and a constant load"},
}

// runSeed000 measures the matrix on all channels, or quickly on two.
// With a directory, the report stays there too; that it can be written is found
// out before hours are spent on it.
func runSeed000(c *cobra.Command, quick, asJSON bool, dir string) error {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(dir, "results.json")); err == nil {
			return fmt.Errorf("--out %s: holds results already; want another directory", dir)
		}
	}
	channels := seed000Channels[:]
	if quick {
		channels = channels[:2]
	}
	r, err := measureOn(c, &carriersFlags{seed: 1, asJSON: asJSON}, quick, channels...)
	if err != nil {
		return err
	}
	if dir != "" {
		if err := keepReport(dir, r); err != nil {
			return err
		}
	}
	return printReport(c, r, asJSON)
}

// keepReport writes a report into a directory, for people and for programs.
func keepReport(dir string, r *carriers.Report) error {
	var text, document bytes.Buffer
	if err := r.Print(&text); err != nil {
		return err
	}
	if err := printJSON(&document, r); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "report.txt"), text.Bytes(), 0o644),
		os.WriteFile(filepath.Join(dir, "results.json"), document.Bytes(), 0o644))
}

func multipathExecCommand() *cobra.Command {
	var f carriersFlags
	var config multipath.Config
	var server string
	c := &cobra.Command{
		Use: "exec [--server COMMAND] -- COMMAND…", Short: "Run a command on the device side of several emulated carriers",
		Long: `exec makes the laboratory, runs a command in the device's namespace
(10.78.0.2, the server is 10.79.0.2) and takes the laboratory down. TCP to the
ports 80, 443, 5001, 5201 and 8080 goes over all carriers; everything else is
routed by the fastest. --server is a shell command for the server's namespace.
Needs root.`,
		Example: "  farlink multipath exec --server 'iperf3 -s -1' -- iperf3 -c 10.79.0.2 -t 5",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.with(c, config, func(ctx context.Context, l *carriers.Lab) error { return execIn(ctx, l, server, args) })
		},
	}
	f.add(c)
	c.Flags().StringVar(&config.Scheduler, "scheduler", "arrival", "minrtt, roundrobin, redundant, blest, ecf or arrival")
	c.Flags().StringVar(&config.Congestion, "congestion", multipath.Auto, "congestion control of the subflows; auto is bbr, and cubic where a round trip takes 200 ms")
	c.Flags().StringVar(&server, "server", "", "shell command for the server's namespace, ended with the other")
	return c
}

func execIn(ctx context.Context, l *carriers.Lab, server string, args []string) error {
	if server != "" {
		s := exec.CommandContext(ctx, "sh", "-c", server)
		s.Stderr = os.Stderr
		if err := l.Server.Start(s); err != nil {
			return err
		}
		defer func() { s.Process.Kill(); s.Wait() }()
		time.Sleep(300 * time.Millisecond) // to listen
	}
	d := exec.CommandContext(ctx, args[0], args[1:]...)
	d.Stdin, d.Stdout, d.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := l.Device.Start(d); err != nil {
		return err
	}
	return d.Wait()
}
