package trace

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/trace/lines"
)

// Sample is what one measurement, or the mean of many, found of an
// operator's network.
type Sample struct {
	Operator, Country, RAT string
	Quality                string // "good", "medium", "bad"; "" fits every one
	Down, Up               link.Rate
	RTT, Deviation         link.Duration // and its standard deviation; 0 where it is one measurement
}

// ErrantSamples reads what ERRANT knows of operators: its table of profiles
// (operator,country,rat,signal_quality,download_kbps,upload_kbps,
// latency_ms_avg,latency_ms_stdev) or a table of speed tests
// (operator,country,access_technology,rssi,download_mbps,upload_mbps,rtt_ms).
func ErrantSamples(f lines.File) ([]Sample, error) {
	l := lines.New(f)
	var out []Sample
	var names [4]string // of technology, down, up, latency
	unit := 1e6
	err := l.Rows(func(at map[string]int) error {
		if _, ok := at["download_mbps"]; ok {
			names = [4]string{"access_technology", "download_mbps", "upload_mbps", "rtt_ms"}
		} else {
			unit = 1e3
			names = [4]string{"rat", "download_kbps", "upload_kbps", "latency_ms_avg"}
		}
		return l.Need(at, append([]string{"operator", "country"}, names[:]...)...)
	}, func(get func(string) lines.Field) (err error) {
		s := Sample{Operator: get("operator").Text, Country: get("country").Text, RAT: get(names[0]).Text, Quality: get("signal_quality").Text}
		if s.Down, err = l.Rate(get(names[1]), "download", unit); err != nil {
			return err
		}
		if s.Up, err = l.Rate(get(names[2]), "upload", unit); err != nil {
			return err
		}
		if s.RTT, err = l.Seconds(get(names[3]), "latency", 1000, lines.MaxDelay); err != nil {
			return err
		}
		if d := get("latency_ms_stdev"); d.Text != "" {
			s.Deviation, err = l.Seconds(d, "latency deviation", 1000, lines.MaxDelay)
		}
		out = append(out, s)
		return err
	})
	if err == nil && len(out) == 0 {
		err = l.Whole("no rows, want one or more")
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
func ErrantScenario(f lines.File, samples []Sample, draw link.Draw, end string) (*Course, error) {
	l := lines.New(f)
	s := scenario{course: newCourse(end), samples: samples, draw: draw}
	err := l.Rows(func(at map[string]int) error {
		return l.Need(at, "operator", "country", "rat", "quality", "duration", "period")
	}, func(get func(string) lines.Field) error { return s.row(l, get) }, "operator", "country", "rat", "quality", "duration", "period")
	if err == nil && s.draws == 0 {
		err = l.Whole("no rows, want one or more")
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

func (s *scenario) row(l *lines.Reader, get func(string) lines.Field) error {
	duration, err := l.Seconds(get("duration"), "duration", 1, lines.MaxSeconds)
	if err != nil {
		return err
	}
	if duration <= 0 {
		return l.Fault(get("duration").Column, "duration 0, want more")
	}
	period := duration
	if p := get("period"); p.Text != "" && p.Text != "-" {
		if period, err = l.Seconds(p, "period", 1, lines.MaxSeconds); err != nil {
			return err
		}
		if period < link.Millisecond {
			return l.Fault(p.Column, "period %q, want 0.001 or more, or -", p.Text)
		}
	}
	fit := s.fitting(get)
	if len(fit) == 0 {
		return l.Fault(get("operator").Column, "no samples of %s, %s, %s, %s", get("operator").Text, get("country").Text, get("rat").Text, get("quality").Text)
	}
	if uint64(duration/period)+s.draws >= lines.MostSteps {
		return l.Fault(0, "more than %d draws", lines.MostSteps)
	}
	for end := s.at + duration; s.at < end; s.at = min(s.at+period, end) {
		s.draws++
		s.course.state(s.at, s.drawn(fit))
	}
	if s.at > lines.MaxSeconds*link.Second {
		return l.Fault(get("duration").Column, "the scenario is longer than a year")
	}
	return nil
}

func (s *scenario) fitting(get func(string) lines.Field) []Sample {
	var fit []Sample
	for _, one := range s.samples {
		if strings.EqualFold(one.Operator, get("operator").Text) && strings.EqualFold(one.Country, get("country").Text) &&
			strings.EqualFold(one.RAT, get("rat").Text) && (one.Quality == "" || strings.EqualFold(one.Quality, get("quality").Text)) {
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
func ErrantLog(f lines.File, end string) (*Course, error) {
	l := lines.New(f)
	c := newCourse(end)
	var begin, before link.Duration
	rows := 0
	err := l.Rows(func(at map[string]int) error {
		return l.Need(at, "time", "download", "upload", "rtt")
	}, func(get func(string) lines.Field) (err error) {
		var s Sample
		const century = 100 * lines.MaxSeconds
		at, err := l.Seconds(get("time"), "time", 1, century)
		if err != nil {
			return err
		}
		if rows++; rows == 1 {
			begin, before = at, at
		}
		if at < before {
			return l.Fault(get("time").Column, "time %s: not monotonic", get("time").Text)
		}
		if at-begin > lines.MaxSeconds*link.Second {
			return l.Fault(get("time").Column, "the log is longer than a year")
		}
		before = at
		if s.Down, err = l.Rate(get("download"), "download", 1e3); err != nil {
			return err
		}
		if s.Up, err = l.Rate(get("upload"), "upload", 1e3); err != nil {
			return err
		}
		if s.RTT, err = l.Seconds(get("rtt"), "rtt", 1000, lines.MaxDelay); err != nil {
			return err
		}
		c.state(at-begin, s)
		return nil
	})
	if err == nil && rows == 0 {
		err = l.Whole("no rows, want one or more")
	}
	if err != nil {
		return nil, err
	}
	c.close(end, before-begin+link.Second)
	return c, nil
}

// newCourse returns a course in steps for both ways.
func newCourse(end string) *Course {
	return &Course{Down: Way{Trace: &course.Config{End: end}}, Up: Way{Trace: &course.Config{End: end}}}
}

// state adds the same instant's steps to both ways.
func (c *Course) state(at link.Duration, s Sample) {
	for _, w := range link.Ways {
		rate, delay := s.Down, s.RTT/2
		if w == link.Up {
			rate, delay = s.Up, s.RTT-s.RTT/2
		}
		one := course.Step{At: at, Delay: of(delay)}
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
func WriteErrantLog(out io.Writer, c *Course, name string, fixed [2]course.Step, begin int64) error {
	if c.Down.Trace == nil || c.Up.Trace == nil {
		return unwritable("ERRANT", "steps on both ways")
	}
	b := bufio.NewWriter(out)
	b.WriteString("time,operator,country,technology,quality,download,upload,rtt\n")
	merge(c, func(at link.Duration, down, up course.Step) {
		ahead, rateDown, _ := filled(down, fixed[link.Down])
		back, rateUp, _ := filled(up, fixed[link.Up])
		fmt.Fprintf(b, "%s,%s,-,-,-,%s,%s,%s\n", number(float64(begin)+at.Seconds()), name,
			number(float64(rateDown)/1e3), number(float64(rateUp)/1e3), number((ahead + back).Milliseconds()))
	})
	return b.Flush()
}

// merge calls yield at each instant at which either way changes, with what
// holds on both from then.
func merge(c *Course, yield func(at link.Duration, down, up course.Step)) {
	var now [2]course.Step
	steps := [2][]course.Step{}
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
