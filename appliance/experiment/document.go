package experiment

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"farlink/appliance"
	"farlink/appliance/traffic"
	"farlink/emulator/link"
	"farlink/profiles"
	"farlink/profiles/document"
)

// Experiment is the document of one.
type Experiment struct {
	Name  string `toml:"name" json:"name"`
	About string `toml:"about" json:"about"`
	// Profiles are names of the box's profiles, or files (*.toml) beside the
	// document.
	Profiles []string `toml:"profiles" json:"profiles"`
	// Seeds are the channels; when not given each repetition has one of its
	// own, 1, 2, 3, …
	Seeds []uint64 `toml:"seeds" json:"seeds,omitempty"`
	// Repetitions of each seed (1), or in all when there are no seeds (3).
	Repetitions int `toml:"repetitions" json:"repetitions,omitempty"`
	// Settle is how long the link is left alone before the traffic: 500ms.
	Settle link.Duration `toml:"settle" json:"settle,omitempty"`
	// Baseline is the setting that the others are compared with: the first.
	Baseline string `toml:"baseline" json:"baseline,omitempty"`
	// Show are the figures that the report begins with: all when not given.
	Show []string `toml:"show" json:"show,omitempty"`

	Settings []Setting      `toml:"settings" json:"settings"`
	Traffic  []traffic.Load `toml:"traffic" json:"traffic"`
	Expect   []Expect       `toml:"expect" json:"expect,omitempty"`

	// What the files among Profiles say, by their name in the document.
	texts map[string]string
	boxed bool // made by a box itself
}

// Setting is one of the ways that are compared.
type Setting struct {
	Name  string `toml:"name" json:"name"`
	About string `toml:"about" json:"about,omitempty"`
	// Overrides are laid over the profile.
	Overrides map[string]any `toml:"overrides" json:"overrides,omitempty"`
	// PEP is what the box's proxies do; without it there are none.
	PEP appliance.PEP `toml:"pep" json:"pep,omitzero"`
	// Congestion is the control of senders whose load names none.
	Congestion string `toml:"congestion" json:"congestion,omitempty"`
	// Traffic names the loads that run; all when not given.
	Traffic []string `toml:"traffic" json:"traffic,omitempty"`
}

// Expect is what each cell is judged by; Least and Most are in the unit of
// the metric.
type Expect struct {
	Metric  string   `toml:"metric" json:"metric"`             // "bulk.goodput_bps"
	Profile string   `toml:"profile" json:"profile,omitempty"` // only in this profile
	Setting string   `toml:"setting" json:"setting,omitempty"` // only with this setting
	Least   *float64 `toml:"least" json:"least,omitempty"`
	Most    *float64 `toml:"most" json:"most,omitempty"`
}

// Load reads an experiment: a shipped one by name, or a file. known says
// whether a profile that is neither shipped nor a file may be one of the
// box's own; nil: none is.
func Load(name string, known func(string) bool) (*Experiment, string, []document.Problem, error) {
	if text, ok := Shipped(name); ok {
		e, bad := Parse([]byte(text), "", known)
		return e, text, bad, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		if !strings.HasSuffix(name, ".toml") {
			err = Unknown{name}
		}
		return nil, "", nil, err
	}
	e, bad := Parse(text, filepath.Dir(name), known)
	for i := range bad {
		if bad[i].File == "" {
			bad[i] = bad[i].In(name)
		}
	}
	return e, string(text), bad, nil
}

// Unknown is the error of a name that is neither a shipped experiment's nor a
// file's.
type Unknown struct{ Name string }

func (u Unknown) Error() string { return fmt.Sprintf("no experiment %q", u.Name) }

// Parse reads a document; files that it names are in the directory dir. It
// returns all problems; with one that is an error there is no experiment.
func Parse(doc []byte, dir string, known func(string) bool) (*Experiment, []document.Problem) {
	return (&Experiment{texts: map[string]string{}}).read(doc, dir, known)
}

// ParseBoxed reads a document that a box makes itself, for whoever may drive
// it: it reads no files and runs no commands.
func ParseBoxed(doc []byte, known func(string) bool) (*Experiment, []document.Problem) {
	return (&Experiment{boxed: true}).read(doc, "", known)
}

func (e *Experiment) read(doc []byte, dir string, known func(string) bool) (*Experiment, []document.Problem) {
	r := &document.Reader{}
	t := r.TOML(doc)
	if t == nil {
		return nil, r.Sorted()
	}
	r.Table("", t, reflect.ValueOf(e).Elem())
	e.defaults()
	e.check(r.Report)
	for i := range e.Traffic {
		report := r.Under(fmt.Sprintf("traffic[%d]", i))
		e.Traffic[i].Check(report)
		if e.boxed && e.Traffic[i].Kind == "command" {
			report("kind", `"command"`, "tcp, udp, ping or page: a box runs no commands for its callers, farlink run does")
		}
	}
	e.checkSettings(r)
	e.checkProfiles(r, dir, known)
	bad := r.Sorted()
	if document.Fatal(bad) {
		return nil, bad
	}
	return e, bad
}

func (e *Experiment) defaults() {
	if e.Repetitions == 0 {
		e.Repetitions = 3
		if len(e.Seeds) > 0 {
			e.Repetitions = 1
		}
	}
	if e.Settle == 0 {
		e.Settle = 500 * link.Millisecond
	}
	if len(e.Settings) == 0 {
		e.Settings = []Setting{{Name: "plain"}}
	}
	if e.Baseline == "" {
		e.Baseline = e.Settings[0].Name
	}
	for i := range e.Traffic {
		e.Traffic[i] = e.Traffic[i].WithDefaults()
	}
}

var (
	goodName   = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,39}$`)
	goodMetric = regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+$`)
)

const nameForm = "1 to 40 of a to z, 0 to 9, -, _ and ."

func (e *Experiment) check(report link.Report) {
	if !goodName.MatchString(e.Name) {
		report("name", fmt.Sprintf("%q", e.Name), nameForm)
	}
	if e.Repetitions < 1 || e.Repetitions > 1000 {
		report("repetitions", fmt.Sprint(e.Repetitions), "1 to 1000")
	}
	if e.Settle < 0 || e.Settle > 600*link.Second {
		report("settle", e.Settle.String(), "up to 600s")
	}
	if len(e.Traffic) == 0 {
		report("traffic", "none", "at least one [[traffic]]")
	}
	if _, ok := e.setting(e.Baseline); !ok {
		report("baseline", fmt.Sprintf("%q", e.Baseline), "the name of a setting")
	}
	var seen []string
	for i, l := range e.Traffic {
		if slices.Contains(seen, l.Name) || l.Name == "link" {
			report(fmt.Sprintf("traffic[%d].name", i), fmt.Sprintf("%q", l.Name), "a name that no other traffic has, and not link")
		}
		seen = append(seen, l.Name)
	}
	for i, x := range e.Expect {
		e.checkExpect(x, func(path, got, want string) { report(fmt.Sprintf("expect[%d].%s", i, path), got, want) })
	}
	for i, m := range e.Show {
		e.checkMetric(m, func(_, got, want string) { report(fmt.Sprintf("show[%d]", i), got, want) })
	}
}

func (e *Experiment) checkExpect(x Expect, report link.Report) {
	e.checkMetric(x.Metric, report)
	if _, ok := e.setting(x.Setting); x.Setting != "" && !ok {
		report("setting", fmt.Sprintf("%q", x.Setting), "the name of a setting, or nothing for all")
	}
	if x.Profile != "" && !slices.Contains(e.Profiles, x.Profile) {
		report("profile", fmt.Sprintf("%q", x.Profile), "one of profiles, or nothing for all")
	}
	switch {
	case x.Least == nil && x.Most == nil:
		report("least", "neither least nor most", "one of them")
	case x.Least != nil && x.Most != nil && *x.Least > *x.Most:
		report("least", fmt.Sprint(*x.Least), fmt.Sprintf("at most %v, as most says", *x.Most))
	}
}

// checkMetric looks whether the figure is of a load that there is.
func (e *Experiment) checkMetric(metric string, report link.Report) {
	of, _, _ := strings.Cut(metric, ".")
	ok := of == "link" || slices.ContainsFunc(e.Traffic, func(l traffic.Load) bool { return l.Name == of })
	if !goodMetric.MatchString(metric) || !ok {
		report("metric", fmt.Sprintf("%q", metric), "a figure of a load, such as bulk.goodput_bps, or of the link")
	}
}

func (e *Experiment) setting(name string) (Setting, bool) {
	i := slices.IndexFunc(e.Settings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return e.Settings[i], true
}

func (e *Experiment) checkSettings(r *document.Reader) {
	var seen []string
	for i, s := range e.Settings {
		report := r.Under(fmt.Sprintf("settings[%d]", i))
		if !goodName.MatchString(s.Name) || slices.Contains(seen, s.Name) {
			report("name", fmt.Sprintf("%q", s.Name), nameForm+", and no other setting's")
		}
		seen = append(seen, s.Name)
		s.PEP.Check(r.Under(fmt.Sprintf("settings[%d].pep", i)))
		if s.PEP.Enabled && !s.PEP.On() {
			report("pep.enabled", "true", "near or far, or both: without a proxy there is nothing to enable")
		}
		for k, name := range s.Traffic {
			if !slices.ContainsFunc(e.Traffic, func(l traffic.Load) bool { return l.Name == name }) {
				report(fmt.Sprintf("traffic[%d]", k), fmt.Sprintf("%q", name), "the name of a [[traffic]]")
			}
		}
	}
}

// checkProfiles finds the profiles, reads those that are files, and lays the
// overrides of each setting over each.
func (e *Experiment) checkProfiles(r *document.Reader, dir string, known func(string) bool) {
	if len(e.Profiles) == 0 {
		r.Report("profiles", "none", `at least one, such as ["geo/qirse-sat"]`)
	}
	for i, name := range e.Profiles {
		path := fmt.Sprintf("profiles[%d]", i)
		if slices.Contains(e.Profiles[:i], name) {
			r.Report(path, fmt.Sprintf("%q", name), "each profile once")
			continue
		}
		p, found := e.profile(r, path, name, dir)
		if !found && (known == nil || !known(name)) {
			want := "a profile of `farlink profiles`, or a file (*.toml)"
			if e.boxed {
				want = "a profile of the box"
			}
			r.Report(path, fmt.Sprintf("%q", name), want)
		}
		for k, s := range e.Settings {
			if p == nil || len(s.Overrides) == 0 {
				continue
			}
			_, bad := p.Merge(overlay(s.Overrides))
			for _, b := range bad {
				if b.Level == document.Error {
					r.Report(document.Join(fmt.Sprintf("settings[%d].overrides", k), b.Path), b.Got, b.Want+" (in "+name+")")
				}
			}
		}
	}
}

// overlay is a merge patch as JSON. What TOML knows and JSON does not, such as
// infinity, is no override.
func overlay(o map[string]any) []byte {
	b, err := json.Marshal(o)
	if err != nil {
		return []byte("null")
	}
	return b
}

// profile reads a profile, if it is shipped or a file.
func (e *Experiment) profile(r *document.Reader, path, name, dir string) (p *profiles.Profile, found bool) {
	if e.boxed || !strings.HasSuffix(name, ".toml") {
		d, err := profiles.Lookup(name)
		return d.Profile, err == nil
	}
	file := name
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		r.Report(path, err.Error(), "a file that can be read")
		return nil, true
	}
	p, bad := profiles.Parse(text)
	for _, b := range bad {
		r.Problems = append(r.Problems, b.In(file))
	}
	e.texts[name] = string(text)
	return p, true
}

// Files are the profiles that are files: their texts by their names in the
// document.
func (e *Experiment) Files() map[string]string { return e.texts }
