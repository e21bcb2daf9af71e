package trace

import (
	"bufio"
	"fmt"
	"io"
	"math"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/stage"
	"farlink/emulator/trace/lines"
)

// Numbers of lines.Fields of TheaterQ's lines. In the extended format the route
// may be followed by a queue.
const (
	theaterSimple   = 5 // KEEP_us,LATENCY_ns,RATE_bps,LOSS,LIMIT
	theaterExtended = 9 // KEEP,LATENCY,JITTER,RATE,LOSS,LIMIT,DUP_PROB,DUP_DELAY,ROUTE_ID
	theaterQueues   = 10
)

// theaterAll is what TheaterQ writes for 100 %.
const theaterAll = math.MaxUint32

// TheaterQ reads a trace file of TheaterQ, simple or extended. Lines that do
// not begin with a digit are passed over. end is what follows the last line:
// "hold", "loop" or "clear".
//
// Rates and limits count Ethernet frames, as a queueing discipline sees them.
// Jitter and duplication are not followed; a limit is when it stays the same.
func TheaterQ(f lines.File, end string) (Way, []string, error) {
	t := theater{Reader: lines.New(f), course: &course.Config{End: end}}
	for t.Next() {
		if t.Text == "" || t.Text[0] < '0' || t.Text[0] > '9' {
			continue
		}
		if err := t.line(); err != nil {
			return Way{}, nil, err
		}
	}
	switch {
	case t.Err != nil:
		return Way{}, nil, t.Err
	case len(t.course.Steps) == 0:
		return Way{}, nil, t.Whole("no lines that begin with a digit, want one or more")
	}
	if end == "loop" || end == "clear" {
		t.course.Period = t.at
	}
	w := Way{Trace: t.course}
	if t.limit.varies {
		t.note(&t.limit.varies, "the limit of the queue changes: it is not followed")
	} else if t.limit.set {
		w.Limit = stage.Limit{Packets: int(t.limit.packets)}
	}
	return w, t.notes, nil
}

// theater is a TheaterQ file being read.
type theater struct {
	*lines.Reader
	course *course.Config
	at     link.Duration
	limit  struct {
		set, varies bool
		packets     int64
	}
	jitter, copies bool // has been noted
	notes          []string
}

// note keeps a note once.
func (t *theater) note(once *bool, text string) {
	*once = true
	t.notes = append(t.notes, t.Name+": "+text)
}

// line reads the present line.
func (t *theater) line() error {
	fields := t.Split(',')
	extended := len(fields) == theaterExtended || len(fields) == theaterQueues
	if !extended && len(fields) != theaterSimple {
		return t.Fault(0, "%d fields, want 5 (simple) or 9 or 10 (extended)", len(fields))
	}
	keep, err := t.Count(fields[0], "keep", lines.MaxSeconds*1e6)
	if err != nil {
		return err
	}
	if keep == 0 {
		return t.Fault(fields[0].Column, "keep 0, want 1 us or more")
	}
	if extended {
		if err := t.extension(fields); err != nil {
			return err
		}
		fields = append(fields[:2:2], fields[3:6]...)
	}
	s := course.Step{At: t.at}
	if err := t.values(&s, fields); err != nil {
		return err
	}
	step(t.course, s)
	if t.at += link.Duration(keep) * link.Microsecond; t.at > lines.MaxSeconds*link.Second {
		return t.Fault(fields[0].Column, "the course is longer than a year")
	}
	return nil
}

// extension notes what of the extended format is not followed.
func (t *theater) extension(fields []lines.Field) error {
	for _, c := range []struct {
		field int
		once  *bool
		what  string
	}{{2, &t.jitter, "jitter"}, {6, &t.copies, "duplication"}} {
		n, err := t.Count(fields[c.field], c.what, math.MaxInt64)
		if err != nil {
			return err
		}
		if n > 0 && !*c.once {
			t.note(c.once, fmt.Sprintf("line %d and others have %s: it is not followed", t.Number, c.what))
		}
	}
	return nil
}

// values reads latency, rate, loss and limit.
func (t *theater) values(s *course.Step, f []lines.Field) error {
	delay, err := t.Count(f[1], "latency", lines.MaxDelay*1e9)
	if err != nil {
		return err
	}
	s.Delay = of(link.Duration(delay))
	if f[2].Text == "-1" {
		s.Rate = of(link.Rate(0)) // unlimited
	} else {
		rate, err := t.Count(f[2], "rate", lines.MaxRate)
		if err != nil {
			return err
		}
		serve(s, link.Rate(rate))
	}
	loss, err := t.Count(f[3], "loss", theaterAll)
	if err != nil {
		return err
	}
	s.Loss = of(float64(loss) / theaterAll)
	limit, err := t.Count(f[4], "limit", math.MaxUint32)
	if err != nil {
		return err
	}
	t.limit.varies = t.limit.varies || t.limit.set && t.limit.packets != limit
	t.limit.set, t.limit.packets = true, limit
	return nil
}

// WriteTheaterQ writes a course in steps in the simple format. What a step
// leaves out is written as in fixed. length is how long the last step is kept
// where the course has no period.
func WriteTheaterQ(out io.Writer, w Way, fixed course.Step, length link.Duration) error {
	if w.Trace == nil {
		return unwritable("TheaterQ", "steps")
	}
	if w.Trace.Period > 0 {
		length = w.Trace.Period
	}
	limit := w.Limit.Packets
	if limit == 0 {
		limit = math.MaxUint32
	}
	b := bufio.NewWriter(out)
	b.WriteString("# KEEP_us,LATENCY_ns,RATE_bit/s,LOSS,LIMIT\n")
	for i, s := range w.Trace.Steps {
		end := length
		if i+1 < len(w.Trace.Steps) {
			end = w.Trace.Steps[i+1].At
		}
		keep := int64(end/link.Microsecond - s.At/link.Microsecond)
		if keep <= 0 {
			continue
		}
		delay, rate, loss := filled(s, fixed)
		fmt.Fprintf(b, "%d,%d,%d,%d,%d\n", keep, int64(delay), rate, int64(math.Round(loss*theaterAll)), limit)
	}
	return b.Flush()
}

// filled returns the figures of a step with what it leaves out; the rate is
// -1 where there is no limit and 0 in an outage.
func filled(s, fixed course.Step) (delay link.Duration, rate int64, loss float64) {
	if d := first(s.Delay, fixed.Delay); d != nil {
		delay = *d
	}
	if p := first(s.Loss, fixed.Loss); p != nil {
		loss = *p
	}
	rate = -1
	if r := first(s.Rate, fixed.Rate); r != nil && *r != 0 {
		rate = int64(*r)
	}
	if s.Outage {
		rate = 0
	}
	return delay, rate, loss
}

// first returns the first pointer that points to something.
func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
