package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"syscall"
	"time"

	"farlink/appliance"
)

// tape is a run with what it needs while it goes on.
type tape struct {
	Run
	file *os.File
	open []Dated // what the next sample by the second is made of
	last time.Time

	begun begun

	torn    bool      // the last line of the series has no end
	unsaved bool      // the document on disk is behind
	tried   time.Time // when it was last tried to write it
}

// begun is how the pair was when the run began.
type begun struct {
	etag             string
	started          time.Time // its engine
	restarts, faults int
}

func begunOf(p appliance.PairState) begun {
	return begun{p.ETag, p.Engine.Started, p.Engine.Restarts, p.Engine.Faults}
}

// changed reports whether something else was asked of the pair since: of the
// link, or of the proxies, for which an engine is replaced.
func (b begun) changed(p appliance.PairState) bool {
	replaced := !b.started.IsZero() && !p.Engine.Started.Equal(b.started) && p.Engine.Restarts == b.restarts
	return p.ETag != b.etag || replaced
}

// faulty takes down when the link was not emulated: what the ledger says of
// the other frames does not matter then. An engine that was replaced begins
// its ledger anew.
func (t *tape) faulty(st appliance.PairState) {
	n := min(st.Engine.Faults-t.begun.faults, faultsMost)
	if n <= 0 {
		return
	}
	if n > len(t.Faults) {
		t.Faults = append(t.Faults, "")
	}
	t.Faults[len(t.Faults)-1] = st.Engine.Fault
	t.Verdict = appliance.Verdict{Word: appliance.Invalid, Reason: st.Engine.Fault}
	if more := len(t.Faults) - 1; more > 0 {
		t.Verdict.Reason += fmt.Sprintf("; and %d more before", more)
	}
}

func (t *tape) copy() Run {
	r := t.Run
	r.Marks, r.Events, r.Gaps, r.Faults = slices.Clone(r.Marks), slices.Clone(r.Events), slices.Clone(r.Gaps), slices.Clone(r.Faults)
	if t.Recording != nil {
		recording := *t.Recording
		r.Recording = &recording
	}
	return r
}

// add takes a sample in; what it returns is news of the disk.
func (t *tape) add(at time.Time, p PairSample, st appliance.PairState) (news string) {
	t.judge(st.Verdict)
	t.faulty(st)
	t.Changed = t.Changed || t.begun.changed(st) || !reflect.DeepEqual(t.Want, st.Want)
	seconds := Every.Seconds()
	if !t.last.IsZero() {
		seconds = at.Sub(t.last).Seconds()
	}
	t.last = at
	t.Down.add(p.Down, p.Lateness, seconds)
	t.Up.add(p.Up, p.Lateness, seconds)
	p.Readings = nil
	t.open = append(t.open, Dated{at, p})
	if t.Samples < fineMost || len(t.open) == perCoarse {
		return t.flush(at)
	}
	return ""
}

// flush writes what is open as one sample, or counts it in a gap.
func (t *tape) flush(at time.Time) (news string) {
	if len(t.open) == 0 || t.Samples >= linesMost {
		return ""
	}
	from := t.open[0].At
	err := t.write(fold(t.open))
	t.open = t.open[:0]
	g := t.gap()
	switch {
	case err != nil && g == nil:
		t.begin(Gap{From: from, Why: why(err)})
		t.gap().Samples++
		return fmt.Sprintf("run %s: samples are not written any more: %s", t.ID, why(err))
	case err != nil:
		g.Samples++
	case g != nil:
		g.To = at
		return fmt.Sprintf("run %s: samples are written again; %d are missing since %s", t.ID, g.Samples, g.From.UTC().Format(time.TimeOnly))
	}
	return ""
}

// write adds a line to the series, on a line of its own even after one that
// was cut short.
func (t *tape) write(d Dated) error {
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if t.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := t.file.Write(line)
	t.torn = n < len(line) && (n > 0 || t.torn)
	if err == nil {
		t.Samples++
	}
	return err
}

// gap is the one that goes on, nil if none does.
func (t *tape) gap() *Gap {
	if n := len(t.Gaps); n > 0 && t.Gaps[n-1].To.IsZero() {
		return &t.Gaps[n-1]
	}
	return nil
}

func (t *tape) begin(g Gap) {
	if n := len(t.Gaps); n == gapsMost {
		t.Gaps[n-1].To = time.Time{}
		return
	}
	t.Gaps = append(t.Gaps, g)
}

// why is what the system said, without the name of the file.
func why(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
