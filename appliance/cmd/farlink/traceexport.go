package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/sim"
	"farlink/emulator/trace"
	"farlink/profiles"
)

func traceExportCommand() *cobra.Command {
	var t exporting
	c := &cobra.Command{
		Use: "export FORMAT --profile P", Short: "Write the course of a profile's link as a trace",
		Long: `export writes the trace that a profile follows as mahimahi, theaterq or table;
a profile without a trace is one step that lasts --for. With --saturated the
profile is run for so long under full load, and what the link let through is
written as Mahimahi's opportunities: the way to take a satellite, an LTE cell or
a DAMA terminal to another emulator.`,
		Example: `  farlink trace export mahimahi --profile seed/000-skt --way down --for 60s > skt.down
  farlink trace export mahimahi --profile geo/fade-shallow --way down --saturated --for 120s > fade.down
  farlink trace export table --profile mine.toml > mine.csv`,
		Args: t.understand,
		RunE: func(c *cobra.Command, _ []string) error { return t.run(c) },
	}
	t.source.flags(c)
	t.length = durationFlag(60 * link.Second)
	f := c.Flags()
	f.Var(&t.way, "way", "way to write: up or down (a table has both)")
	f.Var(&t.length, "for", "how long the trace is where the profile does not say")
	f.BoolVar(&t.saturated, "saturated", false, "run the link under full load and write what it lets through")
	return c
}

// exporting is what export was asked for.
type exporting struct {
	source    source
	format    string
	way       wayFlag
	length    durationFlag
	saturated bool
}

// understand checks arguments and flags before anything is done.
func (t *exporting) understand(c *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(1)(c, args); err != nil {
		return err
	}
	t.format = args[0]
	switch {
	case !contains([]string{"mahimahi", "theaterq", "table"}, t.format):
		return fmt.Errorf("format %q: want mahimahi, theaterq or table", t.format)
	case t.source.profile == "":
		return errors.New("no profile: want --profile NAME or --profile FILE.toml")
	case t.way.set == (t.format == "table"):
		return fmt.Errorf("%s: want --way with mahimahi and theaterq, and not with table", t.format)
	case t.saturated && t.format != "mahimahi":
		return errors.New("--saturated: want it with mahimahi")
	}
	return nil
}

func (t *exporting) run(c *cobra.Command) error {
	p, err := t.source.load(c.InOrStdin())
	if err != nil {
		return err
	}
	if t.saturated {
		way, err := t.serve(p)
		if err != nil {
			return err
		}
		return trace.WriteMahimahi(c.OutOrStdout(), way, 0)
	}
	course := &trace.Course{}
	for _, w := range link.Ways {
		*course.Of(w) = t.course(p, w)
	}
	out, way, length := c.OutOrStdout(), *course.Of(t.way.way), link.Duration(t.length)
	switch t.format {
	case "mahimahi":
		return trace.WriteMahimahi(out, way, length)
	case "theaterq":
		return trace.WriteTheaterQ(out, way, fixed(p, t.way.way), length)
	}
	return trace.WriteTable(out, course)
}

// course is the trace of a profile's way; one step where it has none.
func (t *exporting) course(p *profiles.Profile, w link.Way) trace.Way {
	way := p.Of(w)
	switch {
	case way.Delivery != nil:
		return trace.Way{Delivery: way.Delivery}
	case way.Train != nil:
		return trace.Way{Delivery: &way.Train.Heavy}
	case way.Trace != nil:
		return trace.Way{Trace: way.Trace, Limit: way.Queue.Limit}
	}
	return trace.Way{Trace: &course.Config{Steps: []course.Step{fixed(p, w)}}, Limit: way.Queue.Limit}
}

// fixed is what of a profile's way holds at every instant.
func fixed(p *profiles.Profile, w link.Way) course.Step {
	rate, delay, loss := p.Rate(w), p.Delay(w), p.Of(w).Loss.Probability
	return course.Step{Rate: &rate, Delay: &delay, Loss: &loss}
}

// serve runs the link under full load. What leaves counts from 5 s on, when
// the load has found the link's rate.
func (t *exporting) serve(p *profiles.Profile) (trace.Way, error) {
	e, err := emulate(p, t.source.seed)
	if err != nil {
		return trace.Way{}, err
	}
	const header = 14
	var served trace.Served
	var disorder error
	from := link.Time(5 * link.Second)
	_, err = sim.Run(sim.Config{
		Emulator: e, Until: from.Add(link.Duration(t.length)),
		Senders: []sim.Sender{&sim.Greedy{Name: "greedy", Way: t.way.way, Size: 1514}},
		Meet: func(_ link.Way, _ link.Time, f link.Fate) {
			if !f.Lost() && f.Packet.When >= from && disorder == nil {
				disorder = served.Add(f.Packet.When-from, int(f.Packet.Size)-header)
			}
		},
	})
	if err = errors.Join(err, disorder); err != nil {
		return trace.Way{}, err
	}
	return served.Way()
}
