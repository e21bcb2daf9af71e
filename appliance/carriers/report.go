package carriers

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"farlink/pep/schedule"
)

// Channel is a matrix measured over one kind of carriers.
type Channel struct {
	Name string `json:"name"` // in a word: clean, cells, fading
	What string `json:"what"` // what the carriers do
	*Result
	Verdicts []Verdict `json:"verdicts"`
}

// Report is the same matrix over several channels, side by side: which of the
// published orderings appears depends on them.
type Report struct {
	Plan     Plan      `json:"plan"`
	Channels []Channel `json:"channels"`
}

// Add takes in a channel's matrix.
func (r *Report) Add(name, what string, m *Result) {
	r.Channels = append(r.Channels, Channel{name, what, m, m.Verdicts()})
}

// Print writes what was measured, each table with all channels beside each
// other: the numbers that were published, paths alone, the matrix, its bars,
// and which orderings appear.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "seed 000: goodput up over two carriers, Mbit/s\n\n")
	for _, c := range r.Channels {
		fmt.Fprintf(w, "%-7s %s: %s; nominal sum %.2f Mbit/s\n", c.Name, strings.Join(c.Carriers, " + "), c.What, c.SumMbps)
	}
	fmt.Fprintf(w, "each cell: %d × %v after a warm-up of %v, the median\n", r.Plan.Times, r.Plan.For, r.Plan.Warm)
	if r.Plan.Times < 3 {
		fmt.Fprintln(w, "a cell that is measured once or twice scatters by a tenth, with fading by a third: what differs by less is alike")
	}
	for _, table := range []func(io.Writer) error{r.numbers, r.alone, r.matrix} {
		if err := table(w); err != nil {
			return err
		}
	}
	r.bars(w)
	return r.orderings(w)
}

// number is a goodput that seed 000 published, Mbit/s.
type number struct {
	what string
	mbps float64
	of   func(*Result) float64
}

// numbers of seed 000, its text and figures 6 to 9.
var numbers = []number{
	{"BLEST with BBR over both, the best cell", 48.6, func(r *Result) float64 { return r.Cell("blest", "bbr") }},
	{"first carrier (SKT) alone, CUBIC", 16.14, func(r *Result) float64 { return r.Alone(r.Carriers[0], "cubic") }},
	{"first carrier (SKT) alone, BBR", 18.36, func(r *Result) float64 { return r.Alone(r.Carriers[0], "bbr") }},
	{"second carrier (KT) alone, CUBIC", 30.1, func(r *Result) float64 { return r.Alone(r.Carriers[1], "cubic") }},
	{"second carrier (KT) alone, BBR", 27.7, func(r *Result) float64 { return r.Alone(r.Carriers[1], "bbr") }},
}

// near is by which share of a published number a measured one may differ and
// still be it: the terminals measured their carriers once, in the field.
const near = 0.1

func (r *Report) numbers(w io.Writer) error {
	if len(r.Channels[0].Carriers) != 2 {
		return nil
	}
	fmt.Fprintf(w, "\nPublished numbers; = is within %.0f %%\n", 100*near)
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "\tpublished\t%s\n", r.heads())
	for _, n := range numbers {
		fmt.Fprintf(t, "%s\t%.2f", n.what, n.mbps)
		for _, c := range r.Channels {
			got := n.of(c.Result)
			word := "="
			if got > n.mbps*(1+near) {
				word = "more"
			} else if got < n.mbps*(1-near) {
				word = "less"
			}
			fmt.Fprintf(t, "\t%.1f %s", got, word)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

func (r *Report) heads() string {
	var all []string
	for _, c := range r.Channels {
		all = append(all, c.Name)
	}
	return strings.Join(all, "\t")
}

// beside writes a figure of every channel.
func (r *Report) beside(of func(Channel) float64) string {
	var all []string
	for _, c := range r.Channels {
		all = append(all, fmt.Sprintf("%.1f", of(c)))
	}
	return strings.Join(all, " | ")
}

func (r *Report) names() string { return strings.ReplaceAll(r.heads(), "\t", " | ") }

// alone is a table of the single paths: a row for each, by its place.
func (r *Report) alone(w io.Writer) error {
	fmt.Fprintf(w, "\nEach carrier alone: %s\n", r.names())
	return r.table(w, len(r.Channels[0].Carriers), func(i int) (string, func(Channel, string) float64) {
		return r.Channels[0].Carriers[i], func(c Channel, control string) float64 { return c.Alone(c.Carriers[i], control) }
	})
}

func (r *Report) matrix(w io.Writer) error {
	fmt.Fprintf(w, "\nBoth carriers: %s\n", r.names())
	names := schedule.Names()
	return r.table(w, len(names), func(i int) (string, func(Channel, string) float64) {
		return names[i], func(c Channel, control string) float64 { return c.Cell(names[i], control) }
	})
}

func (r *Report) table(w io.Writer, rows int, row func(i int) (string, func(Channel, string) float64)) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "\t%s\n", strings.Join(Controls, "\t"))
	for i := range rows {
		name, of := row(i)
		fmt.Fprint(t, name)
		for _, control := range Controls {
			fmt.Fprintf(t, "\t%s", r.beside(func(c Channel) float64 { return of(c, control) }))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// bars draws the share of the sum that each cell carries.
func (r *Report) bars(w io.Writer) {
	fmt.Fprintf(w, "\nShare of the nominal sum\n")
	for _, s := range schedule.Names() {
		for _, control := range Controls {
			label := fmt.Sprintf("%s %s", s, control)
			for _, c := range r.Channels {
				share := c.Cell(s, control) / c.SumMbps
				fmt.Fprintf(w, "%-18s %-7s %-44s %5.1f %%\n", label, c.Name, strings.Repeat("#", int(40*min(share, 1.1)+0.5)), 100*share)
				label = ""
			}
		}
	}
}

// orderings says of each thing that was published where it appears, and what
// was found.
func (r *Report) orderings(w io.Writer) error {
	fmt.Fprintf(w, "\nPublished orderings, and under which channel they appear\n")
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "%s\t\n", r.heads())
	for i, v := range r.Channels[0].Verdicts {
		for _, c := range r.Channels {
			word := "no"
			if c.Verdicts[i].Holds {
				word = "yes"
			}
			fmt.Fprintf(t, "%s\t", word)
		}
		fmt.Fprintln(t, v.Claim)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range r.Channels {
		held := 0
		for _, v := range c.Verdicts {
			if v.Holds {
				held++
			}
		}
		fmt.Fprintf(w, "\n%s: %d of %d\n", c.Name, held, len(c.Verdicts))
		for _, v := range c.Verdicts {
			fmt.Fprintf(w, "%-14s %s (%s)\n", v.Word(), v.Claim, v.Found)
		}
	}
	return nil
}
