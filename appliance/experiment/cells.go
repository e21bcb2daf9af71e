package experiment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"farlink/appliance"
	"farlink/appliance/traffic"
	"farlink/emulator/link"
	"farlink/profiles"
)

// Cell is one measurement of an experiment.
type Cell struct {
	Profile    string `json:"profile"`
	Setting    string `json:"setting"`
	Seed       uint64 `json:"seed"`
	Repetition int    `json:"repetition"` // of the seed, from 1
}

// ID names the cell in files and reports.
func (c Cell) ID() string {
	return fmt.Sprintf("%s.%s.seed%d.%d", strings.NewReplacer("/", "-", " ", "-").Replace(c.Profile), c.Setting, c.Seed, c.Repetition)
}

// String is the cell for people.
func (c Cell) String() string {
	return fmt.Sprintf("%s, %s, seed %d, repetition %d", c.Profile, c.Setting, c.Seed, c.Repetition)
}

// Cells lists the cells in the order in which they are measured: the settings
// of a channel one after another, so that a drift of the machine meets all of
// them alike.
func (e *Experiment) Cells() (cells []Cell) {
	seeds, repetitions := e.Seeds, e.Repetitions
	if len(seeds) == 0 {
		for i := range repetitions {
			seeds = append(seeds, uint64(i+1))
		}
		repetitions = 1
	}
	for _, p := range e.Profiles {
		for _, seed := range seeds {
			for r := range repetitions {
				for _, s := range e.Settings {
					cells = append(cells, Cell{p, s.Name, seed, r + 1})
				}
			}
		}
	}
	return cells
}

// Traffic of a quick experiment goes on for quickest, and for quickRounds round
// trips of its link at least: in less a sender is not out of slow start, and a
// proxy, which starts slowly twice, looks like a burden.
const (
	quickest    = 3 * link.Second
	quickRounds = 16
)

// Quick returns the experiment cut down to see whether it works: one profile,
// one seed, one repetition, short traffic (3 s, or 16 round trips if that is
// longer), nothing expected.
func (e *Experiment) Quick() *Experiment {
	q := *e
	q.Profiles, q.Repetitions, q.Expect = e.Profiles[:1], 1, nil
	if len(e.Seeds) > 0 {
		q.Seeds = e.Seeds[:1]
	}
	q.Traffic = make([]traffic.Load, len(e.Traffic))
	lasting := max(quickest, (quickRounds*e.roundTrip(q.Profiles[0])+link.Second-1)/link.Second*link.Second)
	for i, l := range e.Traffic {
		l.Start = min(l.Start, 500*link.Millisecond)
		l.Duration = min(l.Duration, lasting)
		l.Skip = min(l.Skip, l.Duration/3)
		q.Traffic[i] = l
	}
	return &q
}

// roundTrip is the propagation both ways of a profile that is shipped or a
// file, 0 of one that only the box knows.
func (e *Experiment) roundTrip(profile string) link.Duration {
	if text, ok := e.texts[profile]; ok {
		if p, _ := profiles.Parse([]byte(text)); p != nil {
			return p.RTT()
		}
		return 0
	}
	d, err := profiles.Lookup(profile)
	if err != nil {
		return 0
	}
	return d.Profile.RTT()
}

// loads are those that run with the setting.
func (e *Experiment) loads(s Setting) (loads []traffic.Load) {
	for _, l := range e.Traffic {
		if len(s.Traffic) > 0 && !slices.Contains(s.Traffic, l.Name) {
			continue
		}
		if l.Congestion == "" {
			l.Congestion = s.Congestion
		}
		loads = append(loads, l)
	}
	return loads
}

// Length is about how long the cells take.
func (e *Experiment) Length(cells []Cell) time.Duration {
	var sum link.Duration
	for _, c := range cells {
		s, _ := e.setting(c.Setting)
		longest := link.Duration(0)
		for _, l := range e.loads(s) {
			longest = max(longest, l.Start+l.Duration)
		}
		sum += e.Settle + longest + overhead
	}
	return time.Duration(sum)
}

// overhead of a cell: link and proxies put in force, the run begun and ended.
const overhead = 1500 * link.Millisecond

// Record is what a cell found.
type Record struct {
	Cell
	Begun   time.Time           `json:"begun"`
	Took    float64             `json:"took_s"`
	Link    appliance.LinkState `json:"link"`
	Verdict appliance.Verdict   `json:"verdict"`
	Metrics map[string]float64  `json:"metrics"`
	Errors  []string            `json:"errors,omitempty"` // of the traffic
	Series  []traffic.Column    `json:"series,omitempty"`
	Output  map[string]string   `json:"output,omitempty"` // the end of what commands printed
}

// Fit reports whether the figures may be counted in.
func (r Record) Fit() bool { return r.Verdict.Word != appliance.Invalid }

// Failures says why the cell fails; none when it does not.
func (e *Experiment) Failures(r Record) (why []string) {
	if !r.Fit() {
		why = append(why, strings.TrimSpace("verdict INVALID "+r.Verdict.Reason))
	}
	why = append(why, r.Errors...)
	for _, x := range e.Expect {
		if x.Profile != "" && x.Profile != r.Profile || x.Setting != "" && x.Setting != r.Setting {
			continue
		}
		v, ok := r.Metrics[x.Metric]
		switch {
		case !ok && x.Setting == "" && !e.runs(r.Setting, x.Metric): // another setting's load
		case !ok:
			why = append(why, x.Metric+" was not measured")
		case x.Least != nil && v < *x.Least:
			why = append(why, fmt.Sprintf("%s is %.6g, want at least %.6g", x.Metric, v, *x.Least))
		case x.Most != nil && v > *x.Most:
			why = append(why, fmt.Sprintf("%s is %.6g, want at most %.6g", x.Metric, v, *x.Most))
		}
	}
	return why
}

// runs reports whether the load that a metric is of runs with the setting.
func (e *Experiment) runs(setting, metric string) bool {
	s, _ := e.setting(setting)
	of, _, _ := strings.Cut(metric, ".")
	for _, l := range e.loads(s) {
		if l.Name == of {
			return true
		}
	}
	return of == "link"
}
