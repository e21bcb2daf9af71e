package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"farlink/appliance"
	"farlink/appliance/client"
	"farlink/appliance/lab"
)

// target holds the flags that say which box is meant.
type target struct{ lab, api, token string }

func (t *target) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&t.lab, "lab", "", "the box of this lab")
	f.StringVar(&t.api, "api", "", "the box at this address (or FARLINK_API); http://127.0.0.1:8080 when neither is given")
	f.StringVar(&t.token, "token", "", "token for it (or FARLINK_TOKEN; FARLINK_FINGERPRINT pins a certificate that the box made itself)")
	c.MarkFlagsMutuallyExclusive("lab", "api")
}

// dial finds the box that is meant.
func (t target) dial() (*client.Client, error) {
	if t.lab != "" {
		l, err := lab.Find(t.lab)
		if err != nil {
			return nil, err
		}
		return client.New(l.API, l.Token, ""), nil
	}
	address := cmp.Or(t.api, os.Getenv("FARLINK_API"))
	c := client.New(cmp.Or(address, appliance.DefaultListen), cmp.Or(t.token, os.Getenv("FARLINK_TOKEN")), os.Getenv("FARLINK_FINGERPRINT"))
	if address == "" {
		c.Hint = "; want --lab NAME or --api ADDRESS"
	}
	return c, nil
}
