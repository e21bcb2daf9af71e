package trace

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/trace/lines"
)

// tableColumns are those of this project's own table. Values are in SI units
// and hold until the next row; a column that is missing, or a field that is
// empty, is as in the profile.
var tableColumns = []string{"t_s", "down_bps", "down_delay_s", "down_loss", "up_bps", "up_delay_s", "up_loss",
	"down_jitter_s", "up_jitter_s", "down_queue_bytes", "up_queue_bytes", "ber", "event"}

// Table reads a table of this project: comma-separated, a header row, "#"
// begins a comment. A rate of 0, and the event "outage", stop the server;
// "inf" is a rate without limit. With end "loop" or "clear" the last row's
// time is the length of the course, and its values do not count.
//
// Jitter and bit errors are not followed; a queue's length is when it stays
// the same.
func Table(f lines.File, end string) (*Course, error) {
	t := tabular{Reader: lines.New(f), course: newCourse(end), end: end}
	err := t.Rows(func(at map[string]int) error { return t.Need(at, "t_s") }, t.row, tableColumns...)
	if err != nil {
		return nil, err
	}
	return t.finish()
}

// tabular is a table being read.
type tabular struct {
	*lines.Reader
	course *Course
	end    string
	seen   int
	at     link.Duration
	limits [2]link.Size
	varies bool
	noted  []string // columns of which a note was made
}

func (t *tabular) row(get func(string) lines.Field) error {
	at, err := t.Seconds(get("t_s"), "t_s", 1, lines.MaxSeconds)
	if err != nil {
		return err
	}
	if t.seen++; t.seen > 1 && at <= t.at {
		return t.Fault(get("t_s").Column, "t_s %s after %s: not monotonic", get("t_s").Text, number(t.at.Seconds()))
	}
	t.at = at
	for _, w := range link.Ways {
		s := course.Step{At: at}
		if err := t.values(&s, w, get); err != nil {
			return err
		}
		step(t.course.Of(w).Trace, s)
	}
	return t.event(get("event"))
}

// values reads the fields of a way.
func (t *tabular) values(s *course.Step, w link.Way, get func(string) lines.Field) error {
	name := w.String()
	if f := get(name + "_bps"); f.Text == "inf" {
		s.Rate = of(link.Rate(0))
	} else if f.Text != "" {
		r, err := t.Rate(f, name+"_bps", 1)
		if err != nil {
			return err
		}
		serve(s, r)
	}
	if f := get(name + "_delay_s"); f.Text != "" {
		d, err := t.Seconds(f, name+"_delay_s", 1, lines.MaxDelay)
		if err != nil {
			return err
		}
		s.Delay = &d
	}
	if f := get(name + "_loss"); f.Text != "" {
		p, err := t.Decimal(f, name+"_loss", 1)
		if err != nil {
			return err
		}
		s.Loss = &p
	}
	if f := get(name + "_queue_bytes"); f.Text != "" {
		n, err := t.Count(f, name+"_queue_bytes", 1<<40)
		if err != nil {
			return err
		}
		t.varies = t.varies || t.limits[w] != 0 && t.limits[w] != link.Size(n)
		t.limits[w] = link.Size(n)
	}
	return t.unfollowed(get, name+"_jitter_s", "ber")
}

// unfollowed checks and notes columns that no stage follows.
func (t *tabular) unfollowed(get func(string) lines.Field, names ...string) error {
	for _, name := range names {
		f := get(name)
		if f.Text == "" {
			continue
		}
		x, err := t.Decimal(f, name, lines.MaxDelay)
		if err != nil {
			return err
		}
		if x > 0 && !slices.Contains(t.noted, name) {
			t.noted = append(t.noted, name)
			t.course.Notes = append(t.course.Notes, t.Name+": "+name+" is not followed")
		}
	}
	return nil
}

// event carries out the event of the row.
func (t *tabular) event(f lines.Field) error {
	switch f.Text {
	case "":
	case "outage":
		for _, w := range link.Ways {
			s := t.course.Of(w).Trace.Steps
			s[len(s)-1].Outage, s[len(s)-1].Rate = true, nil
		}
	default:
		return t.Fault(f.Column, `event %q: want "outage" or nothing`, f.Text)
	}
	return nil
}

func (t *tabular) finish() (*Course, error) {
	if t.seen == 0 {
		return nil, t.Whole("no rows, want one or more")
	}
	if t.end == "loop" || t.end == "clear" {
		if t.seen == 1 {
			return nil, t.Whole("one row, want two or more: the last says how long the course is")
		}
		for _, w := range link.Ways {
			c := t.course.Of(w).Trace
			c.Steps = c.Steps[:len(c.Steps)-1]
		}
		t.course.close(t.end, t.at)
	}
	if t.varies {
		t.course.Notes = append(t.course.Notes, t.Name+": the limit of the queue changes: it is not followed")
	} else {
		t.course.Down.Limit.Bytes, t.course.Up.Limit.Bytes = t.limits[link.Down], t.limits[link.Up]
	}
	return t.course, nil
}

// WriteTable writes a course of which both ways are steps, or nothing, as a
// table of this project.
func WriteTable(out io.Writer, c *Course) error {
	for _, w := range link.Ways {
		if way := c.Of(w); way.Delivery != nil || way.Train != nil {
			return unwritable("table", "steps")
		}
	}
	b := bufio.NewWriter(out)
	b.WriteString(strings.Join(tableColumns[:7], ",") + "\n")
	var last []string
	merge(c, func(at link.Duration, down, up course.Step) {
		last = append(append([]string{number(at.Seconds())}, cells(down)...), cells(up)...)
		b.WriteString(strings.Join(last, ",") + "\n")
	})
	if c.Down.Trace != nil && c.Down.Trace.Period > 0 {
		last[0] = number(c.Down.Trace.Period.Seconds())
		b.WriteString(strings.Join(last, ",") + "\n")
	}
	return b.Flush()
}

// cells returns the fields of a step.
func cells(s course.Step) []string {
	out := make([]string, 3)
	switch {
	case s.Outage:
		out[0] = "0"
	case s.Rate != nil && *s.Rate == 0:
		out[0] = "inf"
	case s.Rate != nil:
		out[0] = strconv.FormatInt(int64(*s.Rate), 10)
	}
	if s.Delay != nil {
		out[1] = number(s.Delay.Seconds())
	}
	if s.Loss != nil {
		out[2] = number(*s.Loss)
	}
	return out
}

// number is the shortest decimal text that reads back as the same number.
func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
