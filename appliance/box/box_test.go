package box

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"farlink/appliance"
	"farlink/appliance/store"
	"farlink/emulator/link"
)

// testEngine is an engine that does as it is told and moves nothing.
type testEngine struct {
	mu        sync.Mutex
	documents []string
	modes     []appliance.Mode
	runs      int
	snapshot  Snapshot
	refuse    error
	done      chan struct{}
	closed    bool
}

func (e *testEngine) Apply(_ context.Context, doc []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuse != nil {
		return e.refuse
	}
	e.documents = append(e.documents, string(doc))
	return nil
}

func (e *testEngine) Run(ctx context.Context, doc []byte) error {
	e.mu.Lock()
	e.runs++
	e.mu.Unlock()
	return e.Apply(ctx, doc)
}

func (e *testEngine) SetMode(_ context.Context, m appliance.Mode) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.modes = append(e.modes, m)
	return nil
}

func (e *testEngine) mode() appliance.Mode {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.modes[len(e.modes)-1]
}

func (e *testEngine) say(s Snapshot) { e.mu.Lock(); e.snapshot = s; e.mu.Unlock() }
func (e *testEngine) Snapshot() Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.snapshot
}
func (e *testEngine) Done() <-chan struct{} { return e.done }
func (e *testEngine) Err() error            { return errors.New("killed") }
func (e *testEngine) Close() error          { e.closed = true; return nil }
func (e *testEngine) PID() int              { return 4711 }

// testBench is ports and engines without a kernel.
type testBench struct {
	mu       sync.Mutex
	engines  []*testEngine
	starting error
	missing  error
	held     int
	// driver of the engines to come, and why that one.
	driver, why string
	unshaped    uint64 // of the engines to come
	changed     func(PortChange)
}

func (b *testBench) Start(_ context.Context, c EngineConfig) (Engine, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.starting != nil {
		return nil, b.starting
	}
	e := &testEngine{done: make(chan struct{}), documents: []string{string(c.Document)}, modes: []appliance.Mode{c.Mode},
		snapshot: Snapshot{Verdict: appliance.Verdict{Word: appliance.Valid}, Driver: b.driver, DriverWhy: b.why, Unshaped: b.unshaped}}
	b.engines = append(b.engines, e)
	return e, nil
}

func (b *testBench) Remove(string, appliance.PairConfig) error { return nil }

func (b *testBench) Prepare(context.Context, appliance.PairConfig) (Held, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.missing != nil {
		return nil, b.missing
	}
	b.held++
	return b, nil
}

func (b *testBench) Release() error { b.mu.Lock(); b.held--; b.mu.Unlock(); return nil }

func (b *testBench) Watch(ctx context.Context, _ appliance.PairConfig, changed func(PortChange)) error {
	b.mu.Lock()
	b.changed = changed
	b.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (b *testBench) last() *testEngine {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.engines[len(b.engines)-1]
}

func (b *testBench) lack(err error) { b.mu.Lock(); b.missing = err; b.mu.Unlock() }

// running runs f beside a box of one pair, in a bubble of virtual time.
func running(t *testing.T, f func(t *testing.T, b *Box, bench *testBench)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { runningIn(t, dir, f) })
}

func runningIn(t *testing.T, dir string, f func(t *testing.T, b *Box, bench *testBench)) {
	bench := &testBench{}
	store, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	config, problems := appliance.ParseConfig([]byte("[[pairs]]\na = \"eth1\"\nb = \"eth2\"\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b, err := Open(ctx, Parts{Name: "test", Pairs: config.Pairs, Ports: bench, Engines: bench, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- b.Run(ctx) }()
	synctest.Wait()
	f(t, b, bench)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if bench.held != 0 {
		t.Errorf("%d pairs of ports still held", bench.held)
	}
}

func word(b *Box) appliance.Word { return b.State().Pairs[0].Word }

func apply(t *testing.T, b *Box, doc string, o appliance.Options) appliance.Applied {
	t.Helper()
	w, problems := appliance.ParseWant([]byte(doc))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	a, err := b.Apply(t.Context(), "", w, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestApply(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		if s := b.State().Pairs[0]; s.Word != appliance.Emulating || s.Links[0].Profile != "clear" || s.ETag != "v0" || !s.Effective {
			t.Errorf("at boot: %+v", s)
		}
		a := apply(t, b, `{"profile": "geo/qirse-sat", "seed": 18446744073709551615}`, appliance.Options{IfMatch: "v0"})
		if !a.Changed || !a.Hitless || !a.Effective || a.ETag != "v1" || a.Links[0].Seed != 1<<64-1 {
			t.Errorf("applied: %+v", a)
		}
		if e := bench.last(); len(e.documents) != 2 || !strings.Contains(e.documents[1], `"seed":18446744073709551615`) {
			t.Errorf("engine was told %v", e.documents)
		}
		if again := apply(t, b, `{"profile": "geo/qirse-sat", "seed": 18446744073709551615}`, appliance.Options{}); again.Changed || again.ETag != "v1" {
			t.Errorf("the same once more: %+v", again)
		}
		if a := apply(t, b, `{"mode": "bypass", "profile": "clear"}`, appliance.Options{}); a.Hitless || word(b) != appliance.Bypassing {
			t.Errorf("bypass: %+v, %s", a, word(b))
		}
	})
}

func TestApplyRefusesAllAtOnceAndChangesNothing(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		want := appliance.Want{Mode: "fast", Link: appliance.Link{Profile: "geo/qirse"}, Links: map[string]appliance.Link{"x": {Inline: "down = 3\nfoo = 1"}},
			Rules: []appliance.Rule{{DSCP: "99", Link: "y"}}}
		_, err := b.Apply(t.Context(), "", want, appliance.Options{})
		var problems appliance.Problems
		if !errors.As(err, &problems) {
			t.Fatal(err)
		}
		var paths []string
		for _, p := range problems {
			paths = append(paths, p.Path)
		}
		if got := strings.Join(paths, " "); got != "mode profile links.x.inline.down links.x.inline.foo" {
			t.Errorf("problems at %s: %v", got, problems)
		}
		_, err = b.Apply(t.Context(), "", appliance.Want{Link: appliance.Link{Profile: "clear"}, Rules: []appliance.Rule{{Link: "y"}}, Default: "z"}, appliance.Options{})
		if !errors.As(err, &problems) || len(problems) != 2 || problems[0].Path != "rules[0].link" || problems[1].Path != "default" {
			t.Errorf("rules: %v", err)
		}
		if _, err := b.Apply(t.Context(), "", appliance.Want{Link: appliance.Link{Profile: "clear"}}, appliance.Options{IfMatch: "v7"}); err != (appliance.Stale{Got: "v7", Now: "v0"}) {
			t.Errorf("stale: %v", err)
		}
		if _, err := b.Apply(t.Context(), "nope", appliance.Want{}, appliance.Options{}); err == nil || err.Error() != `no pair "nope", box has main` {
			t.Errorf("no pair: %v", err)
		}
		bench.last().refuse = errors.New("links hold up to 900MB, memory is 256MB")
		if _, err := b.Apply(t.Context(), "", appliance.Want{Link: appliance.Link{Profile: "geo/qirse-sat"}}, appliance.Options{}); err == nil || !strings.Contains(err.Error(), "900MB") {
			t.Errorf("refused by the engine: %v", err)
		}
		if w, tag, _ := b.Want(""); tag != "v0" || w.Profile != "clear" || len(bench.last().documents) != 1 {
			t.Errorf("something changed: %s %+v", tag, w)
		}
	})
}

func TestDryRunChangesNothing(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		a := apply(t, b, `{"profile": "geo/qirse-sat"}`, appliance.Options{DryRun: true})
		if !a.DryRun || !a.Changed || !a.Hitless || !a.AppliedAt.IsZero() || len(bench.last().documents) != 1 {
			t.Errorf("%+v", a)
		}
	})
}

func TestPatch(t *testing.T) {
	running(t, func(t *testing.T, b *Box, _ *testBench) {
		apply(t, b, `{"profile": "geo/qirse-sat", "seed": 9007199254740993, "overrides": {"down": {"loss": {"probability": 0.01}}}}`, appliance.Options{})
		a, err := b.Patch(t.Context(), "", []byte(`{"overrides": {"down": {"loss": null}, "up": {"loss": {"probability": 0.5}}}}`), appliance.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(a.Want)
		// 2^53 + 1 is not a float64.
		if string(got) != `{"mode":"emulate","profile":"geo/qirse-sat","seed":9007199254740993,"overrides":{"down":{},"up":{"loss":{"probability":0.5}}}}` {
			t.Errorf("%s", got)
		}
		for _, bad := range []string{`[]`, `{`, `{"sede": 1}`, `{"seed": "x"}`, `{"overrides": {"down": {"los": {}}}}`, `{} {}`} {
			if _, err := b.Patch(t.Context(), "", []byte(bad), appliance.Options{}); err == nil {
				t.Errorf("patch %s was taken", bad)
			}
		}
	})
}

func TestLastWantReturns(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		runningIn(t, dir, func(t *testing.T, b *Box, _ *testBench) {
			apply(t, b, `{"mode": "cut", "profile": "geo/qirse-sat", "seed": 3}`, appliance.Options{})
		})
		runningIn(t, dir, func(t *testing.T, b *Box, bench *testBench) {
			s := b.State().Pairs[0]
			if s.Word != appliance.Cutting || s.Want.Seed != 3 || s.ETag != "v1" || bench.last().mode() != appliance.CutOff {
				t.Errorf("after a restart: %+v", s)
			}
			if err := b.Reset(t.Context(), "bench"); err != nil {
				t.Fatal(err)
			}
			if s := b.State().Pairs[0]; s.Word != appliance.Emulating || s.Want.Profile != "clear" || s.Want.Seed != 0 || bench.last().runs != 1 {
				t.Errorf("after a reset: %+v", s)
			}
		})
	})
}

func TestEngineIsStartedAgain(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		first := bench.last()
		close(first.done)
		synctest.Wait()
		if s := b.State().Pairs[0]; s.Word != appliance.Fault || s.Why != "engine ended: killed; next attempt in 100ms" || s.Effective {
			t.Errorf("after the crash: %s %q", s.Word, s.Why)
		}
		if b.Ready() == nil {
			t.Error("ready without an engine")
		}
		a := apply(t, b, `{"profile": "geo/qirse-sat"}`, appliance.Options{})
		if a.Effective || a.NotYet == "" || a.Hitless {
			t.Errorf("applied without an engine: %+v", a)
		}
		time.Sleep(101 * time.Millisecond)
		synctest.Wait()
		s := b.State().Pairs[0]
		if s.Word != appliance.Emulating || s.Engine.Restarts != 1 || !first.closed || b.Ready() != nil {
			t.Errorf("after the restart: %+v", s)
		}
		if !strings.Contains(bench.last().documents[0], "qirse-sat") {
			t.Error("the new engine does not know what was asked meanwhile")
		}
	})
}

func TestBackOff(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		bench.mu.Lock()
		bench.starting = errors.New("no AF_XDP")
		bench.mu.Unlock()
		close(bench.last().done)
		// 100 + 200 + 400 + 800 + 1600 + 3200 ms, then 5 s each.
		time.Sleep(6350 * time.Millisecond)
		synctest.Wait()
		if why := b.State().Pairs[0].Why; why != "start engine: no AF_XDP; next attempt in 5s" {
			t.Errorf("why: %s", why)
		}
	})
}

func TestPortVanishes(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		bench.lack(errors.New("port eth2: no such interface"))
		bench.changed(PortChange{Port: "eth2"})
		synctest.Wait()
		if s := b.State().Pairs[0]; s.Word != appliance.Fault || !strings.HasPrefix(s.Why, "port eth2 has vanished") {
			t.Errorf("%s %q", s.Word, s.Why)
		}
		if bench.held != 0 || !bench.last().closed {
			t.Error("ports or engine still held")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := b.State().Pairs[0]; s.Why != "port eth2: no such interface; next attempt in 5s" {
			t.Errorf("%q", s.Why)
		}
		bench.lack(nil)
		bench.changed(PortChange{Port: "eth2", There: true, Carrier: true})
		synctest.Wait()
		if word(b) != appliance.Emulating || bench.held != 1 {
			t.Errorf("port came back: %s", word(b))
		}
	})
}

func TestHangIsAFault(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		bench.last().say(Snapshot{Verdict: appliance.Verdict{Word: appliance.Invalid, Reason: "engine hung for 300 ms"}, Fallen: true})
		time.Sleep(watching + 1)
		synctest.Wait()
		if s := b.State().Pairs[0]; s.Word != appliance.Fault || s.Why != "engine hangs, fallback bypass is in force" || b.Ready() == nil {
			t.Errorf("%s %q", s.Word, s.Why)
		}
		bench.last().say(Snapshot{Verdict: appliance.Verdict{Word: appliance.Valid, Reason: ""}})
		time.Sleep(watching + 1)
		synctest.Wait()
		if word(b) != appliance.Emulating {
			t.Errorf("hang is over: %s", word(b))
		}
		first := bench.last()
		first.say(Snapshot{Verdict: appliance.Verdict{Word: appliance.Valid, Reason: ""}, Fallen: true})
		time.Sleep(hangMost + 2*watching + firstRetry)
		synctest.Wait()
		if s := b.State().Pairs[0]; s.Word != appliance.Emulating || s.Engine.Restarts != 1 || !first.closed {
			t.Errorf("hang without end: %+v", s)
		}
	})
}

func TestCutForATime(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		d, err := b.Disrupt(t.Context(), "", appliance.Disruption{Kind: appliance.CutFor, Duration: 5 * link.Second}, "ann")
		if err != nil || d.Ends.Sub(d.Begins) != 5*time.Second || word(b) != appliance.Cutting || bench.last().mode() != appliance.CutOff {
			t.Fatalf("%+v %v %s", d, err, word(b))
		}
		if _, err := b.Disrupt(t.Context(), "", d, "bob"); !errors.Is(err, appliance.ErrBusy) {
			t.Errorf("second event: %v", err)
		}
		time.Sleep(4 * time.Second)
		apply(t, b, `{"profile": "geo/qirse-sat"}`, appliance.Options{})
		if word(b) != appliance.Cutting || bench.last().mode() != appliance.CutOff {
			t.Error("a change of profile ended the cut")
		}
		time.Sleep(time.Second + 1)
		synctest.Wait()
		if s := b.State().Pairs[0]; s.Word != appliance.Emulating || s.Event != nil || bench.last().mode() != appliance.Emulate {
			t.Errorf("after the cut: %+v", s)
		}
	})
}

func TestFlap(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		d, err := b.Disrupt(t.Context(), "", appliance.Disruption{Kind: appliance.Flap, Down: link.Second, Up: 2 * link.Second, Count: 3}, "")
		// 3 cuts of 1 s with 2 gaps of 2 s.
		if err != nil || d.Ends.Sub(d.Begins) != 7*time.Second {
			t.Fatalf("%+v %v", d, err)
		}
		time.Sleep(7*time.Second + 1)
		synctest.Wait()
		var modes []string
		for _, m := range bench.last().modes {
			modes = append(modes, string(m))
		}
		if got := strings.Join(modes, " "); got != "emulate cut emulate cut emulate cut emulate" {
			t.Errorf("modes: %s", got)
		}
	})
}

func TestResetEndsEvents(t *testing.T) {
	running(t, func(t *testing.T, b *Box, _ *testBench) {
		if _, err := b.Disrupt(t.Context(), "", appliance.Disruption{Kind: appliance.CutFor, Duration: 3600 * link.Second}, ""); err != nil {
			t.Fatal(err)
		}
		if err := b.Reset(t.Context(), ""); err != nil || word(b) != appliance.Emulating || b.State().Pairs[0].Event != nil {
			t.Errorf("%v %s", err, word(b))
		}
	})
}

func TestReload(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		first := bench.last()
		config, problems := appliance.ParseConfig([]byte(`
[[pairs]]
name = "main"
a = "eth1"
b = "eth2"
[[pairs]]
name = "other"
a = "eth3"
b = "eth4"
boot.profile = "geo/qirse-sat"
`))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		reload := func(pairs []appliance.PairConfig) {
			t.Helper()
			if err := b.Reload(t.Context(), pairs); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		reload(config.Pairs)
		s := b.State()
		if len(s.Pairs) != 2 || s.Pairs[1].Word != appliance.Emulating || s.Pairs[1].Links[0].Profile != "geo/qirse-sat" || first.closed {
			t.Errorf("a pair more: %+v", s)
		}
		if _, _, err := b.Want(""); err == nil || err.Error() != "box has several pairs, name one of main, other" {
			t.Errorf("no name: %v", err)
		}
		config.Pairs[0].FailAfter *= 2
		reload(config.Pairs[:1])
		if s := b.State(); len(s.Pairs) != 1 || s.Pairs[0].Word != appliance.Emulating || !first.closed || bench.held != 1 {
			t.Errorf("one changed, one gone: %+v, %d held", s, bench.held)
		}
		config.Pairs[0].Boot.Profile = "nope"
		if err := b.Reload(t.Context(), config.Pairs); err == nil || !strings.Contains(err.Error(), "pair main: boot: profile") {
			t.Errorf("bad boot profile: %v", err)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		want := appliance.Want{Link: appliance.Link{Profile: "clear", Overrides: map[string]any{"up": map[string]any{"path": map[string]any{"delay": "60s"}}}}}
		_, err := b.Apply(t.Context(), "", want, appliance.Options{DryRun: true})
		// 1 Gbit/s for 60 s is 7.5 GB; a way has half of 256 MB.
		if err == nil || !strings.HasPrefix(err.Error(), "up: got up to 7500MB of frames held, want at most 128MB") {
			t.Errorf("%v", err)
		}
		if len(bench.last().documents) != 1 {
			t.Error("the engine was asked")
		}
	})
}

func TestPortsHinder(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		say := func(port string, carrier bool, speed link.Rate) {
			bench.changed(PortChange{Port: port, There: true, Carrier: carrier, Speed: speed * link.MegabitPerSecond})
			synctest.Wait()
		}
		expect := func(why string) {
			t.Helper()
			s := b.State().Pairs[0]
			if s.Word != appliance.Emulating || s.NotYet != why || s.Effective != (why == "") || (b.Ready() == nil) != (why == "") {
				t.Errorf("%s, effective %v, %q; want %q", s.Word, s.Effective, s.NotYet, why)
			}
		}
		say("eth1", true, 1000)
		say("eth2", true, 10)
		expect("")
		say("eth1", false, 0)
		expect("no carrier on eth1")
		say("eth1", true, 1000)
		expect("")
		// 20 Mbit/s through a port of 10.
		a := apply(t, b, `{"profile": "geo/qirse-sat"}`, appliance.Options{})
		if a.Effective || a.NotYet != "port eth2 runs at 10Mbit/s, the link is to carry 20Mbit/s" {
			t.Errorf("%+v", a)
		}
		expect(a.NotYet)
		say("eth2", true, 100)
		expect("")
	})
}

// A want that cannot be kept is not taken, and the engine goes on with the
// one before.
func TestApplyWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		runningIn(t, dir, func(t *testing.T, b *Box, bench *testBench) {
			os.RemoveAll(dir)
			w := appliance.Want{Link: appliance.Link{Profile: "geo/qirse-sat"}}
			if _, err := b.Apply(t.Context(), "", w, appliance.Options{}); err == nil || !strings.Contains(err.Error(), "state file:") {
				t.Errorf("%v", err)
			}
			e := bench.last()
			if len(e.documents) != 3 || e.documents[2] != e.documents[0] {
				t.Errorf("engine was told %d documents", len(e.documents))
			}
			if got, tag, _ := b.Want(""); got.Profile != "clear" || tag != "v0" {
				t.Errorf("%s %+v", tag, got)
			}
		})
	})
}

// A reset that cannot be kept is not done, and nothing says that it was.
func TestResetWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		runningIn(t, dir, func(t *testing.T, b *Box, _ *testBench) {
			apply(t, b, `{"profile": "geo/qirse-sat"}`, appliance.Options{})
			os.RemoveAll(dir)
			if err := b.Reset(t.Context(), "ann"); err == nil || !strings.Contains(err.Error(), "state file:") {
				t.Errorf("%v", err)
			}
			s := b.Subscribe(0)
			defer s.Close()
			for _, e := range s.Past {
				if e.Kind == appliance.KindReset {
					t.Errorf("told: %q", e.Text)
				}
			}
			if w, _, _ := b.Want(""); w.Profile != "geo/qirse-sat" {
				t.Errorf("%+v", w)
			}
		})
	})
}
