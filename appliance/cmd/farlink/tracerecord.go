package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"farlink/emulator/trace"
)

func traceRecordCommand() *cobra.Command {
	var way wayFlag
	var index int
	var out, came string
	c := &cobra.Command{
		Use: "record --way up|down --out CHANNEL.csv CAPTURE", Short: "Make a recording of a run's channel from a box's capture", Args: cobra.ExactArgs(1),
		Long: `record reads the capture of a box, in which each packet has its arrival and its
fate, and writes the channel of one way of one link as a recording: the delay,
loss or damage of each packet, to the nanosecond. With --came it also writes the
packets as they came. Put through the recording again they meet the same fates,
bit for bit. Where numbers are missing (packets that were inside when the
capture began or ended, or passed too quickly to be kept) the longest stretch
without a gap is taken.`,
		Example: `  curl -s -H "Authorization: Bearer $TOKEN" "$BOX/api/v1/capture/pcap" -o run.pcapng
  farlink trace record --way up --out day.csv --came day.pcapng run.pcapng
  farlink replay --channel day.csv --way up --record again.csv --out fates.pcapng day.pcapng
  cmp day.csv again.csv`,
		RunE: func(c *cobra.Command, args []string) error {
			if !way.set || out == "" {
				return errors.New("want --way and --out")
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			tape, err := trace.ReadTape(trace.File{Name: args[0], Reader: f}, way.way, index)
			if err != nil {
				return err
			}
			if err := toFile(c.OutOrStdout(), out, tape.Record); err != nil {
				return err
			}
			if came != "" {
				err = toFile(c.OutOrStdout(), came, tape.Arrivals)
			}
			fmt.Fprintf(c.ErrOrStderr(), "%d packets, %d left out\n", tape.Packets(), tape.LeftOut)
			return err
		},
	}
	c.Flags().Var(&way, "way", "way of the packets: up or down")
	c.Flags().IntVar(&index, "link", 0, "place of the link among those of the pair, from 0")
	c.Flags().StringVar(&out, "out", "", `recording to write ("-" is standard output)`)
	c.Flags().StringVar(&came, "came", "", "capture to write: the packets as they came")
	return c
}
