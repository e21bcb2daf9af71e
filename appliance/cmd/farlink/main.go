// Command farlink emulates satellite and cellular links between two ports.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"farlink/appliance/bench"
	"farlink/appliance/machine"
	"farlink/appliance/split"
	"farlink/emulator/wire"
)

// version is set when the program is built (-ldflags "-X main.version=…").
var version = "devel"

// Exit statuses.
const (
	failed = 1 // what was asked for could not be done
	misuse = 2 // the command was not understood
)

func main() {
	if wire.IsEngine() {
		os.Exit(wire.Main(machine.Build, machine.OpenFeed))
	}
	if os.Getenv(split.ProxyVariable) != "" {
		os.Exit(proxy())
	}
	if os.Getenv(bench.CallersVariable) != "" {
		os.Exit(bench.Callers())
	}
	if os.Getenv(machine.RelaysVariable) != "" {
		os.Exit(relays())
	}
	os.Exit(run(os.Args[1:]))
}

// run runs the command and returns the status to exit with.
func run(args []string) int {
	root, understood := command()
	root.SetArgs(args)
	ran, err := root.ExecuteC()
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errSilent):
		return failed
	case *understood:
		complain(os.Stderr, err)
		return failed
	}
	complain(os.Stderr, err)
	if !ran.HasSubCommands() {
		fmt.Fprintf(os.Stderr, "usage: %s\n", ran.UseLine())
	}
	fmt.Fprintf(os.Stderr, "see `%s --help`\n", ran.CommandPath())
	return misuse
}

// complain writes an error. Each of its lines says who speaks, but those that
// are indented: they belong to the line before.
func complain(w io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		if !strings.HasPrefix(line, " ") {
			line = "farlink: " + line
		}
		fmt.Fprintln(w, strings.TrimRight(line, "\n"))
	}
}

// errSilent fails a command that has said why already.
var errSilent = errors.New("failed")

// command returns the tree of commands, and whether one was understood and
// began: what fails after that is no misuse.
func command() (root *cobra.Command, understood *bool) {
	understood = new(bool)
	root = &cobra.Command{
		Use:   "farlink",
		Short: "Emulate satellite and cellular links between two ports",
		Long: `farlink is a wire with a satellite or a mobile network in it: what goes in at
one port comes out of the other as late, as slowly and as battered as the
link's profile says.

Try it without hardware:
  farlink lab up --profile geo/qirse-sat
  farlink lab exec a -- ping -c 3 10.77.0.2
  farlink lab down

Exit status: 0 done, 1 what was asked for failed, 2 the command was not
understood.`,
		SilenceUsage: true, SilenceErrors: true, Version: version,
	}
	root.SetVersionTemplate("farlink {{.Version}}\n")
	root.AddCommand(serveCommand(), labCommand(), profilesCommand(), validateCommand(), applyCommand(),
		statusCommand(), doctorCommand(), openapiCommand(), versionCommand(),
		newCommand(), simCommand(), replayCommand(), plotCommand(), traceCommand(), benchCommand(), runCommand(), pepCommand(), flowsCommand(), multipathCommand())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	complete(root)
	note(root, understood)
	return root, understood
}

// flagError says in plain words what the value of a flag should have been.
func flagError(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	want := map[string]string{
		"uint64": "a whole number from 0 to 18446744073709551615", "int": "a whole number", "float64": "a number",
		"bool": "true or false", "duration": `a duration such as "30s"`,
	}[bad.GetFlag().Value.Type()]
	if want == "" {
		return err
	}
	return fmt.Errorf("--%s: got %q, want %s", bad.GetFlag().Name, bad.GetValue(), want)
}

// complete makes cobra's own commands refuse what they do not know.
func complete(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args, c.Example = cobra.NoArgs, "  source <(farlink completion bash)"
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
			for _, shell := range c.Commands() {
				shell.Example = "  farlink completion " + shell.Name() + " --no-descriptions"
			}
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if of, _, err := root.Find(args); of == nil || err != nil {
					return fmt.Errorf("no command %q", strings.Join(args, " "))
				}
				return nil
			}
		}
	}
}

// note sets began once a command of the tree has been understood and begins.
func note(c *cobra.Command, began *bool) {
	if does := c.RunE; does != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			*began = true
			return does(c, args)
		}
	}
	for _, sub := range c.Commands() {
		note(sub, began)
	}
}

// group is a command that only holds others; its example is theirs, first of
// all.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	var examples []string
	for _, c := range commands {
		example, _, _ := strings.Cut(c.Example, "\n")
		examples = append(examples, example)
	}
	c := &cobra.Command{Use: use, Short: short, Example: strings.Join(examples, "\n"), Args: cobra.NoArgs, DisableFlagsInUseLine: true, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  farlink version --json",
		RunE: func(c *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(c.OutOrStdout(), map[string]string{"version": version})
			}
			fmt.Fprintln(c.OutOrStdout(), "farlink", version)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
