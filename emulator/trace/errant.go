package trace

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"farlink/emulator/link"
	"farlink/emulator/stage"
)

// Sample is what one measurement, or the mean of many, found of an
// operator's network.
type Sample struct {
	Operator, Country, RAT string
	Quality                string // "good", "medium", "bad"; "" fits every one
	Down, Up               link.Rate
	RTT, Deviation         link.Duration // and its standard deviation; 0 where it is one measurement
}

// columns maps the names of a header row to their places.
func (l *lines) columns(known ...string) (map[string]int, error) {
	at := map[string]int{}
	for i, f := range l.split(',') {
		name := strings.ToLower(f.text)
		if _, twice := at[name]; twice {
			return nil, l.fault(f.column, "column %q stands twice", f.text)
		}
		if len(known) > 0 && !has(known, name) {
			return nil, l.fault(f.column, "unknown column %q: want %s", f.text, strings.Join(known, ", "))
		}
		at[name] = i
	}
	return at, nil
}

func has(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

// need checks that a header has the columns.
func (l *lines) need(at map[string]int, names ...string) error {
	for _, name := range names {
		if _, ok := at[name]; !ok {
			return l.fault(1, "no column %q: want %s", name, strings.Join(names, ","))
		}
	}
	return nil
}

// rows reads a table of which the first line is the header: row is called
// with a function that returns the field of a column, empty if the table has
// no such column.
func (l *lines) rows(head func(at map[string]int) error, row func(get func(name string) field) error, known ...string) error {
	var at map[string]int
	for l.next() {
		if l.skippable() {
			continue
		}
		if at == nil {
			var err error
			if at, err = l.columns(known...); err == nil {
				err = head(at)
			}
			if err != nil {
				return err
			}
			continue
		}
		fields := l.split(',')
		if len(fields) != len(at) {
			return l.fault(0, "%d fields, want %d as in the header", len(fields), len(at))
		}
		get := func(name string) field {
			if i, ok := at[name]; ok {
				return fields[i]
			}
			return field{}
		}
		if err := row(get); err != nil {
			return err
		}
	}
	if l.err == nil && at == nil {
		return l.whole("no header row")
	}
	return l.err
}

// ErrantSamples reads what ERRANT knows of operators: its table of profiles
// (operator,country,rat,signal_quality,download_kbps,upload_kbps,
// latency_ms_avg,latency_ms_stdev) or a table of speed tests
// (operator,country,access_technology,rssi,download_mbps,upload_mbps,rtt_ms).
func ErrantSamples(f File) ([]Sample, error) {
	l := newLines(f)
	var out []Sample
	var names [4]string // of technology, down, up, latency
	unit := 1e6
	err := l.rows(func(at map[string]int) error {
		if _, ok := at["download_mbps"]; ok {
			names = [4]string{"access_technology", "download_mbps", "upload_mbps", "rtt_ms"}
		} else {
			unit = 1e3
			names = [4]string{"rat", "download_kbps", "upload_kbps", "latency_ms_avg"}
		}
		return l.need(at, append([]string{"operator", "country"}, names[:]...)...)
	}, func(get func(string) field) (err error) {
		s := Sample{Operator: get("operator").text, Country: get("country").text, RAT: get(names[0]).text, Quality: get("signal_quality").text}
		if s.Down, err = l.rate(get(names[1]), "download", unit); err != nil {
			return err
		}
		if s.Up, err = l.rate(get(names[2]), "upload", unit); err != nil {
			return err
		}
		if s.RTT, err = l.seconds(get(names[3]), "latency", 1000, maxDelay); err != nil {
			return err
		}
		if d := get("latency_ms_stdev"); d.text != "" {
			s.Deviation, err = l.seconds(d, "latency deviation", 1000, maxDelay)
		}
		out = append(out, s)
		return err
	})
	if err == nil && len(out) == 0 {
		err = l.whole("no rows, want one or more")
	}
	return out, err
}

// ErrantScenario reads a scenario of ERRANT, which has the columns operator,
// country,rat,quality,duration,period with seconds in the last two: each row
// draws the network's state from the samples of its operator, and draws anew
// every period, until its duration is over.
//
// ERRANT draws from a density fitted to its measurements; here a sample of
// those that fit is drawn, and its latency from the normal distribution where
// the sample has a deviation. The round trip is divided evenly on both ways.
func ErrantScenario(f File, samples []Sample, draw link.Draw, end string) (*Course, error) {
	l := newLines(f)
	s := scenario{course: newCourse(end), samples: samples, draw: draw}
	err := l.rows(func(at map[string]int) error {
		return l.need(at, "operator", "country", "rat", "quality", "duration", "period")
	}, func(get func(string) field) error { return s.row(l, get) }, "operator", "country", "rat", "quality", "duration", "period")
	if err == nil && s.draws == 0 {
		err = l.whole("no rows, want one or more")
	}
	if err != nil {
		return nil, err
	}
	s.course.close(end, s.at)
	return s.course, nil
}

// scenario is a scenario being read.
type scenario struct {
	course  *Course
	samples []Sample
	draw    link.Draw
	draws   uint64
	at      link.Duration
}

func (s *scenario) row(l *lines, get func(string) field) error {
	duration, err := l.seconds(get("duration"), "duration", 1, maxSeconds)
	if err != nil {
		return err
	}
	if duration <= 0 {
		return l.fault(get("duration").column, "duration 0, want more")
	}
	period := duration
	if p := get("period"); p.text != "" && p.text != "-" {
		if period, err = l.seconds(p, "period", 1, maxSeconds); err != nil {
			return err
		}
		if period < link.Millisecond {
			return l.fault(p.column, "period %q, want 0.001 or more, or -", p.text)
		}
	}
	fit := s.fitting(get)
	if len(fit) == 0 {
		return l.fault(get("operator").column, "no samples of %s, %s, %s, %s", get("operator").text, get("country").text, get("rat").text, get("quality").text)
	}
	if uint64(duration/period)+s.draws >= MostSteps {
		return l.fault(0, "more than %d draws", MostSteps)
	}
	for end := s.at + duration; s.at < end; s.at = min(s.at+period, end) {
		s.draws++
		s.course.state(s.at, s.drawn(fit))
	}
	if s.at > maxSeconds*link.Second {
		return l.fault(get("duration").column, "the scenario is longer than a year")
	}
	return nil
}

func (s *scenario) fitting(get func(string) field) []Sample {
	var fit []Sample
	for _, one := range s.samples {
		if strings.EqualFold(one.Operator, get("operator").text) && strings.EqualFold(one.Country, get("country").text) &&
			strings.EqualFold(one.RAT, get("rat").text) && (one.Quality == "" || strings.EqualFold(one.Quality, get("quality").text)) {
			fit = append(fit, one)
		}
	}
	return fit
}

// drawn draws one of the samples, and its latency.
func (s *scenario) drawn(fit []Sample) Sample {
	one := fit[s.draw.Uint64(s.draws)%uint64(len(fit))]
	if one.Deviation > 0 {
		off := link.Duration(s.draw.Sub("latency").Normal(s.draws) * float64(one.Deviation))
		one.RTT = max(one.RTT+off, link.Millisecond)
	}
	return one
}

// ErrantLog reads what ERRANT writes of a run: time,operator,country,
// technology,quality,download,upload,rtt, in unix seconds, kbit/s and ms. The
// course begins with the first row.
func ErrantLog(f File, end string) (*Course, error) {
	l := newLines(f)
	c := newCourse(end)
	var begin, before link.Duration
	rows := 0
	err := l.rows(func(at map[string]int) error {
		return l.need(at, "time", "download", "upload", "rtt")
	}, func(get func(string) field) (err error) {
		var s Sample
		const century = 100 * maxSeconds
		at, err := l.seconds(get("time"), "time", 1, century)
		if err != nil {
			return err
		}
		if rows++; rows == 1 {
			begin, before = at, at
		}
		if at < before {
			return l.fault(get("time").column, "time %s: not monotonic", get("time").text)
		}
		if at-begin > maxSeconds*link.Second {
			return l.fault(get("time").column, "the log is longer than a year")
		}
		before = at
		if s.Down, err = l.rate(get("download"), "download", 1e3); err != nil {
			return err
		}
		if s.Up, err = l.rate(get("upload"), "upload", 1e3); err != nil {
			return err
		}
		if s.RTT, err = l.seconds(get("rtt"), "rtt", 1000, maxDelay); err != nil {
			return err
		}
		c.state(at-begin, s)
		return nil
	})
	if err == nil && rows == 0 {
		err = l.whole("no rows, want one or more")
	}
	if err != nil {
		return nil, err
	}
	c.close(end, before-begin+link.Second)
	return c, nil
}

// newCourse returns a course in steps for both ways.
func newCourse(end string) *Course {
	return &Course{Down: Way{Trace: &stage.TraceConfig{End: end}}, Up: Way{Trace: &stage.TraceConfig{End: end}}}
}

// state adds the same instant's steps to both ways.
func (c *Course) state(at link.Duration, s Sample) {
	for _, w := range link.Ways {
		rate, delay := s.Down, s.RTT/2
		if w == link.Up {
			rate, delay = s.Up, s.RTT-s.RTT/2
		}
		one := stage.StepConfig{At: at, Delay: of(delay)}
		serve(&one, rate)
		step(c.Of(w).Trace, one)
	}
}

// close sets the length of a course that does not hold.
func (c *Course) close(end string, length link.Duration) {
	if end == "loop" || end == "clear" {
		c.Down.Trace.Period, c.Up.Trace.Period = length, length
	}
}

// WriteErrantLog writes a course of which both ways are steps as ERRANT's
// log, a row per instant at which either changes. begin is the unix time of
// its beginning in seconds; fixed is what steps leave out.
func WriteErrantLog(out io.Writer, c *Course, name string, fixed [2]stage.StepConfig, begin int64) error {
	if c.Down.Trace == nil || c.Up.Trace == nil {
		return unwritable("ERRANT", "steps on both ways")
	}
	b := bufio.NewWriter(out)
	b.WriteString("time,operator,country,technology,quality,download,upload,rtt\n")
	merge(c, func(at link.Duration, down, up stage.StepConfig) {
		ahead, rateDown, _ := filled(down, fixed[link.Down])
		back, rateUp, _ := filled(up, fixed[link.Up])
		fmt.Fprintf(b, "%s,%s,-,-,-,%s,%s,%s\n", number(float64(begin)+at.Seconds()), name,
			number(float64(rateDown)/1e3), number(float64(rateUp)/1e3), number((ahead + back).Milliseconds()))
	})
	return b.Flush()
}

// merge calls yield at each instant at which either way changes, with what
// holds on both from then.
func merge(c *Course, yield func(at link.Duration, down, up stage.StepConfig)) {
	var now [2]stage.StepConfig
	steps := [2][]stage.StepConfig{}
	for _, w := range link.Ways {
		if t := c.Of(w).Trace; t != nil {
			steps[w] = t.Steps
		}
	}
	for len(steps[0])+len(steps[1]) > 0 {
		at := link.Duration(1<<63 - 1)
		for _, s := range steps {
			if len(s) > 0 {
				at = min(at, s[0].At)
			}
		}
		for w := range steps {
			if len(steps[w]) > 0 && steps[w][0].At == at {
				now[w], steps[w] = steps[w][0], steps[w][1:]
			}
		}
		yield(at, now[link.Down], now[link.Up])
	}
}
