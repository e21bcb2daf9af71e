package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"farlink/emulator/link"
	"farlink/emulator/sim"
	"farlink/emulator/tally"
)

func replayCommand() *cobra.Command {
	var s source
	var way wayFlag
	var t tape
	c := &cobra.Command{
		Use: "replay --profile P|--channel FILE --way up|down --out OUT.pcapng CAPTURE", Short: "Put a capture through a link, packet by packet",
		Long: `replay puts the packets of a capture (pcap, pcapng; "-" is standard input) on a
link at their own times and writes what becomes of each: delivered packets
when and where they leave, lost ones when and where they are lost, with the
fate as the packet's comment. No ports, no waiting; the same profile, seed and
capture give the same file, byte for byte.

With --device a capture of both ways goes through both: up what the device
sent, down all else.

--record saves the channel as it was: the delay, loss or damage of each packet.
With --channel such a recording takes the profile's place, whatever the version
or the settings; the same capture then meets the same fates, bit for bit.`,
		Example: `  farlink replay --profile geo/qirse-sat --seed 7 --way down --out fates.pcapng web.pcap
  tshark -r fates.pcapng -Y 'frame.comment contains "lost"'
  farlink replay --profile geo/qirse-sat --device 192.0.2.7 --out both.pcapng laptop.pcap
  farlink replay --profile geo/qirse-sat --way up --record day.csv --out a.pcapng web.pcap
  farlink replay --channel day.csv --way up --out b.pcapng web.pcap`,
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(1)(c, args); err != nil {
				return err
			}
			switch {
			case t.out == "" || (s.profile == "") == (t.channel == ""):
				return errors.New("want --out and either --profile or --channel")
			case way.set == (t.device != ""):
				return errors.New("want either --way or --device")
			case t.device != "" && (t.channel != "" || t.record != ""):
				return errors.New("--device with --channel or --record: want --way, a recording is of one")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			t.in, t.way = args[0], way.way
			return t.play(c, &s)
		},
	}
	s.flags(c)
	c.Flags().Var(&way, "way", "way of the packets: up or down")
	c.Flags().StringVar(&t.device, "device", "", "both ways: MAC, IP or prefix of the device, whose frames go up")
	c.Flags().StringVar(&t.out, "out", "", `capture to write ("-" is standard output)`)
	c.Flags().StringVar(&t.record, "record", "", "file for the channel as it was")
	c.Flags().StringVar(&t.channel, "channel", "", "recorded channel, in place of a profile")
	c.Flags().BoolVar(&t.json, "json", false, "print the summary as JSON")
	return c
}

// wayFlag is a way on the command line.
type wayFlag struct {
	way link.Way
	set bool
}

func (f *wayFlag) String() string {
	if !f.set {
		return ""
	}
	return f.way.String()
}

func (f *wayFlag) Type() string { return "up|down" }

// Set reads "up" or "down".
func (f *wayFlag) Set(text string) error {
	for _, w := range link.Ways {
		if w.String() == text {
			f.way, f.set = w, true
			return nil
		}
	}
	return errors.New("want up or down")
}

// durationFlag is a length of time on the command line, as in profiles.
type durationFlag link.Duration

// String leaves zero without a unit, which cobra's help takes for no default.
func (f *durationFlag) String() string {
	if *f == 0 {
		return "0"
	}
	return link.Duration(*f).String()
}

func (f *durationFlag) Type() string { return "duration" }

// Set reads "60s".
func (f *durationFlag) Set(text string) error {
	d, err := link.ParseDuration(text)
	*f = durationFlag(d)
	return err
}

func printSummary(w io.Writer, s *sim.Summary) error {
	fmt.Fprintf(w, "%d packets %s in %.3f s\n", s.In, s.Way, s.Seconds)
	t := table(w)
	printTotals(t, s.Totals)
	for _, odd := range []struct {
		count int64
		what  string
	}{
		{s.Untimed, "without a time stamp: took the one before"},
		{s.Backwards, "stamped before one that stands before them: took its time"},
		{s.Cut, "longer than 65535 bytes: cut"},
	} {
		if odd.count > 0 {
			fmt.Fprintf(t, "odd\t%d\t%s\n", odd.count, odd.what)
		}
	}
	return t.Flush()
}

// printTotals prints the lines of a way.
func printTotals(w io.Writer, t tally.Totals) {
	d := t.Delay
	fmt.Fprintf(w, "delivered\t%d\t%s\n", t.Delivered, mbps(t.Rate))
	if d.Count > 0 {
		fmt.Fprintf(w, "delay\t%.3f ms\tmin %.3f, p50 %.3f, p99 %.3f, max %.3f\n", d.Mean, d.Min, d.P50, d.P99, d.Max)
	}
	for _, l := range t.Losses {
		fmt.Fprintf(w, "lost\t%d\t%s at %s\n", l.Packets, l.Reason, l.Stage)
	}
	for _, more := range []struct {
		count int64
		what  string
	}{{t.Held, "held"}, {t.Duplicated, "duplicated"}, {t.Corrupted, "corrupted"}, {t.Reordered, "reordered"}, {t.CEMarked, "CE-marked"}} {
		if more.count > 0 {
			fmt.Fprintf(w, "%s\t%d\n", more.what, more.count)
		}
	}
}

func mbps(rate float64) string { return fmt.Sprintf("%.3f Mbit/s", rate/1e6) }

func printMeasured(w io.Writer, f sim.Figures) {
	fmt.Fprintf(w, "idle round trip   %.3f ms (min %.3f, max %.3f, %d pings, %.2f %% unanswered)\n",
		f.IdleRTT.P50, f.IdleRTT.Min, f.IdleRTT.Max, f.IdleRTT.Count, 100*f.PingLoss)
	fmt.Fprintf(w, "saturated down    %s, %.3f %% lost on the air\n", mbps(f.DownRate), 100*f.DownLoss)
	fmt.Fprintf(w, "saturated up      %s, %.3f %% lost on the air\n", mbps(f.UpRate), 100*f.UpLoss)
}

func printResult(w io.Writer, r *sim.Result) error {
	t := table(w)
	fmt.Fprintln(t, "FLOW\tWAY\tSENT\tDELIVERED\tLOST\tRATE\tDELAY P50\tP99\tRTT P50")
	for _, f := range r.Flows {
		for _, way := range []struct {
			name string
			tally.Totals
		}{{"down", f.Down}, {"up", f.Up}} {
			if way.In == 0 {
				continue
			}
			rtt := ""
			if f.RTT != nil {
				rtt = fmt.Sprintf("%.3f ms", f.RTT.P50)
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\t%.3f ms\t%.3f ms\t%s\n", f.Name, way.name, way.In, way.Delivered, way.Lost,
				mbps(way.Rate), way.Delay.P50, way.Delay.P99, rtt)
		}
	}
	return t.Flush()
}
