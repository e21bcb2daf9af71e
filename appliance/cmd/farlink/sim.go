package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"farlink/appliance/output"
	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/emulator/pcap"
	"farlink/emulator/recording"
	"farlink/emulator/sim"
	"farlink/emulator/sim/load"
	"farlink/emulator/trace/lines"
	"farlink/profiles"
)

func simCommand() *cobra.Command {
	s := simulation{length: durationFlag(60 * link.Second)}
	c := &cobra.Command{
		Use: "sim --profile P", Short: "Run a link in virtual time",
		Long: `sim runs a profile without ports, faster than real time; the same profile, seed
and input give the same output, byte for byte.

With --in the packets of a capture (pcap, pcapng) go through the link on one
way, or with --device on both, each at its own time; --out is a capture with
the fate of each packet as its comment.

With --load scripted senders share the link: ping, tcp-down,
greedy-up, cbr-down=8Mbit/s, poisson-up=1Mbit/s, burst-down=100, each with
:200B for another size of frame. With neither, sim measures what one notices of
the link: idle round trip, saturated rate and loss each way.`,
		Example: `  farlink sim --profile geo/qirse-sat
  farlink sim --profile geo/qirse-sat --seed 7 --in web.pcap --way up --out fates.pcapng --json
  farlink sim --profile seed/000-skt --load ping,tcp-down --for 60s --series run.json`,
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.NoArgs(c, args); err != nil {
				return err
			}
			return s.understand(c)
		},
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c) },
	}
	s.source.flags(c)
	f := c.Flags()
	f.StringVar(&s.in, "in", "", `capture to put on the link ("-" is standard input)`)
	f.StringVar(&s.out, "out", "", `capture to write ("-" is standard output)`)
	f.Var(&s.way, "way", "way of the capture: up or down")
	f.StringVar(&s.device, "device", "", "both ways: MAC, IP or prefix of the device, whose frames go up")
	f.StringSliceVar(&s.loads, "load", nil, "senders to run, such as ping,tcp-down")
	f.Var(&s.length, "for", "how long the senders run")
	f.Var(&s.warm, "after", "from when on rates and delays count")
	f.StringVar(&s.series, "series", "", "file for the run over time (JSON), as farlink plot reads it")
	f.BoolVar(&s.json, "json", false, "print JSON")
	return c
}

// simulation is what sim was asked for.
type simulation struct {
	source       source
	in, out      string
	way          wayFlag
	device       string
	loads        []string
	senders      []sim.Sender
	length, warm durationFlag
	series       string
	json         bool
}

// understand checks the flags before anything is done.
func (s *simulation) understand(c *cobra.Command) error {
	f := c.Flags()
	switch {
	case s.source.profile == "":
		return errors.New("no profile: want --profile NAME or --profile FILE.toml")
	case s.in != "" && len(s.loads) > 0:
		return errors.New("--in and --load: want one of them")
	case s.in != "" && (s.way.set == (s.device != "") || s.out == ""):
		return errors.New("--in: want --out beside it, and either --way or --device")
	case s.in == "" && (s.out != "" || s.way.set || s.device != ""):
		return errors.New("--out, --way or --device without --in: want a capture")
	case len(s.loads) == 0 && (s.series != "" || f.Changed("for") || f.Changed("after")):
		return errors.New("--for, --after or --series without --load: want senders to run")
	}
	for _, text := range s.loads {
		sender, err := load.Parse(text, s.source.seed)
		if err != nil {
			return err
		}
		s.senders = append(s.senders, sender)
	}
	if s.length == 0 {
		s.length = durationFlag(60 * link.Second)
	}
	if s.warm >= s.length {
		return fmt.Errorf("--after %v: want less than --for %v", &s.warm, &s.length)
	}
	return nil
}

func (s *simulation) run(c *cobra.Command) error {
	if s.in != "" {
		return tape{in: s.in, out: s.out, way: s.way.way, device: s.device, json: s.json}.play(c, &s.source)
	}
	if err := output.Apart([]string{s.series}, []string{s.source.profile}); err != nil {
		return err
	}
	profile, err := s.source.load(c.InOrStdin())
	if err != nil {
		return err
	}
	if len(s.senders) > 0 {
		return s.senderRun(c, profile)
	}
	figures, err := sim.Measure(func() (sim.Emulator, error) { return emulate(profile, s.source.seed) }, sim.Effort{})
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(c.OutOrStdout(), figures)
	}
	printMeasured(c.OutOrStdout(), figures)
	return nil
}

// senderRun runs the scripted senders.
func (s *simulation) senderRun(c *cobra.Command, profile *profiles.Profile) error {
	e, err := emulate(profile, s.source.seed)
	if err != nil {
		return err
	}
	result, err := sim.Run(sim.Config{Emulator: e, Senders: s.senders, From: link.Time(s.warm), Until: link.Time(s.length), Series: s.series != ""})
	if err != nil {
		return err
	}
	if s.series != "" {
		err := output.Write(c.OutOrStdout(), s.series, func(w io.Writer) error { return json.NewEncoder(w).Encode(result.Series) })
		if err != nil {
			return err
		}
		result.Series = nil
	}
	if s.json {
		return printJSON(c.OutOrStdout(), result)
	}
	return printResult(c.OutOrStdout(), result)
}

// emulate builds a link of one profile.
func emulate(p *profiles.Profile, seed uint64) (*emulator.Emulator, error) {
	return emulator.New(emulator.Spec{Links: []emulator.LinkSpec{{Name: "main", Seed: seed, Profile: p}}})
}

// source is a profile and a seed.
type source struct {
	profile string
	seed    uint64
}

func (s *source) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.profile, "profile", "", `profile: a name, or a file ("-" is standard input)`)
	c.Flags().Uint64Var(&s.seed, "seed", 1, "seed of the channel")
	c.RegisterFlagCompletionFunc("profile", completeProfile)
}

// load reads the profile. Problems that are errors are all in the error.
func (s *source) load(in io.Reader) (*profiles.Profile, error) {
	d, err := profiles.Lookup(s.profile)
	if err == nil || !looksLikeFile(s.profile) {
		return d.Profile, err
	}
	text, err := readFile(in, s.profile)
	if err != nil {
		return nil, err
	}
	p, problems := profiles.Parse(text)
	if p != nil {
		return p, nil
	}
	var all []string
	for _, problem := range problems {
		all = append(all, problem.In(s.profile).String())
	}
	return nil, errors.New(strings.Join(all, "\n"))
}

// tape is a capture that is put through a link.
type tape struct {
	in, out string
	record  string // file for the channel as it was; "" is none
	channel string // file of a recorded channel, in place of the profile
	way     link.Way
	device  string // whose frames go up, and all others down; "" is all on way
	json    bool
}

// play puts the capture through the source's link, or the recorded channel.
func (t tape) play(c *cobra.Command, s *source) error {
	if err := output.Apart([]string{t.out, t.record}, []string{t.in, t.channel, s.profile}); err != nil {
		return err
	}
	r, err := t.link(c.InOrStdin(), s)
	if err != nil {
		return err
	}
	if t.record == "" {
		return t.run(c, r)
	}
	return output.Write(c.OutOrStdout(), t.record, func(w io.Writer) error {
		recorder := recording.NewRecorder(w)
		r.Meet = func(_ link.Way, arrived link.Time, f link.Fate) { recorder.Meet(arrived, f) }
		return errors.Join(t.run(c, r), recorder.Flush())
	})
}

// link builds what the capture goes through.
func (t tape) link(stdin io.Reader, s *source) (sim.Replay, error) {
	r := sim.Replay{Way: t.way, Header: pcap.Header{Application: "farlink " + version}}
	if t.channel != "" {
		f, err := os.Open(t.channel)
		if err != nil {
			return r, err
		}
		defer f.Close()
		recorded, err := recording.Read(lines.File{Name: t.channel, Reader: f})
		if err != nil {
			return r, err
		}
		r.Header.Comment = fmt.Sprintf("recorded channel %s, way %v", t.channel, t.way)
		channel := &sim.Channel{}
		channel.Ways[t.way], channel.Names[t.way] = recording.NewReplay(recorded), []string{"recording"}
		r.Emulator = channel
		return r, nil
	}
	p, err := s.load(stdin)
	if err != nil {
		return r, err
	}
	r.Header.Comment = fmt.Sprintf("profile %v, seed %d, way %v", p, s.seed, t.way)
	if t.device != "" {
		r.Header.Comment = fmt.Sprintf("profile %v, seed %d, device %s", p, s.seed, t.device)
		if r.Steer, err = sim.From(t.device); err != nil {
			return r, err
		}
	}
	r.Emulator, err = emulate(p, s.seed)
	return r, err
}

// run runs a replay between two files and prints its summary, on standard
// error where the capture goes to standard output.
func (t tape) run(c *cobra.Command, r sim.Replay) error {
	source := c.InOrStdin()
	if t.in != "-" {
		f, err := os.Open(t.in)
		if err != nil {
			return err
		}
		defer f.Close()
		source = f
	}
	var sum *sim.Summary
	err := output.Write(c.OutOrStdout(), t.out, func(w io.Writer) (err error) {
		sum, err = r.Run(source, w)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", t.in, err)
	}
	text := c.OutOrStdout()
	if t.out == "-" {
		text = c.ErrOrStderr()
	}
	if t.json {
		return printJSON(text, sum)
	}
	return printSummary(text, sum)
}
