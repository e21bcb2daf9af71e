package main

import (
	"github.com/spf13/cobra"

	"farlink/appliance/api"
)

func openapiCommand() *cobra.Command {
	return &cobra.Command{
		Use: "openapi", Short: "Print the description of the API (OpenAPI 3.1)", Args: cobra.NoArgs,
		Example: "  farlink openapi > openapi.yaml",
		RunE: func(c *cobra.Command, _ []string) error {
			doc, err := api.OpenAPI()
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(doc)
			return err
		},
	}
}
