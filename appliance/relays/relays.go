// Package relays keeps what carries connections over a bundle of paths: it
// starts the process, starts it again when it dies, tells it what to do, and
// says what becomes of the paths.
package relays

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"farlink/appliance"
	"farlink/pep/bundle"
	"farlink/profiles/document"
)

// Carrying is the process that carries connections over a bundle.
type Carrying interface {
	// Configure puts a configuration in force for new connections: all of it,
	// or nothing and the error.
	Configure(c bundle.Carriage) error
	// Paths returns the paths; it is cheap enough for ten calls a second.
	Paths() ([]bundle.PathState, error)
	// Status returns what is carried, most connections from offset on.
	Status(offset, most int) (bundle.Status, error)
	// PID is its process.
	PID() int
	// Done is closed when it has ended by itself.
	Done() <-chan struct{}
	// Stop ends it; everything passes on its way.
	Stop() error
}

// Carry starts a Carrying.
type Carry func(s bundle.Site, c bundle.Carriage) (Carrying, error)

// Store keeps what is wanted.
type Store interface {
	Load(name string, into any) (found bool, err error)
	Save(name string, v any) error
	Path(name string) string
}

// Parts are what Relays are made of.
type Parts struct {
	Config appliance.MultipathConfig
	Carry  Carry
	Store  Store
	Tell   func(appliance.Event) // makes known what happens
}

// Relays own the process of a bundle.
type Relays struct {
	Parts
	change sync.Mutex // one change at a time

	mu       sync.Mutex
	want     bundle.Carriage
	version  uint64
	process  Carrying
	why      string
	restarts int
	paths    []bundle.PathState
}

const (
	file = "multipath.json" // in the state directory

	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
	// steady is how long the process must have run for its end to count as
	// the first again.
	steady = 30 * time.Second
)

// saved is the file of the bundle in the state directory.
type saved struct {
	Want    bundle.Carriage `json:"want"`
	Version uint64          `json:"version"`
}

// Open takes up what was last wanted.
func Open(p Parts) (*Relays, error) {
	s := saved{Want: p.Config.Boot}
	if _, err := p.Store.Load(file, &s); err != nil {
		return nil, err
	}
	if err := s.Want.Err(&p.Config.Site); err != nil {
		return nil, fmt.Errorf("state file %s: %w; mend it or remove it", p.Store.Path(file), err)
	}
	return &Relays{Parts: p, want: s.Want, version: s.Version, why: "the relays are being started"}, nil
}

// pathsEvery is how often the paths are looked at.
const pathsEvery = 100 * time.Millisecond

// Run keeps the process running until ctx ends.
func (m *Relays) Run(ctx context.Context) error {
	for retry := firstRetry; ctx.Err() == nil; retry = min(2*retry, lastRetry) {
		began := time.Now()
		err := m.session(ctx)
		if ctx.Err() != nil {
			return err
		}
		if time.Since(began) > steady {
			retry = firstRetry
		}
		m.mu.Lock()
		m.process, m.why, m.paths = nil, fmt.Sprintf("%v; next attempt in %v", err, retry), nil
		m.restarts++
		m.mu.Unlock()
		m.Tell(appliance.Event{Kind: appliance.KindMultipath, Text: fmt.Sprintf("relays ended: %v", err)})
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
	return nil
}

var errEnded = errors.New("the process has ended")

// session starts the process and follows it until it ends or ctx does.
func (m *Relays) session(ctx context.Context) error {
	m.mu.Lock()
	want := m.want
	m.mu.Unlock()
	p, err := m.Carry(m.Config.Site, want)
	if err != nil {
		return fmt.Errorf("start the relays: %w", err)
	}
	m.mu.Lock()
	m.process, m.why = p, ""
	m.mu.Unlock()
	look := time.NewTicker(pathsEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return p.Stop()
		case <-p.Done():
			return errEnded
		case <-look.C:
			if err := m.look(p); err != nil {
				select {
				case <-p.Done(): // which is why it does not answer
					return errEnded
				case <-time.After(time.Second):
				}
				return errors.Join(err, p.Stop())
			}
		}
	}
}

// look takes the paths, and says when one went or came.
func (m *Relays) look(p Carrying) error {
	paths, err := p.Paths()
	if err != nil {
		return err
	}
	m.mu.Lock()
	before := m.paths
	m.paths = paths
	m.mu.Unlock()
	for i := range min(len(before), len(paths)) {
		if before[i].Up != paths[i].Up {
			text := "path " + paths[i].Name + " is down"
			if paths[i].Up {
				text = "path " + paths[i].Name + " is back"
			}
			m.Tell(appliance.Event{Kind: appliance.KindMultipath, Text: text})
		}
	}
	return nil
}

// Look returns all but what the process says.
func (m *Relays) Look() appliance.MultipathState {
	s, _ := m.state()
	return s
}

func (m *Relays) state() (appliance.MultipathState, Carrying) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := appliance.MultipathState{Want: m.want, ETag: appliance.ETag(m.version), Note: notes[m.want.Mode], Why: m.why, Restarts: m.restarts}
	if s.Note == "" {
		s.Note = notes[bundle.Off]
	}
	s.Paths, s.Connections = append([]bundle.PathState{}, m.paths...), []bundle.Connection{}
	if len(s.Paths) == 0 { // nobody looks at them
		for _, p := range m.Config.Site.Paths {
			s.Paths = append(s.Paths, bundle.PathState{Name: p.Name, Link: p.Link})
		}
	}
	if m.process != nil {
		s.PID, s.Effective = m.process.PID(), true
	}
	return s, m.process
}

// State returns the state of the bundle, with a page of the connections that it
// carries.
func (m *Relays) State(offset, most int) (appliance.MultipathState, error) {
	s, p := m.state()
	if p == nil {
		return s, nil
	}
	now, err := p.Status(offset, most)
	if err != nil {
		s.Effective, s.Why = false, err.Error()
		return s, nil
	}
	s.Status = now
	return s, nil
}

// Apply makes want the one in force, all of it or nothing; connections
// that are go on as they began.
func (m *Relays) Apply(want bundle.Carriage, o appliance.Options) (appliance.MultipathState, error) {
	if err := m.apply(want, o); err != nil {
		return appliance.MultipathState{}, err
	}
	if o.DryRun {
		s, _ := m.state()
		s.Want = want
		return s, nil
	}
	return m.State(0, 0)
}

// Patch lays a merge patch (RFC 7396) over what is wanted.
func (m *Relays) Patch(patch []byte, o appliance.Options) (appliance.MultipathState, error) {
	now, _ := m.state()
	doc, bad := document.Patch(now.Want, patch)
	if len(bad) > 0 {
		return appliance.MultipathState{}, appliance.Problems(bad)
	}
	want, wrong := appliance.ParseMultipath(doc)
	if len(wrong) > 0 {
		return appliance.MultipathState{}, wrong.Unplaced()
	}
	if o.IfMatch == "" {
		o.IfMatch = now.ETag // another's change meanwhile must not be lost
	}
	return m.Apply(want, o)
}

// notes say what a mode is.
var notes = map[bundle.Mode]string{
	bundle.Off:  "Every connection takes one path: that of its rule, or the best that is up.",
	bundle.Wire: "MPTCP v1 (RFC 8684) by the kernel on the paths; its packet scheduler is the kernel's own.",
	bundle.Lab:  "farlink's own relay: one TCP connection per path with farlink's frames in it. This is not MPTCP on the wire.",
}

// Boot puts in force what is wanted when nothing else was asked.
func (m *Relays) Boot(o appliance.Options) error { return m.apply(m.Config.Boot, o) }

// apply puts a want in force.
func (m *Relays) apply(want bundle.Carriage, o appliance.Options) error {
	m.change.Lock()
	defer m.change.Unlock()
	now, p := m.state()
	if o.IfMatch != "" && o.IfMatch != now.ETag {
		return appliance.Stale{Got: o.IfMatch, Now: now.ETag}
	}
	if want.Mode == "" {
		want.Mode = bundle.Off
	}
	var bad appliance.Problems
	want.Check(&m.Config.Site, func(path, got, wanted string) {
		bad = append(bad, appliance.Problem{Path: path, Got: got, Want: wanted})
	})
	if len(bad) > 0 {
		return bad
	}
	if o.DryRun || reflect.DeepEqual(want, now.Want) {
		return nil
	}
	if p != nil {
		if err := p.Configure(want); err != nil {
			return appliance.NotReady{Pair: "multipath", Why: err.Error()}
		}
	}
	if err := m.Store.Save(file, saved{want, m.version + 1}); err != nil {
		if p != nil {
			err = errors.Join(err, p.Configure(now.Want))
		}
		return err
	}
	m.mu.Lock()
	m.want = want
	m.version++
	m.mu.Unlock()
	m.Tell(appliance.Event{Kind: appliance.KindMultipath, By: o.By, Text: line(want)})
	return nil
}

// line is a want in one line for people.
func line(c bundle.Carriage) string {
	text := "multipath " + string(c.Mode)
	if c.Mode == bundle.Lab {
		text += ", scheduler " + orElse(c.Scheduler, "arrival")
	}
	if c.Mode != bundle.Off {
		text += ", congestion " + orElse(c.Congestion, "auto")
	}
	return text
}

func orElse(text, none string) string {
	if text == "" {
		return none
	}
	return text
}
