package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"farlink/appliance"
)

func pepCommand() *cobra.Command {
	c := group("pep", "Show and switch the proxies (PEP) of a running box", pepStatusCommand(), pepSetCommand())
	c.Long = `A performance enhancing proxy (PEP, RFC 3135) ends TCP connections at a side of
the link and carries them on by connections of its own, with a congestion
control that suits the link. One near the device, one far from it, or both.`
	return c
}

func pepStatusCommand() *cobra.Command {
	var to target
	var pair string
	var asJSON bool
	c := &cobra.Command{
		Use: "status", Short: "Show the proxies of a pair", Args: cobra.NoArgs,
		Long: `status shows what was asked of the proxies of a pair, and of each:
  FLOWS, MOST  connections that are split now, and how many may be
  SPLIT        connections split so far
  REFUSED, UNREACHABLE
               those whose server refused, or did not answer
  RESET        those ended otherwise than properly
  PASSED       those that went straight into the link`,
		Example: "  farlink pep status --lab lab",
		RunE: func(c *cobra.Command, _ []string) error {
			box, err := to.dial()
			if err != nil {
				return err
			}
			var s appliance.PEPState
			if err := box.Call(c.Context(), http.MethodGet, "/pep?"+url.Values{"pair": {pair}}.Encode(), nil, &s); err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), s)
			}
			return printPEP(c.OutOrStdout(), s)
		},
	}
	to.flags(c)
	c.Flags().StringVar(&pair, "pair", "", "pair of ports, where the box has several")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printPEP(w io.Writer, s appliance.PEPState) error {
	fmt.Fprintln(w, s.Want)
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if len(s.Proxies) > 0 {
		fmt.Fprintln(t, "SIDE\tPROCESS\tFLOWS\tMOST\tSPLIT\tREFUSED\tUNREACHABLE\tRESET\tPASSED")
	}
	for _, p := range s.Proxies {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", p.Side, p.PID, p.Flows, p.MostFlows, p.Accepted, p.Refused, p.Unreachable, p.Resets, p.Intercept.Passed)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, p := range s.Proxies {
		if p.Enabled && p.Short {
			fmt.Fprintf(w, "%s: splits nothing: the link's round trip is under least_rtt, where a split costs more than it brings\n", p.Side)
		}
		if p.Silent != "" {
			fmt.Fprintf(w, "%s: no figures: %s\n", p.Side, p.Silent)
		}
		for _, l := range p.Feed.Links {
			fmt.Fprintf(w, "%s: link %d grants %.4g Mbit/s %s, told %.1f ms ago; windows are %.1f %% off (%d samples)\n",
				p.Side, l.Link, l.GrantedBps/1e6, l.Way, l.AgeMs, 100*p.Feed.Error, p.Feed.Samples)
		}
		for _, l := range p.Saved {
			fmt.Fprintf(w, "%s: saved of link %d %s: %d bytes a round trip of %.1f ms, %.0f s ago; %d connections jumped to half of it, %d validated, %d retreated\n",
				p.Side, l.Link, l.Way, l.Bytes, l.MinRTTms, l.AgeMs/1e3, l.Jumps, l.Validated, l.Retreats)
		}
		for name, why := range p.Missing {
			fmt.Fprintf(w, "%s: congestion control %s is missing: %s\n", p.Side, name, why)
		}
	}
	return nil
}

func pepSetCommand() *cobra.Command {
	var to target
	var pair, sides, handshake, congestion string
	var asJSON bool
	c := &cobra.Command{
		Use: "set on|off", Short: "Switch the proxies of a pair on or off",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "on" && args[0] != "off" {
				return errors.New("want one word, on or off")
			}
			if sides != "near" && sides != "far" && sides != "both" {
				return fmt.Errorf("--sides %q: want near, far or both", sides)
			}
			return nil
		},
		Long: `set switches the proxies of a pair on or off. Rules and everything else that
the proxies know are set over the API (PUT or PATCH /api/v1/pep).`,
		Example:   "  farlink pep set on --lab lab --sides both --congestion xlayer",
		ValidArgs: []string{"on", "off"},
		RunE: func(c *cobra.Command, args []string) error {
			patch := map[string]any{"enabled": false, "near": false, "far": false}
			if args[0] == "on" {
				patch = map[string]any{"enabled": true, "handshake": handshake, "near": sides != "far", "far": sides != "near", "wan": map[string]any{"congestion": congestion}}
			}
			box, err := to.dial()
			if err != nil {
				return err
			}
			var s appliance.PEPState
			if err := box.Call(c.Context(), http.MethodPatch, "/pep?"+url.Values{"pair": {pair}}.Encode(), patch, &s); err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), s)
			}
			return printPEP(c.OutOrStdout(), s)
		},
	}
	to.flags(c)
	f := c.Flags()
	f.StringVar(&pair, "pair", "", "pair of ports, where the box has several")
	f.StringVar(&sides, "sides", "both", "near (device side), far (network side) or both")
	f.StringVar(&handshake, "handshake", "deferred", "when a client is answered: deferred (once the server has), early (at once), or pass (no splitting but by rules)")
	f.StringVar(&congestion, "congestion", "xlayer", "congestion control over the link: xlayer (by what the link grants), hybla, cubic, bbr, …")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func flowsCommand() *cobra.Command {
	var to target
	var pair, side string
	var offset, limit int
	var asJSON bool
	c := &cobra.Command{
		Use: "flows", Short: "List the split connections of a running box", Args: cobra.NoArgs,
		Long: `flows lists the TCP connections that the proxies of a pair split: bytes up and
down, and of the connections to either end the congestion control, its window
(cwnd, in segments), round trip and retransmissions.`,
		Example: "  farlink flows --lab lab --side near",
		RunE: func(c *cobra.Command, _ []string) error {
			box, err := to.dial()
			if err != nil {
				return err
			}
			query := url.Values{"pair": {pair}, "offset": {strconv.Itoa(offset)}, "limit": {strconv.Itoa(limit)}}
			if side != "" {
				query.Set("side", side)
			}
			var page struct {
				Total int               `json:"total"`
				Flows []appliance.Split `json:"flows"`
			}
			if err := box.Call(c.Context(), http.MethodGet, "/flows?"+query.Encode(), nil, &page); err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), page)
			}
			return printFlows(c.OutOrStdout(), page.Total, page.Flows)
		},
	}
	to.flags(c)
	f := c.Flags()
	f.StringVar(&pair, "pair", "", "pair of ports, where the box has several")
	f.StringVar(&side, "side", "", "which proxy: near or far")
	f.IntVar(&offset, "offset", 0, "leave out so many of the oldest")
	f.IntVar(&limit, "limit", 100, "show at most so many")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printFlows(w io.Writer, total int, flows []appliance.Split) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "CLIENT\tSERVER\tSTATE\tUP\tDOWN\tTO CLIENT\tTO SERVER")
	leg := func(cc string, cwnd uint32, rtt float64, retransmits uint32) string {
		return fmt.Sprintf("%s cwnd %d rtt %.1fms retransmits %d", cc, cwnd, rtt, retransmits)
	}
	for _, f := range flows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", f.Client, f.Server, f.State, f.UpBytes, f.DownBytes,
			leg(f.ToClient.Congestion, f.ToClient.Cwnd, f.ToClient.RTTms, f.ToClient.Retransmits),
			leg(f.ToServer.Congestion, f.ToServer.Cwnd, f.ToServer.RTTms, f.ToServer.Retransmits))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d of %d split connections\n", len(flows), total)
	return nil
}
