package box

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"farlink/appliance"
	"farlink/appliance/spec"
	"farlink/emulator/link"
)

const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
	// steady is how long an engine must have run for its end to count as
	// the first again.
	steady = 30 * time.Second
	// watching is how often the loop looks at what the engine says.
	watching = 500 * time.Millisecond
	// hangMost is how long an engine may hang before it is ended.
	hangMost = 5 * time.Second
	// startup bounds how long an engine may take to start.
	startup = 15 * time.Second
)

// pair owns one pair of ports and its engine. Everything that changes
// happens in its loop, one thing after the other; others read the state
// under the lock.
type pair struct {
	cfg   appliance.PairConfig
	box   *Box
	calls chan func() // run by the loop
	ports chan PortChange
	end   context.CancelFunc
	ended chan struct{} // closed when the loop has

	// The loop's own.
	held     Held
	lost     bool      // a port has vanished under a running engine
	hung     time.Time // since when the engine hangs
	built    spec.Spec
	disrupts *disruption
	// otherPath ends the session: the proxies that are wanted are others.
	otherPath bool
	driver    string // of the last engine
	// moving says that the engine was ended for that, and not lost.
	moving bool

	mu      sync.Mutex
	state   appliance.PairState // without what snapshot adds
	rate    link.Rate           // the most that a way of the links is to carry; 0 is no limit
	seen    map[string]PortChange
	version uint64
	engine  Engine // nil while there is none
	fault   fault  // the last
	// unshaped is the last Snapshot.Unshaped; told how many faults were made
	// known.
	unshaped uint64
	told     int

	pep        appliance.PEP
	pepVersion uint64
}

func newPair(b *Box, c appliance.PairConfig) *pair {
	return &pair{
		cfg: c, box: b,
		calls: make(chan func()), ended: make(chan struct{}),
		ports: make(chan PortChange, 16), seen: map[string]PortChange{},
		state: appliance.PairState{Name: c.Name, Word: appliance.Starting, Since: time.Now(), PortA: c.A, PortB: c.B, Netns: c.Netns},
	}
}

// begin runs the pair's goroutines in the group.
func (p *pair) begin(ctx context.Context, group *errgroup.Group) {
	ctx, p.end = context.WithCancel(ctx)
	group.Go(func() error { return p.run(ctx) })
	group.Go(func() error { return p.watch(ctx) })
}

// prepare takes the ports, if they are not held yet.
func (p *pair) prepare(ctx context.Context) error {
	if p.held != nil {
		return nil
	}
	held, err := p.box.ports.Prepare(ctx, p.cfg)
	if err == nil {
		p.held = held
		p.taken(true)
	}
	return err
}

// taken notes whether the ports are test ports.
func (p *pair) taken(are bool) {
	p.mu.Lock()
	p.state.PortsTaken = are
	p.mu.Unlock()
}

// run keeps an engine running until ctx ends, then gives the ports back.
func (p *pair) run(ctx context.Context) error {
	defer close(p.ended)
	for retry := firstRetry; ; retry = min(2*retry, lastRetry) {
		began := time.Now()
		err := p.session(ctx)
		if ctx.Err() != nil {
			return p.release()
		}
		if errors.Is(err, errOtherPath) {
			continue
		}
		if time.Since(began) > steady {
			retry = firstRetry
		}
		p.setWord(appliance.Fault, fmt.Sprintf("%v; next attempt in %v", err, retry))
		if p.idle(ctx, retry) {
			retry = firstRetry
		}
	}
}

// session prepares the ports, starts an engine and attends to it until it
// ends, the ports vanish, or ctx ends.
func (p *pair) session(ctx context.Context) (err error) {
	if err := p.prepare(ctx); err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	engine, err := p.box.engines.Start(starting, EngineConfig{p.box.name, p.cfg, p.built.Document, p.mode(), p.pep})
	if err != nil {
		return fmt.Errorf("start engine: %w", err)
	}
	p.began(engine)
	err = p.attend(ctx, engine)
	p.mu.Lock()
	p.engine, p.state.Engine.PID = nil, 0
	p.mu.Unlock()
	if err != nil && !errors.Is(err, errOtherPath) {
		p.gone(err)
	}
	err = errors.Join(err, engine.Close())
	if p.lost {
		p.lost = false
		err = errors.Join(err, p.release())
	}
	return err
}

// began takes note of a new engine.
func (p *pair) began(e Engine) {
	now := e.Snapshot()
	missed := p.back(now.Unshaped)
	p.mu.Lock()
	again := !p.state.Engine.Started.IsZero()
	if again && !p.moving {
		p.state.Engine.Restarts++
	}
	p.moving = false
	p.engine, p.state.Engine.PID, p.state.Engine.Started = e, e.PID(), time.Now()
	p.hung = time.Time{}
	p.mu.Unlock()
	p.judged(appliance.Verdict{Word: appliance.Valid})
	text := "engine started"
	if again {
		text = "engine started again"
	}
	text += p.moves(now)
	if missed != "" {
		text += "; " + missed
	}
	p.event(appliance.KindEngine, "", text)
	p.settle()
}

// moves says how an engine that has started moves frames: by another driver
// than the one before, that is the very thing to know.
func (p *pair) moves(s Snapshot) (text string) {
	was := p.driver
	if p.driver = s.Driver; s.Driver == "" {
		return ""
	}
	text = ": " + s.Driver
	if was != "" && was != s.Driver {
		text += ", before it was " + was
	}
	if s.DriverWhy != "" {
		text += "; " + s.DriverWhy
	}
	return text
}

// attend does what there is to do while the engine runs.
func (p *pair) attend(ctx context.Context, e Engine) error {
	look := time.NewTicker(watching)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.Done():
			return fmt.Errorf("engine ended: %w", e.Err())
		case c := <-p.ports:
			if p.note(c); !c.There {
				p.lost = true
				return fmt.Errorf("port %s has vanished", c.Port)
			}
		case f := <-p.calls:
			f()
			if p.otherPath {
				p.otherPath, p.moving = false, true
				return errOtherPath
			}
		case <-p.disrupts.due():
			p.disruptOn(ctx)
		case <-look.C:
			if p.look(e.Snapshot()) {
				return fmt.Errorf("engine hangs for %v", hangMost)
			}
		}
	}
}

// idle waits for the next attempt while there is no engine; true when a port
// came, which makes the attempt worth its while at once.
func (p *pair) idle(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case c := <-p.ports:
			if p.note(c); c.There && p.held == nil {
				return true
			} else if !c.There && p.held != nil {
				err := errors.Join(fmt.Errorf("port %s has vanished", c.Port), p.release())
				p.setWord(appliance.Fault, err.Error())
			}
		case f := <-p.calls:
			f()
		case <-p.disrupts.due():
			p.disruptOn(ctx)
		}
	}
}

// release gives the ports back, if they are held.
func (p *pair) release() error {
	if p.held == nil {
		return nil
	}
	held := p.held
	p.held = nil
	p.taken(false)
	return errors.Join(p.box.engines.Remove(p.box.name, p.cfg), held.Release())
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// mode is what frames are to undergo now: what was asked, unless a link
// event says otherwise.
func (p *pair) mode() appliance.Mode {
	if p.disrupts.cutting() {
		return appliance.CutOff
	}
	return p.built.Mode
}

// settle makes the word follow what the engine does.
func (p *pair) settle() {
	switch p.mode() {
	case appliance.Bypass:
		p.setWord(appliance.Bypassing, "")
	case appliance.CutOff:
		p.setWord(appliance.Cutting, p.disrupts.why())
	default:
		p.setWord(appliance.Emulating, "")
	}
}

// look follows the engine's verdict and its fallback; true when it has hung
// for so long that it must be ended.
func (p *pair) look(s Snapshot) (hopeless bool) {
	p.mu.Lock()
	p.heed(s)
	p.mu.Unlock()
	if !s.Fallen {
		p.hung = time.Time{}
		p.settle()
		p.judged(s.Verdict)
		p.tell()
		return false
	}
	if p.hung.IsZero() {
		p.hung = time.Now()
	}
	p.setWord(appliance.Fault, fmt.Sprintf("engine hangs, fallback %s is in force", p.cfg.Fallback))
	p.judged(p.hanging())
	return time.Since(p.hung) >= hangMost
}

// setWord changes the word and says so when it is another.
func (p *pair) setWord(w appliance.Word, why string) {
	p.mu.Lock()
	same := p.state.Word == w
	if !same {
		p.state.Word, p.state.Since = w, time.Now()
	}
	p.state.Why = why
	p.mu.Unlock()
	if same {
		return
	}
	text := string(w)
	if why != "" {
		text += ": " + why
	}
	p.box.bus.Publish(appliance.Event{Kind: appliance.KindState, Pair: p.cfg.Name, Word: string(w), Text: text})
}

func (p *pair) event(k appliance.Kind, by, text string) {
	p.box.bus.Publish(appliance.Event{Kind: k, Pair: p.cfg.Name, By: by, Text: text})
}

// snapshot is the whole state of the pair.
func (p *pair) snapshot() appliance.PairState {
	p.mu.Lock()
	e := p.engine
	p.mu.Unlock()
	var now Snapshot
	if e != nil {
		now = e.Snapshot()
	}
	p.mu.Lock()
	if e == p.engine && e != nil {
		p.heed(now)
	}
	s, hindered := p.state, p.hindered()
	s.PortWarnings = p.warnings()
	p.mu.Unlock()
	s.Effective, s.NotYet = e != nil && s.Word != appliance.Fault, s.Why
	if hindered != "" && s.Effective {
		s.Effective, s.NotYet = false, hindered
	}
	if e == nil {
		s.Verdict = p.standing(s.Verdict)
		return s
	}
	s.Figures, s.Readings, s.Verdict = &now.Figures, now.Readings, p.standing(now.Verdict)
	if now.Fallen {
		s.Verdict = p.hanging()
	}
	s.Engine.Driver, s.Engine.DriverWhy, s.Engine.Floor = now.Driver, now.DriverWhy, &now.Floor
	if s.Word == appliance.Emulating {
		s.Checks = now.Checks
	}
	if now.NotEffective != "" && s.Effective {
		s.Effective, s.NotYet = false, now.NotEffective
	}
	return s
}

// ask has the loop run f.
func (p *pair) ask(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case p.calls <- func() { defer close(done); f() }:
		<-done
		return nil
	case <-p.ended:
		return appliance.NotReady{Pair: p.cfg.Name, Why: "the daemon stops"}
	case <-ctx.Done():
		return fmt.Errorf("pair %s: %w", p.cfg.Name, ctx.Err())
	}
}
