package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"farlink/appliance"
	"farlink/appliance/box"
	"farlink/appliance/split"
	"farlink/emulator"
	"farlink/emulator/ledger"
	"farlink/emulator/link"
	"farlink/emulator/wire"
	"farlink/emulator/wire/steer"
	"farlink/pep/congestion"
)

// silence is how long the engine's figures may be old before it counts as
// hung: it publishes each 100 ms at least.
const silence = 500 * link.Millisecond

// Engines are engines that drive the real ports, each a process of its
// own, and the proxies beside them.
type Engines struct {
	mu    sync.Mutex
	paths map[string]*split.Path // by wireName; they outlive an engine
	found map[string]wire.Report // by wireName: by the engine before
}

// wireName names a pair for the kernel: its pins must be one's own among all
// boxes of the machine.
func wireName(box, pair string) string { return box + "-" + pair }

// Start starts an engine and waits until frames pass it.
func (k *Engines) Start(ctx context.Context, c box.EngineConfig) (box.Engine, error) {
	mode, err := steer.ParseMode(string(c.Mode))
	if err != nil {
		return nil, err
	}
	fallback, err := steer.ParseMode(string(c.Pair.Fallback))
	if err != nil {
		return nil, err
	}
	path, err := k.path(c)
	if err != nil {
		return nil, err
	}
	a, b, feed := c.Pair.A, c.Pair.B, ""
	if path != nil {
		a, b = path.Ends()
		feed = path.Feed()
	}
	// ctx bounds the start, not the life of the engine.
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	late := context.AfterFunc(ctx, kill)
	e, err := wire.Start(life, wire.Config{
		Pair: wireName(c.Box, c.Pair.Name), A: a, B: b, Netns: c.Pair.Netns,
		Fallback: fallback, Patience: time.Duration(c.Pair.FailAfter), Memory: c.Pair.Memory, Doc: c.Document, Feed: feed,
		Before: k.before(wireName(c.Box, c.Pair.Name)),
	})
	if late(); err != nil {
		kill()
		return nil, err
	}
	k.keep(wireName(c.Box, c.Pair.Name), e.Report())
	running := &wireEngine{Engine: e, kill: kill}
	running.promise(c.Document)
	if mode != steer.Emulate {
		if err := running.SetMode(ctx, c.Mode); err != nil {
			return nil, errors.Join(err, running.Close())
		}
	}
	if path != nil {
		return newProxied(running, path)
	}
	return running, nil
}

// before returns what an engine of the pair found before, nil if none did.
func (k *Engines) before(name string) *wire.Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, known := k.found[name]; known {
		return &r
	}
	return nil
}

func (k *Engines) keep(name string, r wire.Report) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found == nil {
		k.found = map[string]wire.Report{}
	}
	k.found[name] = r
}

// Remove takes the pair's programs off its ports, and the proxies away.
func (k *Engines) Remove(box string, p appliance.PairConfig) error {
	name := wireName(box, p.Name)
	return errors.Join(k.dropPath(name), wire.Remove(name))
}

// wireEngine is an engine that runs.
type wireEngine struct {
	*wire.Engine
	kill  context.CancelFunc
	terms atomic.Pointer[terms] // of the document in force
}

// promise takes note of what the links promise from now on.
func (e *wireEngine) promise(document []byte) {
	t := termsOf(document)
	e.terms.Store(&t)
}

// patience is how long an engine may take to answer.
const patience = 10 * time.Second

// bounded waits for f, which asks the engine. An engine that does not answer
// is ended: what it would have done when it comes to itself nobody knows.
func (e *wireEngine) bounded(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("engine does not answer"))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		e.kill()
		return context.Cause(ctx)
	}
}

func (e *wireEngine) Apply(ctx context.Context, document []byte) error {
	return e.bounded(ctx, func() error {
		_, err := e.Engine.Apply(document)
		if err == nil {
			e.promise(document)
		}
		return err
	})
}

func (e *wireEngine) Run(ctx context.Context, document []byte) error {
	return e.bounded(ctx, func() error {
		_, err := e.Engine.Run(document)
		if err == nil {
			e.promise(document)
		}
		return err
	})
}

func (e *wireEngine) SetMode(ctx context.Context, m appliance.Mode) error {
	mode, err := steer.ParseMode(string(m))
	if err != nil {
		return err
	}
	return e.bounded(ctx, func() error { return e.Engine.SetMode(mode) })
}

func (e *wireEngine) PID() int { return e.Report().PID }

// Close ends the engine; the program stays on the ports and does what it
// does without one.
func (e *wireEngine) Close() error {
	select {
	case <-e.Done():
		_ = e.Engine.Close() // gone already: it can only say so
		e.kill()
		return nil
	default:
	}
	if fallen(e.Stats()) {
		e.kill() // it would not hear that it is to end
		<-e.Done()
		_ = e.Engine.Close()
		return nil
	}
	err := e.Engine.Close()
	e.kill()
	return err
}

// Snapshot reads what the engine publishes.
func (e *wireEngine) Snapshot() box.Snapshot {
	s := e.Stats()
	r := e.Report()
	out := box.Snapshot{
		Verdict: appliance.Verdict{Word: appliance.Standing(s.Verdict.String()), Reason: s.Reason},
		Driver:  driver(r), DriverWhy: r.Why,
		Figures: figures(s), NotEffective: s.NotEffective,
	}
	out.Floor = floor(r.Floor)
	out.Figures.Floor = out.Floor.P50
	for _, w := range link.Ways {
		out.Readings = append(out.Readings, readings(w, s.Ways[w].Probes)...)
	}
	out.Fallen, out.Silent, out.Unshaped = fallen(s), time.Duration(silent(s)), e.FellBack()
	out.Checks = e.terms.Load().checks(s, out.Readings)
	for _, c := range out.Checks {
		if c.Word == appliance.Broken && c.What != emulator.TermJitter && out.NotEffective == "" {
			out.NotEffective = fmt.Sprintf("link %s, way %s: %s", c.Link, c.Way, c.Text)
		}
	}
	return out
}

// fallen reports whether an engine hangs: a way has published nothing for
// too long.
func fallen(s wire.Stats) bool { return silent(s) > silence }

// silent is how long the way that is silent for longest has been so.
func silent(s wire.Stats) (most link.Duration) {
	for i := range s.Ways {
		most = max(most, s.Now.Sub(s.Ways[i].Interval.To))
	}
	return most
}

func floor(f wire.Floor) appliance.Floor {
	us := func(d link.Duration) float64 { return float64(d) / 1e3 }
	return appliance.Floor{P50: us(f.P50), P99: us(f.P99), WitnessP50: us(f.WitnessP50), WitnessP99: us(f.WitnessP99), Frames: f.Frames, Why: f.Why}
}

func driver(r wire.Report) string {
	copying := "copy"
	if r.ZeroCopy {
		copying = "zero-copy"
	}
	if r.Attached[0] == r.Attached[1] {
		return fmt.Sprintf("%s XDP, %s", r.Attached[0], copying)
	}
	return fmt.Sprintf("%s and %s XDP, %s", r.Attached[0], r.Attached[1], copying)
}

func figures(s wire.Stats) appliance.Figures {
	var late ledger.Histogram
	for i := range s.Ways {
		late.Merge(&s.Ways[i].Book.Lateness)
	}
	return appliance.Figures{
		Down: wayFigures(&s.Ways[link.Down].Book), Up: wayFigures(&s.Ways[link.Up].Book),
		LatenessP50: float64(late.Quantile(0.5)) / 1e3,
		LatenessP99: float64(late.Quantile(0.99)) / 1e3,
		LatenessMax: float64(late.Max) / 1e3,
	}
}

func wayFigures(b *ledger.Book) appliance.WayFigures {
	f := appliance.WayFigures{PacketsIn: b.In, BytesIn: b.InBytes, PacketsOut: b.Out, BytesOut: b.OutBytes,
		EngineLost: b.Engine.Loss(), LinkDown: b.LinkDown, HeldPackets: b.Held, HeldBytes: b.HeldBytes}
	for reason, n := range b.Lost {
		if n > 0 {
			if f.Lost == nil {
				f.Lost = map[string]uint64{}
			}
			f.Lost[link.Reason(reason).String()] = n
		}
	}
	return f
}

// readings undoes what modelled.Probes does to names.
func readings(w link.Way, probes []link.Probe) []appliance.Reading {
	out := make([]appliance.Reading, len(probes))
	for i, p := range probes {
		name, of, further := strings.Cut(p.Name, ":")
		if !further {
			name, of = appliance.MainLink, name
		}
		out[i] = appliance.Reading{Link: name, Way: w.String(), Name: of, Value: p.Value}
	}
	return out
}

// modelled is an Emulator as the wire drives it.
type modelled struct{ *emulator.Emulator }

// Build makes what the engine drives of a document: it is what main
// hands to wire.Main.
func Build(document []byte) (wire.Emulator, error) {
	spec, problems := emulator.ParseSpec(document)
	if len(problems) > 0 {
		var bad appliance.Problems
		for _, p := range problems {
			if p.Level == 0 {
				bad = append(bad, p)
			}
		}
		if len(bad) > 0 {
			return nil, bad
		}
	}
	e, err := emulator.New(spec)
	if err != nil {
		return nil, err
	}
	return modelled{e}, nil
}

// Granters is how many links tell what they grant.
func (m modelled) Granters() int { return m.Size() }

// OpenFeed opens the feed through which an engine tells the proxies what its
// links grant: it is what main hands to wire.Main.
func OpenFeed(path string) (wire.Feed, error) { return congestion.OpenFeed(path) }

// Succeed takes over what old holds. The bare wire holds nothing.
func (m modelled) Succeed(old wire.Emulator, w link.Way, now link.Time) {
	if was, ok := old.(modelled); ok {
		m.Emulator.Succeed(was.Emulator, w, now)
		return
	}
	m.Emulator.Begin(w, now)
}

// Probes yields the figures; those of further links are named LINK:FIGURE.
func (m modelled) Probes(w link.Way, now link.Time, yield func(link.Probe)) {
	m.Figures(w, now, yield)
}

// Fates yields what the tap told of way w from a number on; it returns the
// number to go on from, and how many were missed.
func (e *wireEngine) Fates(w link.Way, from uint64, yield func(came link.Time, f link.Fate, bytes []byte) bool) (next, missed uint64) {
	return e.Records(w, from, func(r wire.Record) bool { return yield(r.Came, r.Fate, r.Bytes) })
}

// RunTime is the time of the run now.
func (e *wireEngine) RunTime() link.Time { return e.Stats().Now }
