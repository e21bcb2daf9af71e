// Package shelf keeps the experiments that a box makes itself: they are
// begun, followed, stopped, gone on with, and their reports fetched.
//
//	Begin ─▶ cell, cell, … ─▶ ended          Stop, or the daemon's end ─▶ stopped
//	           each on disk at once                 Begin again goes on ◀─┘
//
// One goes on at a time, for each wants the box to itself. The traffic is the
// daemon's own, between the two ends that the configuration names; commands
// and files stay with `farlink run`, which runs as whoever calls it.
package shelf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"farlink/appliance/experiment"
	"farlink/profiles/document"
)

// Phase is how an experiment is.
type Phase string

// The phases.
const (
	Running Phase = "running"
	Ended   Phase = "ended"   // every cell is measured
	Stopped Phase = "stopped" // by somebody, an error or the end of the daemon; it can go on
)

// ExperimentState is an experiment as it is now.
type ExperimentState struct {
	ID       string    `json:"id" doc:"Chosen by who began it." example:"nightly"`
	Name     string    `json:"name" doc:"As its document says." example:"geo-web"`
	About    string    `json:"about,omitempty"`
	Pair     string    `json:"pair,omitempty"`
	By       string    `json:"by,omitempty" doc:"Who began it."`
	Quick    bool      `json:"quick,omitempty" doc:"Cut down to see whether it works."`
	Phase    Phase     `json:"phase" enum:"running,ended,stopped"`
	Begun    time.Time `json:"begun"`
	Cells    int       `json:"cells" doc:"How many measurements there are."`
	Measured int       `json:"measured" doc:"How many are done."`
	Passed   int       `json:"passed" doc:"How many of them did not fail."`
	Now      string    `json:"now,omitempty" doc:"The cell under way."`
	Left     float64   `json:"left_s,omitempty" doc:"About how long it takes yet."`
	Error    string    `json:"error,omitempty" doc:"Why it stopped, when nobody asked it to."`
}

// Errors of a Shelf.
var (
	ErrID      = errors.New("want 1 to 64 letters, digits, dots, dashes or underscores")
	ErrNone    = errors.New("no such experiment")
	ErrBusy    = errors.New("another experiment goes on; stop it first")
	ErrRunning = errors.New("the experiment goes on; stop it first")
	ErrExists  = errors.New("an experiment of that id is kept already; choose another id, or delete it")
	ErrEnded   = errors.New("every cell is measured")
	ErrNowhere = errors.New("the box has no state directory to keep experiments in")
	ErrMany    = fmt.Errorf("%d experiments are kept, and more are not; delete some", most)
)

const (
	most      = 100
	cellsMost = 5000
)

// Wish asks for an experiment.
type Wish struct {
	ID, Pair, By string
	Text         string // the document
	Quick        bool
	// Known says whether the box has a profile of that name.
	Known func(string) bool
}

// Shelf keeps experiments in a directory, one directory each. Its methods may
// be called from several goroutines.
type Shelf struct {
	dir, version string
	tell         func(ExperimentState)

	mu      sync.Mutex
	all     map[string]*item
	ended   bool // no more are begun
	working sync.WaitGroup
}

type item struct {
	ExperimentState
	e    *experiment.Experiment
	stop context.CancelCauseFunc // nil unless it goes on
}

// Open reads what is kept in dir; "" keeps nothing. tell hears of every
// change.
func Open(dir, version string, tell func(ExperimentState)) (*Shelf, error) {
	s := &Shelf{dir: dir, version: version, tell: tell, all: map[string]*item{}}
	if dir == "" {
		return s, nil
	}
	plans, err := filepath.Glob(filepath.Join(dir, "*", "plan.json"))
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	for _, plan := range plans {
		id := filepath.Base(filepath.Dir(plan))
		p, err := experiment.ReadPlan(filepath.Dir(plan))
		if err != nil || !idForm.MatchString(id) {
			continue // not one of ours; it is left as it is
		}
		e, _ := experiment.ParseBoxed([]byte(p.Text), func(string) bool { return true })
		if e == nil {
			continue
		}
		if p.Quick {
			e = e.Quick()
		}
		s.all[id] = s.kept(id, e, p)
	}
	return s, nil
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (s *Shelf) path(id string) string { return filepath.Join(s.dir, id) }

// kept is an experiment that does not go on, as its directory has it.
func (s *Shelf) kept(id string, e *experiment.Experiment, p experiment.Plan) *item {
	i := &item{e: e, ExperimentState: ExperimentState{ID: id, Name: e.Name, About: e.About, Pair: p.Pair, By: p.By, Quick: p.Quick, Begun: p.Begun, Phase: Stopped}}
	i.count(experiment.Records(s.path(id), e.Cells()))
	return i
}

// count counts the cells that are measured.
func (i *item) count(records []experiment.Record) {
	i.Cells, i.Measured, i.Passed = len(i.e.Cells()), len(records), 0
	for _, r := range records {
		if len(i.e.Failures(r)) == 0 {
			i.Passed++
		}
	}
	if i.Measured == i.Cells {
		i.Phase = Ended
	}
}

// List returns all experiments, the newest first.
func (s *Shelf) List() []ExperimentState {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]ExperimentState, 0, len(s.all))
	for _, i := range s.all {
		all = append(all, i.ExperimentState)
	}
	slices.SortFunc(all, func(a, b ExperimentState) int {
		if c := b.Begun.Compare(a.Begun); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}

// Get returns an experiment.
func (s *Shelf) Get(id string) (ExperimentState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.all[id]; i != nil {
		return i.ExperimentState, nil
	}
	return ExperimentState{}, ErrNone
}

// Check reads a document as a box makes it; what is wrong is a Problems.
func Check(text string, quick bool, known func(string) bool) (*experiment.Experiment, error) {
	e, bad := experiment.ParseBoxed([]byte(text), known)
	if e == nil {
		return nil, Problems(bad)
	}
	if quick {
		e = e.Quick()
	}
	if n := len(e.Cells()); n > cellsMost {
		return nil, Problems{{Path: "repetitions", Got: fmt.Sprintf("%d cells in all", n), Want: fmt.Sprintf("at most %d", cellsMost), Level: document.Error}}
	}
	return e, nil
}

// Problems is everything wrong with a document.
type Problems []document.Problem

func (p Problems) Error() string { return fmt.Sprintf("%d problems", len(p)) }

// Begin begins an experiment at a place, or goes on with the one of that id
// when the wish has no document, or the same. Beginning one that goes on
// changes nothing, so that a request may be sent twice.
func (s *Shelf) Begin(ctx context.Context, w Wish, at experiment.Place) (ExperimentState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, store, err := s.take(w)
	if err != nil || i.Phase == Running {
		return i.state(), err
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	i.stop, i.Phase, i.Error = cancel, Running, ""
	i.Left = i.e.Length(i.e.Cells()[i.Measured:]).Seconds()
	s.all[i.ID] = i
	s.working.Go(func() { s.work(ctx, i, store, at) })
	return i.ExperimentState, nil
}

func (i *item) state() ExperimentState {
	if i == nil {
		return ExperimentState{}
	}
	return i.ExperimentState
}

// take finds or makes the experiment that is wished for, and opens its
// directory unless it goes on.
func (s *Shelf) take(w Wish) (i *item, store *experiment.Store, err error) {
	switch {
	case s.dir == "" || s.ended:
		return nil, nil, ErrNowhere
	case !idForm.MatchString(w.ID):
		return nil, nil, ErrID
	}
	i = s.all[w.ID]
	if i != nil && i.Phase == Running {
		return i, nil, nil
	}
	for _, other := range s.all {
		if other.Phase == Running {
			return nil, nil, ErrBusy
		}
	}
	if i != nil {
		return s.again(i, w)
	}
	switch {
	case w.Text == "":
		return nil, nil, ErrNone
	case len(s.all) >= most:
		return nil, nil, ErrMany
	}
	e, err := Check(w.Text, w.Quick, w.Known)
	if err != nil {
		return nil, nil, err
	}
	p := experiment.Plan{Text: w.Text, Quick: w.Quick, Pair: w.Pair, By: w.By, Version: s.version, Begun: time.Now().UTC(),
		Command: fmt.Sprintf("PUT /api/v1/experiments/%s", w.ID)}
	if store, err = experiment.Open(s.path(w.ID), p, false); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(s.path(w.ID)))
	}
	return s.kept(w.ID, e, p), store, nil
}

// again opens an experiment that is kept, to go on with it.
func (s *Shelf) again(i *item, w Wish) (*item, *experiment.Store, error) {
	p, err := experiment.ReadPlan(s.path(i.ID))
	if err != nil {
		return nil, nil, err
	}
	if w.Text != "" && (w.Text != p.Text || w.Quick != p.Quick) {
		return nil, nil, ErrExists
	}
	if i.Phase == Ended {
		return nil, nil, ErrEnded
	}
	store, err := experiment.Open(s.path(i.ID), p, true)
	return i, store, err
}

// errStopped is why an experiment ends that somebody stopped.
var errStopped = errors.New("stopped")

// work measures what is missing and writes the reports, whatever came of it.
func (s *Shelf) work(ctx context.Context, i *item, store *experiment.Store, at experiment.Place) {
	err := i.e.Measure(ctx, store, at, func(_ int, c experiment.Cell, r *experiment.Record) { s.next(i, c, r) })
	err = errors.Join(err, i.e.Outcome(store).Write(store), store.Close())
	s.mu.Lock()
	i.stop(nil)
	i.stop, i.Now, i.Left, i.Phase = nil, "", 0, Stopped
	i.count(store.Records(i.e.Cells()))
	if err != nil && !errors.Is(context.Cause(ctx), errStopped) {
		i.Error = err.Error()
	}
	state := i.ExperimentState
	s.mu.Unlock()
	s.tell(state)
}

// next hears of each cell before it is measured, and after it.
func (s *Shelf) next(i *item, c experiment.Cell, r *experiment.Record) {
	s.mu.Lock()
	i.Now = c.String()
	if r != nil {
		i.Measured++
		if len(i.e.Failures(*r)) == 0 {
			i.Passed++
		}
	}
	i.Left = i.e.Length(i.e.Cells()[min(i.Measured, i.Cells):]).Seconds()
	state := i.ExperimentState
	s.mu.Unlock()
	s.tell(state)
}

// Stop ends an experiment after its cell is given up; what is measured stays.
// Stopping one that does not go on changes nothing.
func (s *Shelf) Stop(id string) (ExperimentState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.all[id]
	if i == nil {
		return ExperimentState{}, ErrNone
	}
	if i.stop != nil {
		i.stop(errStopped)
	}
	return i.ExperimentState, nil
}

// Delete removes an experiment with all that it found.
func (s *Shelf) Delete(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.all[id]
	switch {
	case i == nil:
		return ErrNone
	case i.Phase == Running:
		return ErrRunning
	}
	if err := os.RemoveAll(s.path(id)); err != nil {
		return fmt.Errorf("experiment %s: %w", id, err)
	}
	delete(s.all, id)
	return nil
}

// Report reads one of the files that an experiment writes when it ends or is
// stopped: report.html, cells.csv, results.json, junit.xml.
func (s *Shelf) Report(id, file string) ([]byte, error) {
	if _, err := s.Get(id); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(s.path(id), file))
}

// Close stops what goes on and waits for it; no more is begun.
func (s *Shelf) Close() {
	s.mu.Lock()
	s.ended = true
	for _, i := range s.all {
		if i.stop != nil {
			i.stop(errors.New("the daemon ended"))
		}
	}
	s.mu.Unlock()
	s.working.Wait()
}
