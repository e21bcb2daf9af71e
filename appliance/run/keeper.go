package run

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"farlink/appliance"
)

const (
	runsMost   = 500     // on disk
	fineMost   = 6000    // samples kept as they are: ten minutes; then by the second
	linesMost  = 200_000 // of a series: fifty hours
	documentAs = "run.json"
	seriesAs   = "series.jsonl"
	captureAs  = "tail.pcapng"
	channelAs  = "channel.pcapng"
	newAs      = ".new"          // behind the name of a document that is being written
	retryAfter = 5 * time.Second // what could not be written is tried again
)

// Errors of a Keeper.
var (
	ErrID      = errors.New("want 1 to 64 letters, digits, dots, dashes or underscores")
	ErrNoRun   = errors.New("no such run")
	ErrExists  = errors.New("a run of that id has ended already; choose another id or delete it")
	ErrBusy    = errors.New("another run goes on on the pair; stop it first")
	ErrRunning = errors.New("the run goes on; stop it first")
	ErrOver    = errors.New("the run has ended")
	ErrMany    = fmt.Errorf("%d runs are kept, and more are not; delete some", runsMost)
	ErrNowhere = errors.New("the box has no state directory to keep runs in")
)

// Keeper keeps the runs of a box in a directory: one directory a run, with a
// document, the samples, and perhaps a capture. Its methods may be called
// from several goroutines.
type Keeper struct {
	dir string
	now func() time.Time

	mu   sync.Mutex
	runs map[string]*tape
}

// Open reads the runs of the directory dir; "" keeps none. Runs that went on
// when the daemon ended are interrupted.
func Open(dir string, now func() time.Time) (*Keeper, error) {
	k := &Keeper{dir: dir, now: now, runs: map[string]*tape{}}
	if dir == "" {
		return k, nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", documentAs))
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("runs: %w", err)
		}
		t := &tape{}
		if err := json.Unmarshal(b, &t.Run); err != nil || t.ID != filepath.Base(filepath.Dir(file)) {
			continue // not one of ours; it is left as it is
		}
		if t.Phase == Running {
			t.Phase, t.Ended = Interrupted, t.Begun.Add(time.Duration(t.Down.Seconds*1e9))
			if t.Recording != nil {
				k.interrupted(t)
			}
			_ = k.save(t) // a full disk does not keep the box from starting; Add tries again
		}
		k.runs[t.ID] = t
	}
	return k, k.sweep()
}

// sweep removes documents that a killed or a full box left half written.
func (k *Keeper) sweep() error {
	left, err := filepath.Glob(filepath.Join(k.dir, "*", documentAs+newAs))
	for _, file := range left {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (k *Keeper) path(id, name string) string { return filepath.Join(k.dir, id, name) }

// save writes the document, whole or not at all.
func (k *Keeper) save(t *tape) error {
	b, err := json.MarshalIndent(t.Run, "", "  ")
	if err != nil {
		return fmt.Errorf("run %s: %w", t.ID, err)
	}
	file := k.path(t.ID, documentAs)
	err = os.WriteFile(file+newAs, append(b, '\n'), 0o644)
	if err == nil {
		err = os.Rename(file+newAs, file)
	}
	t.unsaved, t.tried = err != nil, k.now()
	if err != nil {
		os.Remove(file + newAs) // it may not be there
		return fmt.Errorf("run %s: %w", t.ID, err)
	}
	return nil
}

// Begin begins a run on a pair. Beginning the run that goes on changes
// nothing, so that a request may be sent twice.
func (k *Keeper) Begin(id, title, by string, p appliance.PairState) (Run, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dir == "" {
		return Run{}, ErrNowhere
	}
	if !idForm.MatchString(id) {
		return Run{}, ErrID
	}
	if t := k.runs[id]; t != nil {
		if t.Phase == Running && t.Pair == p.Name {
			return t.copy(), nil
		}
		return Run{}, ErrExists
	}
	if len(k.runs) >= runsMost {
		return Run{}, ErrMany
	}
	for _, t := range k.runs {
		if t.Phase == Running && t.Pair == p.Name {
			return Run{}, ErrBusy
		}
	}
	t := &tape{Run: Run{ID: id, Title: title, Pair: p.Name, By: by, Phase: Running, Begun: k.now().UTC(),
		Want: p.Want, Links: p.Links, Verdict: appliance.Verdict{Word: appliance.Valid}, Marks: []Mark{}, Events: []appliance.Event{}}}
	t.begun = begunOf(p)
	t.judge(p.Verdict)
	if err := k.make(t); err != nil {
		return Run{}, errors.Join(err, os.RemoveAll(filepath.Join(k.dir, id)))
	}
	k.runs[id] = t
	return t.copy(), nil
}

// make makes the directory of a run with its series and its document.
func (k *Keeper) make(t *tape) (err error) {
	if err := os.MkdirAll(filepath.Join(k.dir, t.ID), 0o755); err != nil {
		return fmt.Errorf("run %s: %w", t.ID, err)
	}
	if t.file, err = os.OpenFile(k.path(t.ID, seriesAs), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644); err != nil {
		return fmt.Errorf("run %s: %w", t.ID, err)
	}
	if err := k.save(t); err != nil {
		return errors.Join(err, t.file.Close())
	}
	return nil
}

// Stop ends a run; stopping one that has ended changes nothing, but writes
// what could not be written before. A run has ended even when its document
// could not be written, which is what the error then says.
func (k *Keeper) Stop(id string) (Run, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.runs[id]
	switch {
	case t == nil:
		return Run{}, ErrNoRun
	case t.Phase != Running && t.unsaved:
		return t.copy(), k.save(t)
	case t.Phase != Running:
		return t.copy(), nil
	}
	t.Phase, t.Ended = Stopped, k.now().UTC()
	t.flush(t.Ended)
	if g := t.gap(); g != nil {
		g.To = t.Ended
	}
	return t.copy(), errors.Join(t.file.Close(), k.save(t))
}

// Mark puts a mark into a run that goes on.
func (k *Keeper) Mark(id, text, by string) (Mark, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.runs[id]
	switch {
	case t == nil:
		return Mark{}, ErrNoRun
	case t.Phase != Running:
		return Mark{}, ErrOver
	}
	now := k.now().UTC()
	m := Mark{now, now.Sub(t.Begun).Seconds(), text, by}
	t.Marks = append(t.Marks, m)
	if err := k.save(t); err != nil {
		t.Marks = t.Marks[:len(t.Marks)-1] // so that it can be sent again
		return Mark{}, err
	}
	return m, nil
}

// Delete removes a run that has ended.
func (k *Keeper) Delete(id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.runs[id]
	switch {
	case t == nil:
		return ErrNoRun
	case t.Phase == Running:
		return ErrRunning
	}
	if err := os.RemoveAll(filepath.Join(k.dir, id)); err != nil {
		return fmt.Errorf("run %s: %w", id, err)
	}
	delete(k.runs, id)
	return nil
}

// Get returns a run.
func (k *Keeper) Get(id string) (Run, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.runs[id]; t != nil {
		return t.copy(), nil
	}
	return Run{}, ErrNoRun
}

// List returns all runs, the newest first.
func (k *Keeper) List() []Run {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]Run, 0, len(k.runs))
	for _, t := range k.runs {
		all = append(all, t.copy())
	}
	slices.SortFunc(all, func(a, b Run) int {
		if c := b.Begun.Compare(a.Begun); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}

// Notice tells that the samples of a run can no longer be written, or can
// again.
type Notice struct{ Pair, Text string }

// Add takes a sample into the runs that go on, with the state it is of. It
// says once that a disk takes no samples any more, and once that it does
// again.
func (k *Keeper) Add(s Sample, st appliance.State) (news []Notice) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.runs {
		if t.unsaved && s.Time.Sub(t.tried) > retryAfter {
			_ = k.save(t) // it stays unsaved, and whoever asked knows
		}
		i := slices.IndexFunc(s.Pairs, func(p PairSample) bool { return p.Name == t.Pair })
		if t.Phase != Running || i < 0 || i >= len(st.Pairs) {
			continue
		}
		if text := t.add(s.Time, s.Pairs[i], st.Pairs[i]); text != "" {
			news = append(news, Notice{t.Pair, text})
			_ = k.save(t) // what it says of the gap; tried again when it fails
		}
	}
	return news
}

// Happened takes an event into the runs that go on.
func (k *Keeper) Happened(e appliance.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.runs {
		if t.Phase == Running && (e.Pair == "" || e.Pair == t.Pair) && len(t.Events) < eventsMost {
			t.Events = append(t.Events, e)
		}
	}
}

// Samples returns the samples of a run, oldest first. A line cut short by a
// crash is passed over.
func (k *Keeper) Samples(id string) ([]Dated, error) {
	if _, err := k.Get(id); err != nil {
		return nil, err
	}
	f, err := os.Open(k.path(id, seriesAs))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	defer f.Close()
	var all []Dated
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var d Dated
		if json.Unmarshal(lines.Bytes(), &d) == nil {
			all = append(all, d)
		}
	}
	return all, lines.Err()
}

// CapturePath is where a capture of the run's end belongs.
func (k *Keeper) CapturePath(id string) string { return k.path(id, captureAs) }

// ChannelPath is where the recording of a run belongs.
func (k *Keeper) ChannelPath(id string) string { return k.path(id, channelAs) }

// Recorded notes how far the recording of a run has come. It is written to
// disk when it begins and when it has ended.
func (k *Keeper) Recorded(id string, r Recording, write bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.runs[id]
	if t == nil {
		return ErrNoRun
	}
	t.Recording = &r
	if !write {
		return nil
	}
	return k.save(t)
}

// interrupted says of a recording what its file tells.
func (k *Keeper) interrupted(t *tape) {
	t.Recording.Why = "the daemon ended; the packets were counted when it was last written down"
	if about, err := os.Stat(k.ChannelPath(t.ID)); err == nil {
		t.Recording.Bytes = about.Size()
	}
}

// Captured notes that the capture stands there.
func (k *Keeper) Captured(id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.runs[id]
	if t == nil {
		return ErrNoRun
	}
	t.Capture = true
	return k.save(t)
}
