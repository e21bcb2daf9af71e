// Package bench measures what farlink promises about itself, on this machine,
// and holds each figure against a target.
//
//	case ─▶ samples, interleaved with those of a peer in the same run ─▶ median ─▶ verdict
//
// A figure of speed is a ratio to a peer measured in the same run on the same
// interfaces (a kernel bridge, the wire without a model), since the machine
// itself is nobody's promise. All samples are kept.
package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Verdict of a figure.
const (
	Pass = "PASS"
	Fail = "FAIL"
	Info = "INFO" // no target
)

// Figure is one measured value against its target.
type Figure struct {
	Name    string    `json:"name"`
	Value   float64   `json:"value"`
	Unit    string    `json:"unit"`
	Peer    string    `json:"peer,omitempty"` // what the ratio is to
	PeerAt  float64   `json:"peer_value,omitempty"`
	Ratio   float64   `json:"ratio,omitempty"`
	Target  string    `json:"target,omitempty"`
	Verdict string    `json:"verdict"`
	Samples []float64 `json:"samples"`
	PeerAll []float64 `json:"peer_samples,omitempty"`
	Note    string    `json:"note,omitempty"`
}

// Case is one measurement; it may yield several figures.
type Case struct {
	Name string
	Run  func(ctx context.Context, b *Bench) error
}

// Options of a bench.
type Options struct {
	Only   *regexp.Regexp // names of cases; nil is all
	Rounds int            // samples of each: 3
	Kills  int            // of the engine: 20
	Swaps  int            // of the profile under load: 1000
	Out    string         // directory for bench.json; "" writes none
}

// Bench runs cases and gathers figures.
type Bench struct {
	Options
	Figures []Figure
	log     io.Writer
}

// Report is what bench.json holds.
type Report struct {
	At      time.Time `json:"at"`
	Version string    `json:"version"`
	Machine string    `json:"machine"`
	Figures []Figure  `json:"figures"`
}

// Run runs the cases, telling progress on log, and returns the figures. An
// error of a case is a failed figure; the others go on.
func Run(ctx context.Context, o Options, cases []Case, log io.Writer) []Figure {
	o.Rounds, o.Kills, o.Swaps = cmp.Or(o.Rounds, 3), cmp.Or(o.Kills, 20), cmp.Or(o.Swaps, 1000)
	b := &Bench{Options: o, log: log}
	for _, c := range cases {
		if o.Only != nil && !o.Only.MatchString(c.Name) || ctx.Err() != nil {
			continue
		}
		fmt.Fprintf(log, "%s…\n", c.Name)
		if err := c.Run(ctx, b); err != nil {
			b.add(Figure{Name: c.Name, Verdict: Fail, Note: err.Error()})
		}
	}
	return b.Figures
}

func (b *Bench) add(f Figure) { b.Figures = append(b.Figures, f) }

// atMost adds the median of samples against an upper bound.
func (b *Bench) atMost(name, unit string, samples []float64, bound float64) {
	f := Figure{Name: name, Unit: unit, Value: Median(samples), Samples: samples, Target: fmt.Sprintf("≤ %g %s", bound, unit), Verdict: Pass}
	if !(f.Value <= bound) {
		f.Verdict = Fail
	}
	b.add(f)
}

// atLeast adds the median of samples against a lower bound.
func (b *Bench) atLeast(name, unit string, samples []float64, bound float64) {
	f := Figure{Name: name, Unit: unit, Value: Median(samples), Samples: samples, Target: fmt.Sprintf("≥ %g %s", bound, unit), Verdict: Pass}
	if !(f.Value >= bound) {
		f.Verdict = Fail
	}
	b.add(f)
}

// against adds the ratio of the medians of two interleaved sets of samples.
func (b *Bench) against(name, unit, peer string, samples, peers []float64, bound float64) {
	f := Figure{
		Name: name, Unit: unit, Value: Median(samples), Samples: samples,
		Peer: peer, PeerAt: Median(peers), PeerAll: peers,
		Target: fmt.Sprintf("≥ %g × %s", bound, peer), Verdict: Pass,
	}
	f.Ratio = f.Value / f.PeerAt
	if !(f.Ratio >= bound) {
		f.Verdict = Fail
	}
	b.add(f)
}

// within adds the ratio of the medians of two interleaved sets of samples, of
// which less is better.
func (b *Bench) within(name, unit, peer string, samples, peers []float64, bound float64) {
	f := Figure{
		Name: name, Unit: unit, Value: Median(samples), Samples: samples,
		Peer: peer, PeerAt: Median(peers), PeerAll: peers,
		Target: fmt.Sprintf("≤ %g × %s", bound, peer), Verdict: Pass,
	}
	f.Ratio = f.Value / f.PeerAt
	if !(f.Ratio <= bound) {
		f.Verdict = Fail
	}
	b.add(f)
}

// note adds a figure without a target.
func (b *Bench) note(name, unit string, samples []float64) {
	b.add(Figure{Name: name, Unit: unit, Value: Median(samples), Samples: samples, Verdict: Info})
}

// Median of v; 0 of nothing.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Print writes the figures as a table.
func Print(w io.Writer, figures []Figure) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tVALUE\tPEER\tRATIO\tTARGET\tVERDICT")
	for _, f := range figures {
		peer, ratio := "", ""
		if f.Peer != "" {
			peer, ratio = fmt.Sprintf("%s %s", f.Peer, number(f.PeerAt)), fmt.Sprintf("%.2f", f.Ratio)
		}
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s\t%s\t%s\n", f.Name, number(f.Value), f.Unit, peer, ratio, f.Target, strings.TrimSpace(f.Verdict+" "+f.Note))
	}
	return t.Flush()
}

// number writes four significant digits.
func number(v float64) string { return fmt.Sprintf("%.4g", v) }

// Write keeps the figures in dir/bench.json.
func Write(dir string, r Report) error {
	doc, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep figures: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "bench.json"), append(doc, '\n'), 0o644)
}

// Failed counts the figures that missed their target.
func Failed(figures []Figure) (n int) {
	for _, f := range figures {
		if f.Verdict == Fail {
			n++
		}
	}
	return n
}
