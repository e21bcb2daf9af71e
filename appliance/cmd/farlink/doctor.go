package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"farlink/appliance"
	"farlink/appliance/doctor"
	"farlink/appliance/machine"
)

func doctorCommand() *cobra.Command {
	var path string
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Look whether this machine can run the box", Args: cobra.NoArgs,
		Long: `doctor looks at kernel, privileges and limits and, with --config, at the test
ports. What is missing is named one by one, with what to do. It fails if the
box could not run.`,
		Example: "  farlink doctor\n  farlink doctor --config /etc/farlink/config.toml --json",
		RunE: func(c *cobra.Command, _ []string) error {
			findings := doctor.Machine()
			if path != "" {
				config, err := appliance.ReadConfig(path)
				if err != nil {
					return err
				}
				findings = append(findings, doctor.Ports(config, machine.Ports{Listen: config.API.Listen}.Plan)...)
			}
			if asJSON {
				if err := printJSON(c.OutOrStdout(), findings); err != nil {
					return err
				}
			} else if err := printFindings(c, findings); err != nil {
				return err
			}
			for _, f := range findings {
				if f.Level == doctor.Failure {
					return errSilent
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&path, "config", "", "configuration whose ports to look at")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printFindings(c *cobra.Command, findings []doctor.Finding) error {
	t := table(c.OutOrStdout())
	for _, f := range findings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Level, f.Name, f.Got)
		if f.Do != "" {
			fmt.Fprintf(t, "\t\t-> %s\n", f.Do)
		}
	}
	return t.Flush()
}
