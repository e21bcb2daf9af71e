package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"farlink/appliance/lab"
)

func labCommand() *cobra.Command {
	return group("lab", "Make a laboratory without hardware", labUpCommand(), labExecCommand(), labListCommand(), labDownCommand())
}

func labUpCommand() *cobra.Command {
	var o lab.Options
	var asJSON bool
	var carriers string
	c := &cobra.Command{
		Use: "up", Short: "Make a lab: two namespaces with the box between them",
		Args: func(c *cobra.Command, args []string) (err error) {
			if o.Carriers, err = lab.ParseCarriers(carriers); err != nil {
				err = fmt.Errorf("--carriers: %w", err)
			}
			if len(o.Carriers) > 0 && c.Flags().Changed("profile") {
				err = errors.Join(err, fmt.Errorf("--profile %q: carriers have a profile each: want it in --carriers, such as --carriers lte/skt,lte/kt", o.Profile))
			}
			return errors.Join(cobra.NoArgs(c, args), err, o.Check())
		},
		Long: `up makes the namespaces NAME-a (device side, 10.77.0.1, fd77::1) and NAME-b
(network side, 10.77.0.2, fd77::2), puts the box between them and leaves its
daemon running in the background. Several labs can stand at once.

With --carriers, NAME-a has a modem for each and routes for a plain device
behind it (NAME-d, 10.78.0.2), NAME-b for the server (NAME-s, 10.79.0.2), and
TCP to the ports 80, 443, 5001, 5201 and 8080 is carried over all of them.`,
		Example: `  farlink lab up --profile geo/qirse-sat --seed 7
  farlink lab up --carriers lte/skt,lte/kt
  farlink lab up --name two --profile terrestrial/dsl --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			// Ctrl-C takes down again what stands so far.
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			l, err := lab.Up(ctx, "/proc/self/exe", o)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), l)
			}
			return printLab(c, l)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Name, "name", "lab", "name of the lab")
	f.StringVar(&o.Profile, "profile", "clear", "profile to start with")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the channel")
	f.StringVar(&carriers, "carriers", "", "several carriers side by side: how many, or the profile of each")
	f.BoolVar(&o.PEP, "pep", false, "with a proxy (PEP) at either side of the link")
	f.StringVar(&o.API, "api", "127.0.0.1:0", "address of the API; port 0 takes a free one")
	f.IntVar(&o.MTU, "mtu", 1500, "MTU of the cables in bytes, up to 9202")
	f.BoolVar(&asJSON, "json", false, "print the lab as JSON")
	return c
}

// printLab says what to do next.
func printLab(c *cobra.Command, l lab.Lab) error {
	t := table(c.OutOrStdout())
	fmt.Fprintf(t, "lab\t%s\n", l.Name)
	if l.NsDevice != "" {
		fmt.Fprintf(t, "plain device\tnamespace %s (d), 10.78.0.2, fd78::2\n", l.NsDevice)
		fmt.Fprintf(t, "with all carriers\tnamespace %s (a), 10.77.1.1, 10.77.2.1, …\n", l.NsA)
		fmt.Fprintf(t, "server\tnamespace %s (s), 10.79.0.2, fd79::2\n", l.NsServer)
	} else {
		fmt.Fprintf(t, "device side\tnamespace %s, 10.77.0.1, fd77::1\n", l.NsA)
		fmt.Fprintf(t, "network side\tnamespace %s, 10.77.0.2, fd77::2\n", l.NsB)
	}
	fmt.Fprintf(t, "API, panel\t%s\n", l.API)
	fmt.Fprintf(t, "token\t%s\n", l.Token)
	fmt.Fprintf(t, "daemon\tprocess %d\n", l.PID)
	if err := t.Flush(); err != nil {
		return err
	}
	hints := `
try   farlink lab exec --name %[1]s a -- ping -c 3 10.77.0.2
      farlink status --lab %[1]s
end   farlink lab down --name %[1]s
`
	if l.NsDevice != "" {
		hints = `
try   farlink lab exec --name %[1]s s -- iperf3 -s -D
      farlink lab exec --name %[1]s d -- iperf3 -c 10.79.0.2 -t 20 &
      farlink multipath status --lab %[1]s
      farlink multipath set lab --lab %[1]s --scheduler blest
end   farlink lab down --name %[1]s
`
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), hints, l.Name)
	return err
}

func labExecCommand() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "exec SIDE -- COMMAND…", Short: "Run a command on a side of a lab",
		Long: `exec runs a command in the network namespace of a side of the lab:
  a  device side       b  network side
Of a lab with several carriers (lab up --carriers):
  d  plain device      a  device that has all carriers
  b  proxy             s  server
lab list shows the sides of each lab. The exit status is the command's.`,
		Example: `  farlink lab exec a -- ping -c 3 10.77.0.2
  farlink lab exec --name two b -- iperf3 -s
  farlink lab exec --name carriers d -- curl http://10.79.0.2/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(commandOf(args)) == 0 {
				return errors.New("want a side and a command, such as: farlink lab exec a -- ping 10.77.0.2")
			}
			return lab.CheckName(name)
		},
		RunE: func(_ *cobra.Command, args []string) error { return lab.Exec(name, args[0], commandOf(args)) },
	}
	c.Flags().StringVar(&name, "name", "lab", "name of the lab")
	c.Flags().SetInterspersed(false)
	return c
}

// sides lists the sides of a lab in one line.
func sides(l lab.Lab) string {
	var all []string
	for _, s := range l.Sides() {
		all = append(all, s.Word+" "+s.Netns)
	}
	return strings.Join(all, ", ")
}

// commandOf is what follows the side and "--", which may be left out.
func commandOf(args []string) []string {
	rest := args[min(1, len(args)):]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	return rest
}

func labDownCommand() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "down", Short: "Take a lab down; nothing of it stays",
		Args: func(c *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(c, args), lab.CheckName(name))
		},
		Example: "  farlink lab down --name two",
		RunE:    func(c *cobra.Command, _ []string) error { return lab.Down(c.Context(), name) },
	}
	c.Flags().StringVar(&name, "name", "lab", "name of the lab")
	return c
}

func labListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the labs", Args: cobra.NoArgs,
		Example: "  farlink lab list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			labs, err := lab.List()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), append([]lab.Lab{}, labs...))
			}
			if len(labs) == 0 {
				fmt.Fprintln(os.Stderr, "no labs; `farlink lab up` makes one")
				return nil
			}
			t := table(c.OutOrStdout())
			fmt.Fprintln(t, "LAB\tSIDES (of lab exec, and their namespaces)\tAPI\tDAEMON")
			for _, l := range labs {
				daemon := fmt.Sprintf("process %d", l.PID)
				if !l.Alive() {
					daemon = "does not run"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", l.Name, sides(l), l.API, daemon)
			}
			return t.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the labs as JSON")
	return c
}
