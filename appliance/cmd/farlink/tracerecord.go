package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"farlink/appliance/output"
	"farlink/emulator/recording"
	"farlink/emulator/trace/lines"
)

func traceRecordCommand() *cobra.Command {
	var way wayFlag
	var index int
	var out, came, of string
	var box target
	c := &cobra.Command{
		Use: "record --way up|down --out CHANNEL.csv CAPTURE|--run ID", Short: "Make a recording of a run's channel from a box's capture",
		Args: cobra.MaximumNArgs(1),
		Long: `record reads the capture of a box, in which each packet has its arrival and its
fate, and writes the channel of one way of one link as a recording: the delay,
loss or damage of each packet, to the nanosecond. With --came it also writes the
packets as they came. Put through the recording again they meet the same fates,
bit for bit. Where numbers are missing (packets that were inside when the
capture began or ended, or passed too quickly to be kept) the longest stretch
without a gap is taken.

With --run the capture is the channel of that run of a box, all of it, where the
run was begun with one: PUT /api/v1/runs/ID with {"record": "2GB"}.`,
		Example: `  curl -s -H "Authorization: Bearer $TOKEN" "$BOX/api/v1/capture/pcap" -o run.pcapng
  farlink trace record --way up --out day.csv --came day.pcapng run.pcapng
  farlink replay --channel day.csv --way up --record again.csv --out fates.pcapng day.pcapng
  cmp day.csv again.csv
  farlink trace record --lab demo --run night-1 --way up --out night.csv --came night.pcapng`,
		RunE: func(c *cobra.Command, args []string) error {
			if !way.set || out == "" {
				return errors.New("want --way and --out")
			}
			if (of == "") == (len(args) == 0) {
				return errors.New("want either a capture or --run")
			}
			if err := output.Apart([]string{out, came}, args); err != nil {
				return err
			}
			f, err := taped(c.Context(), box, of, args)
			if err != nil {
				return err
			}
			defer f.Close()
			tape, err := recording.ReadTape(lines.File{Name: cmp.Or(of, strings.Join(args, "")), Reader: f}, way.way, index)
			if err != nil {
				return err
			}
			if err := writeTape(c.OutOrStdout(), tape, out, came); err != nil {
				return err
			}
			fmt.Fprintf(c.ErrOrStderr(), "%d packets, %d left out\n", tape.Packets(), tape.LeftOut)
			if tape.Torn {
				fmt.Fprintln(c.ErrOrStderr(), "the capture ends within a packet: whoever wrote it was cut off")
			}
			return nil
		},
	}
	box.flags(c)
	c.Flags().StringVar(&of, "run", "", "run of a box whose channel was recorded")
	c.Flags().Var(&way, "way", "way of the packets: up or down")
	c.Flags().IntVar(&index, "link", 0, "place of the link among those of the pair, from 0")
	c.Flags().StringVar(&out, "out", "", `recording to write ("-" is standard output)`)
	c.Flags().StringVar(&came, "came", "", "capture to write: the packets as they came")
	return c
}

// writeTape writes the recording, and the packets as they came where asked.
func writeTape(stdout io.Writer, tape *recording.Tape, out, came string) error {
	if err := output.Write(stdout, out, tape.Record); err != nil || came == "" {
		return err
	}
	return output.Write(stdout, came, tape.Arrivals)
}

// taped opens a capture, or the channel of a run.
func taped(ctx context.Context, box target, of string, args []string) (io.ReadCloser, error) {
	if of == "" {
		return os.Open(args[0])
	}
	c, err := box.dial()
	if err != nil {
		return nil, err
	}
	return c.Open(ctx, "/runs/"+url.PathEscape(of)+"/channel")
}
