package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"farlink/emulator/link"
	"farlink/emulator/trace"
	"farlink/emulator/trace/lines"
	"farlink/profiles"
)

func traceCommand() *cobra.Command {
	return group("trace", "Read and write the files in which others keep the course of a link",
		traceImportCommand(), traceExportCommand(), traceRecordCommand())
}

// formats are those that import reads.
const formats = "mahimahi, cellreplay, theaterq, errant, errant-log, table, opensand, attenuation, atc, capture"

func traceImportCommand() *cobra.Command {
	var t importing
	c := &cobra.Command{
		Use: "import FORMAT [FILE]", Short: "Make a profile of a trace",
		Long: `import prints a profile that follows a trace. The formats are
  mahimahi    --down FILE --up FILE    a millisecond a line, an opportunity each
  cellreplay  --down HEAVY,LIGHT[,SIZES] --up …
  theaterq    --down FILE --up FILE    simple or extended
  opensand    --down FILE --up FILE    second and delay in ms a line
  attenuation --down FILE --up FILE    second and dB a line; fades the carriers of --profile
  capture     --down FILE --up FILE    pcap of a saturated link; --interface
  table       FILE                     t_s,down_bps,down_delay_s,down_loss,up_bps,…
  errant      FILE --samples FILE      a scenario, and what to draw from; --seed
  errant-log  FILE                     what ERRANT logged of a run
  atc         FILE                     Augmented Traffic Control's JSON
One way may be left out; it is a wire then. What the trace says and no stage
can follow is told on standard error.`,
		Example: `  farlink trace import mahimahi --down verizon.down --up verizon.up > verizon.toml
  farlink trace import table drive.csv --end loop | farlink sim --profile -`,
		Args: t.understand,
		RunE: func(c *cobra.Command, _ []string) error { return t.run(c) },
	}
	f := c.Flags()
	f.StringSliceVar(&t.ways[link.Down], "down", nil, "file or files of the way down")
	f.StringSliceVar(&t.ways[link.Up], "up", nil, "file or files of the way up")
	f.StringVar(&t.samples, "samples", "", "ERRANT: table of profiles or of speed tests")
	f.StringVar(&t.face, "interface", "", "capture: only packets of this interface")
	f.StringVar(&t.end, "end", "hold", "what follows the end of the trace: hold, loop or clear")
	f.StringVar(&t.name, "name", "mine/trace", "name of the profile")
	f.StringVar(&t.base.profile, "profile", "", "attenuation: the profile whose carriers fade")
	f.Uint64Var(&t.seed, "seed", 1, "ERRANT: seed of the draws")
	return c
}

// importing is what import was asked for.
type importing struct {
	format, file             string
	ways                     [2][]string
	samples, face, end, name string
	seed                     uint64
	base                     source
}

// understand checks arguments and flags before anything is done.
func (t *importing) understand(c *cobra.Command, args []string) error {
	if err := cobra.RangeArgs(1, 2)(c, args); err != nil {
		return err
	}
	t.format = args[0]
	if !contains(strings.Split(formats, ", "), t.format) {
		return fmt.Errorf("format %q: want one of %s", t.format, formats)
	}
	if !contains([]string{"hold", "loop", "clear"}, t.end) {
		return fmt.Errorf("--end %q: want hold, loop or clear", t.end)
	}
	if len(args) == 2 {
		t.file = args[1]
	}
	both := contains([]string{"table", "errant", "errant-log", "atc"}, t.format)
	switch n := len(t.ways[0]) + len(t.ways[1]); {
	case both && (t.file == "" || n > 0):
		return fmt.Errorf("%s: want a FILE, which tells of both ways", t.format)
	case !both && (t.file != "" || n == 0):
		return fmt.Errorf("%s: want --down, --up or both", t.format)
	case (t.format == "errant") != (t.samples != ""):
		return errors.New("--samples: want it with errant, and only there")
	case (t.format == "attenuation") != (t.base.profile != ""):
		return errors.New("--profile: want it with attenuation, and only there")
	}
	for _, w := range link.Ways {
		least, most := 1, 1
		if t.format == "cellreplay" {
			least, most = 2, 3
		}
		if n := len(t.ways[w]); n > 0 && (n < least || n > most) {
			return fmt.Errorf("--%s: %d files, want %d..%d", w, n, least, most)
		}
	}
	return nil
}

func (t *importing) run(c *cobra.Command) error {
	if t.format == "attenuation" {
		return t.fade(c)
	}
	course, err := t.read(c.InOrStdin())
	if err != nil {
		return err
	}
	for _, note := range course.Notes {
		fmt.Fprintln(c.ErrOrStderr(), "farlink:", note)
	}
	p := &profiles.Profile{Name: t.name, About: "A trace of the format " + t.format + ".", Source: strings.Join(t.files(), ", ")}
	for _, w := range link.Ways {
		from, to := course.Of(w), p.Of(w)
		to.Trace, to.Delivery, to.Train, to.Queue.Limit = from.Trace, from.Delivery, from.Train, from.Limit
	}
	return writeProfile(c.OutOrStdout(), p)
}

// writeProfile writes a profile, if it is sound.
func writeProfile(out io.Writer, p *profiles.Profile) error {
	var bad []string
	for _, problem := range p.Validate() {
		if problem.Level == profiles.Error {
			bad = append(bad, problem.String())
		}
	}
	if len(bad) > 0 {
		return errors.New(strings.Join(bad, "\n"))
	}
	_, err := out.Write(p.Canonical())
	return err
}

// fadeMost is how many points a course of attenuation may have: each is an
// entry of the timeline, which are all looked at for every step.
const fadeMost = 2000

// fade gives a profile a timeline that moves the attenuation of its carriers
// from point to point.
func (t *importing) fade(c *cobra.Command) error {
	base, err := t.base.load(c.InOrStdin())
	if err != nil {
		return err
	}
	p := *base
	p.Name, p.Source = t.name, base.Name+", "+strings.Join(t.files(), ", ")
	p.Expect = profiles.Expect{}
	var open opener
	defer open.close()
	for _, w := range link.Ways {
		if len(t.ways[w]) == 0 {
			continue
		}
		carrier := p.Of(w).Carrier
		if carrier == nil {
			return fmt.Errorf("profile %s: no carrier %s: want one that can fade", base.Name, w)
		}
		points, err := with(&open, c.InOrStdin(), t.ways[w][0], trace.OpenSANDAttenuation)
		if err != nil {
			return err
		}
		if len(points) > fadeMost {
			return fmt.Errorf("%s: %d points, want at most %d", t.ways[w][0], len(points), fadeMost)
		}
		leg := "downlink"
		if carrier.Downlink == nil {
			leg = "uplink"
		}
		p.Timeline = append(p.Timeline, ramps(w.String()+".carrier."+leg+".attenuation", points)...)
	}
	return writeProfile(c.OutOrStdout(), &p)
}

// ramps are entries of a timeline that move a setting from point to point.
func ramps(path string, points []trace.Attenuation) []profiles.Entry {
	var out []profiles.Entry
	before := link.Duration(0)
	for i, point := range points {
		e := profiles.Entry{At: before, Ramp: point.At - before, Set: map[string]any{path: point.DB}}
		if i == 0 { // holds from the beginning
			e.At, e.Ramp = 0, 0
		}
		out = append(out, e)
		before = point.At
	}
	return out
}

// files lists the files that are read.
func (t *importing) files() []string {
	var out []string
	for _, name := range append(append([]string{t.file, t.samples}, t.ways[0]...), t.ways[1]...) {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// read reads the trace.
func (t *importing) read(stdin io.Reader) (*trace.Course, error) {
	var open opener
	defer open.close()
	switch t.format {
	case "table":
		return with(&open, stdin, t.file, func(f lines.File) (*trace.Course, error) { return trace.Table(f, t.end) })
	case "errant-log":
		return with(&open, stdin, t.file, func(f lines.File) (*trace.Course, error) { return trace.ErrantLog(f, t.end) })
	case "atc":
		return with(&open, stdin, t.file, trace.ATC)
	case "errant":
		samples, err := with(&open, stdin, t.samples, trace.ErrantSamples)
		if err != nil {
			return nil, err
		}
		return with(&open, stdin, t.file, func(f lines.File) (*trace.Course, error) {
			return trace.ErrantScenario(f, samples, link.NewDraw(t.seed, "errant"), t.end)
		})
	}
	course := &trace.Course{}
	for _, w := range link.Ways {
		if len(t.ways[w]) == 0 {
			continue
		}
		way, notes, err := t.way(&open, stdin, t.ways[w])
		if err != nil {
			return nil, err
		}
		*course.Of(w) = way
		course.Notes = append(course.Notes, notes...)
	}
	return course, nil
}

// way reads the files of one way.
func (t *importing) way(open *opener, stdin io.Reader, names []string) (way trace.Way, notes []string, err error) {
	files := [3]lines.File{}
	for i, name := range names {
		if files[i], err = open.file(stdin, name); err != nil {
			return way, nil, err
		}
	}
	switch t.format {
	case "cellreplay":
		way, err = trace.CellReplay(files[0], files[1], files[2])
	case "theaterq":
		return trace.TheaterQ(files[0], t.end)
	case "opensand":
		way, err = trace.OpenSANDDelay(files[0])
	case "capture":
		way, err = trace.Capture(files[0], t.face)
	default:
		way, err = trace.Mahimahi(files[0])
	}
	return way, nil, err
}

// opener opens files and closes them all at the end.
type opener struct{ opened []*os.File }

func (o *opener) file(stdin io.Reader, name string) (lines.File, error) {
	if name == "-" {
		return lines.File{Name: "standard input", Reader: stdin}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return lines.File{}, err
	}
	o.opened = append(o.opened, f)
	return lines.File{Name: name, Reader: f}, nil
}

func (o *opener) close() {
	for _, f := range o.opened {
		f.Close()
	}
}

// with opens a file and reads it.
func with[T any](o *opener, stdin io.Reader, name string, read func(lines.File) (T, error)) (T, error) {
	f, err := o.file(stdin, name)
	if err != nil {
		var none T
		return none, err
	}
	return read(f)
}
