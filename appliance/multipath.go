package appliance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"farlink/pep/bundle"
	"farlink/profiles"
)

// MultipathConfig is the bundle of paths of a box: where it stands, and what
// it does when nothing else was asked.
type MultipathConfig struct {
	Site bundle.Site     `toml:"site"`
	Boot bundle.Carriage `toml:"boot"`
}

// check lists everything wrong with it.
func (c *MultipathConfig) check(say func(path, got, want string)) {
	c.Site.Check(func(path, got, want string) { say("multipath.site."+path, got, want) })
	c.Boot.Check(&c.Site, func(path, got, want string) { say("multipath.boot."+path, got, want) })
}

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

// MultipathState is the state of a box's bundle of paths.
type MultipathState struct {
	Want      bundle.Carriage `json:"want" doc:"What was asked."`
	ETag      string          `json:"etag" doc:"Version of the want, for If-Match."`
	Note      string          `json:"note" doc:"What the mode is, in plain words."`
	Effective bool            `json:"effective" doc:"Whether it is as asked; why says why not."`
	Why       string          `json:"why,omitempty" doc:"Why it is not as asked."`
	PID       int             `json:"pid,omitempty" doc:"Process of the relays, 0 while it does not run."`
	Restarts  int             `json:"restarts" doc:"How often it had to be started again."`
	bundle.Status
}

// notes say what a mode is.
var notes = map[bundle.Mode]string{
	bundle.Off:  "Every connection takes one path: that of its rule, or the best that is up.",
	bundle.Wire: "MPTCP v1 (RFC 8684) by the kernel on the paths; its packet scheduler is the kernel's own.",
	bundle.Lab:  "farlink's own relay: one TCP connection per path with farlink's frames in it. This is not MPTCP on the wire.",
}

// ErrNoMultipath is returned by a box without a bundle of paths.
var ErrNoMultipath = errors.New("this box has no bundle of paths: no [multipath] in its configuration")

// carrier owns the process of a bundle.
type carrier struct {
	box    *Box
	config MultipathConfig
	start  Carry
	change sync.Mutex // one change at a time

	mu       sync.Mutex
	want     bundle.Carriage
	version  uint64
	process  Carrying
	why      string
	restarts int
	paths    []bundle.PathState
}

const multipathFile = "multipath.json"

// savedMultipath is the file of the bundle in the state directory.
type savedMultipath struct {
	Want    bundle.Carriage `json:"want"`
	Version uint64          `json:"version"`
}

// newCarrier takes up what was last wanted.
func newCarrier(b *Box, c MultipathConfig, start Carry) (*carrier, error) {
	s := savedMultipath{Want: c.Boot}
	if _, err := b.store.Load(multipathFile, &s); err != nil {
		return nil, err
	}
	if err := s.Want.Err(&c.Site); err != nil {
		return nil, fmt.Errorf("state file %s: %w; mend it or remove it", b.store.Path(multipathFile), err)
	}
	return &carrier{box: b, config: c, start: start, want: s.Want, version: s.Version, why: "the relays are being started"}, nil
}

// pathsEvery is how often the paths are looked at.
const pathsEvery = 100 * time.Millisecond

// run keeps the process running until ctx ends.
func (m *carrier) run(ctx context.Context) error {
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
		m.box.bus.publish(Event{Kind: KindMultipath, Text: fmt.Sprintf("relays ended: %v", err)})
		pause(ctx, retry)
	}
	return nil
}

var errEnded = errors.New("the process has ended")

// session starts the process and follows it until it ends or ctx does.
func (m *carrier) session(ctx context.Context) error {
	m.mu.Lock()
	want := m.want
	m.mu.Unlock()
	p, err := m.start(m.config.Site, want)
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
func (m *carrier) look(p Carrying) error {
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
			m.box.bus.publish(Event{Kind: KindMultipath, Text: text})
		}
	}
	return nil
}

// state is all but what the process says.
func (m *carrier) state() (MultipathState, Carrying) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := MultipathState{Want: m.want, ETag: etag(m.version), Note: notes[m.want.Mode], Why: m.why, Restarts: m.restarts}
	if s.Note == "" {
		s.Note = notes[bundle.Off]
	}
	s.Paths, s.Connections = append([]bundle.PathState{}, m.paths...), []bundle.Connection{}
	if len(s.Paths) == 0 { // nobody looks at them
		for _, p := range m.config.Site.Paths {
			s.Paths = append(s.Paths, bundle.PathState{Name: p.Name, Link: p.Link})
		}
	}
	if m.process != nil {
		s.PID, s.Effective = m.process.PID(), true
	}
	return s, m.process
}

// Multipath returns the state of the bundle of paths, with a page of the
// connections that it carries.
func (b *Box) Multipath(offset, most int) (MultipathState, error) {
	if b.carrier == nil {
		return MultipathState{}, ErrNoMultipath
	}
	s, p := b.carrier.state()
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

// ApplyMultipath makes want the one in force, all of it or nothing; connections
// that are go on as they began.
func (b *Box) ApplyMultipath(want bundle.Carriage, o Options) (MultipathState, error) {
	if b.carrier == nil {
		return MultipathState{}, ErrNoMultipath
	}
	if err := b.carrier.apply(want, o); err != nil {
		return MultipathState{}, err
	}
	if o.DryRun {
		s, _ := b.carrier.state()
		s.Want = want
		return s, nil
	}
	return b.Multipath(0, 0)
}

// PatchMultipath lays a merge patch (RFC 7396) over what is wanted.
func (b *Box) PatchMultipath(patch []byte, o Options) (MultipathState, error) {
	if b.carrier == nil {
		return MultipathState{}, ErrNoMultipath
	}
	now, _ := b.carrier.state()
	doc, bad := patched(now.Want, patch)
	if len(bad) > 0 {
		return MultipathState{}, bad
	}
	want, bad := ParseMultipath(doc)
	if len(bad) > 0 {
		return MultipathState{}, bad
	}
	if o.IfMatch == "" {
		o.IfMatch = now.ETag // another's change meanwhile must not be lost
	}
	return b.ApplyMultipath(want, o)
}

// ParseMultipath reads the want of a bundle as JSON.
func ParseMultipath(doc []byte) (w bundle.Carriage, bad Problems) {
	for _, p := range profiles.ReadJSON(doc, &w) {
		if p.Level == profiles.Error {
			bad = append(bad, p)
		}
	}
	return w, bad
}

// apply puts a want in force.
func (m *carrier) apply(want bundle.Carriage, o Options) error {
	m.change.Lock()
	defer m.change.Unlock()
	now, p := m.state()
	if o.IfMatch != "" && o.IfMatch != now.ETag {
		return Stale{o.IfMatch, now.ETag}
	}
	if want.Mode == "" {
		want.Mode = bundle.Off
	}
	var bad Problems
	want.Check(&m.config.Site, func(path, got, wanted string) { bad = append(bad, Problem{Path: path, Got: got, Want: wanted}) })
	if len(bad) > 0 {
		return bad
	}
	if o.DryRun || reflect.DeepEqual(want, now.Want) {
		return nil
	}
	if p != nil {
		if err := p.Configure(want); err != nil {
			return NotReady{"multipath", err.Error()}
		}
	}
	if err := m.box.store.Save(multipathFile, savedMultipath{want, m.version + 1}); err != nil {
		if p != nil {
			err = errors.Join(err, p.Configure(now.Want))
		}
		return err
	}
	m.mu.Lock()
	m.want = want
	m.version++
	m.mu.Unlock()
	m.box.bus.publish(Event{Kind: KindMultipath, By: o.By, Text: line(want)})
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
