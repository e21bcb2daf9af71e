package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// List writes the names of cases and what they measure.
func List(w io.Writer, cases []Case) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, c := range cases {
		fmt.Fprintf(t, "%s\t%s\n", c.Name, aboutCase(c.Name))
	}
	return t.Flush()
}

// aboutCase is the line of a case, or of the series that it belongs to.
func aboutCase(name string) string {
	if line := about[name]; line != "" {
		return line
	}
	return about[strings.TrimRight(name, "-0123456789")]
}

// about says in a line what each case measures.
var about = map[string]string{
	"throughput":          "TCP over the profile clear, beside the bare loop, the bypass and a kernel bridge",
	"packet-rate":         "64-byte frames one way",
	"delay":               "delay against the kernel's stamps at the endpoints, idle and loaded",
	"idle":                "processor time of an engine with nothing to do",
	"added-latency":       "what the wire adds where no delay is asked",
	"busy-daemon":         "tail of the delay error beside 200 MB/s of garbage",
	"rate":                "rates from 64 kbit/s to 900 Mbit/s over 1 s and 100 ms",
	"burst":               "30 KB at once into 500 kbit/s",
	"held":                "300 ms of 1 Gbit/s inside the link",
	"swap":                "changes of the profile under load: time, loss, order",
	"kill":                "until frames pass again after kill -9 of the engine",
	"hang":                "until frames pass again after the engine hangs",
	"media-on-wire":       "engine with a carrier of 256 stations, or a cell of 100 UEs, idle and carrying 50 Mbit/s",
	"start":               "until farlink serve forwards through its link",
	"api-load":            "lateness beside 50 event streams and 200 requests a second",
	"pipeline":            "cost of a frame in whole links, time and allocations",
	"held-cost":           "cost of a frame beside 4,500,000 held",
	"building":            "the slowest of the shipped profiles to become a link",
	"media-speed":         "carrier of 256 stations and cell of 100 UEs against real time, one core",
	"timeline":            "a million steps of a timeline at their nanosecond",
	"multipath-sum":       "several carriers together: the sum of their rates",
	"multipath-redundant": "everything on every path, beside the better path alone",
	"multipath-satellite": "a satellite with a near path",
	"multipath-far":       "two satellites",
	"multipath-thin":      "a thin near path beside a wide one",
	"multipath-cut":       "the better carrier falls silent under a transfer",
	"multipath-late":      "decisions at the last moment, beside filled socket buffers",
	"multipath-pairs":     "random pairs of carriers, beside the better one alone",
	"multipath-pairs-2":   "five more of them",
	"multipath-relay":     "processor time of the relays, beside that of single-path proxies",
	"multipath-many":      "10,000 connections opened and closed leave nothing",
	"multipath-wire":      "MPTCP by the kernel over the same carriers",
	"pep-loss-1":          "a session through proxies over lossy links: part of the loss-limited ideal",
	"pep-loss-5":          "five of them",
	"pep-never-worse":     "goodput and pages over random links, proxies beside bypass, five links a case",
	"pep-rivals":          "xlayer over lossy links, beside split Hybla and Reno alone",
	"pep-window":          "course of the window over a lossy link",
	"pep-start":           "proxies: how fast a transfer starts",
	"pep-step":            "proxies over a rate that steps",
	"pep-dama":            "proxies over links granted on demand",
	"pep-feed":            "how late proxies hear of a grant",
	"pep-fault":           "windows against grant times RTT, with a feed that is right, and wrong",
	"pep-fair":            "connections that share a proxied link",
	"pep-relay":           "TCP through a proxy, beside a redirect in the kernel, one stream and ten",
	"pep-latency":         "what a split adds to a round trip",
	"pep-flows":           "thousands of connections at once, and how fast new ones come",
	"pep-soak":            "100,000 connections opened and closed, and what is left of them (three minutes)",
	"pep-kill":            "kill -9 of daemon, engine and proxies, alone and together, and a proxy that hangs",
}
