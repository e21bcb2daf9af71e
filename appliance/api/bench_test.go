package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/box"
	"farlink/appliance/store"
)

// engine is an engine without a wire: it does as it is told and shows the
// figures it is given.
type engine struct {
	mu       sync.Mutex
	snapshot box.Snapshot
	refuse   error
	done     chan struct{}
	born     time.Time
}

func (e *engine) Apply(context.Context, []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.refuse
}
func (e *engine) Run(ctx context.Context, doc []byte) error     { return e.Apply(ctx, doc) }
func (e *engine) SetMode(context.Context, appliance.Mode) error { return nil }
func (e *engine) Snapshot() box.Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.snapshot
}
func (e *engine) Done() <-chan struct{} { return e.done }
func (e *engine) Err() error            { return errors.New("killed") }
func (e *engine) Close() error          { return nil }
func (e *engine) PID() int              { return 4711 }

// show sets the figures.
func (e *engine) show(f appliance.Figures, r ...appliance.Reading) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.snapshot.Figures, e.snapshot.Readings = f, r
}

func (e *engine) judge(v appliance.Verdict) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.snapshot.Verdict = v
}

// bare are ports and engines without a kernel.
type bare struct{ engine *engine }

func (b bare) Start(context.Context, box.EngineConfig) (box.Engine, error) {
	return b.engine, nil
}
func (b bare) Prepare(context.Context, appliance.PairConfig) (box.Held, error) { return b, nil }
func (b bare) Watch(ctx context.Context, _ appliance.PairConfig, _ func(box.PortChange)) error {
	<-ctx.Done()
	return nil
}
func (b bare) Release() error                            { return nil }
func (b bare) Remove(string, appliance.PairConfig) error { return nil }

// bench is a real box on a fake engine behind a real server, with three
// tokens.
type bench struct {
	t      *testing.T
	url    string
	server *Server
	box    *box.Box
	engine *engine
	keys   *access.Keyring
}

const (
	readToken  = "flk_read-token-of-the-test"
	driveToken = "flk_drive-token-of-the-test"
	otherToken = "flk_other-token-of-the-test"
	adminToken = "flk_admin-token-of-the-test"
)

func newBench(t *testing.T, change ...func(*Config)) *bench {
	t.Helper()
	return newBenchOf(t, []string{"main"}, change...)
}

// newBenchOf is a bench with several pairs.
func newBenchOf(t *testing.T, names []string, change ...func(*Config)) *bench {
	t.Helper()
	return newBenchWith(t, names, func(*box.Parts) {}, change...)
}

// newBenchWith is a bench whose box is made of other parts, too.
func newBenchWith(t *testing.T, names []string, other func(*box.Parts), change ...func(*Config)) *bench {
	t.Helper()
	e := &engine{born: time.Now(), done: make(chan struct{}), snapshot: box.Snapshot{
		Verdict: appliance.Verdict{Word: appliance.Valid}, Driver: "none", Floor: appliance.Floor{P50: 90, P99: 250, Frames: 100}}}
	store, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var pairs []appliance.PairConfig
	for _, name := range names {
		pair := appliance.PairConfig{Name: name, A: "a-" + name, B: "b-" + name, Fallback: appliance.Bypass}
		pair.Boot.Mode, pair.Boot.Profile = appliance.Emulate, "clear"
		pairs = append(pairs, pair)
	}
	ctx, cancel := context.WithCancel(context.Background())
	parts := box.Parts{Name: "bench", Version: "test", Pairs: pairs, Ports: bare{e}, Engines: bare{e}, Store: store}
	other(&parts)
	box, err := box.Open(ctx, parts)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := access.Open(t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]struct {
		scope  access.Scope
		secret string
	}{"reader": {access.Read, readToken}, "driver": {access.Drive, driveToken},
		"other": {access.Drive, otherToken}, "boss": {access.Admin, adminToken}} {
		if err := keys.Accept(name, token.scope, token.secret); err != nil {
			t.Fatal(err)
		}
	}
	c := Config{Box: box, Keys: keys, Version: "test"}
	for _, f := range change {
		f(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { box.Run(ctx) })
	running.Go(func() { s.Run(ctx) })
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		cancel()
		web.CloseClientConnections()
		web.Close()
		running.Wait()
	})
	b := &bench{t: t, url: web.URL, server: s, box: box, engine: e, keys: keys}
	b.until("all pairs emulate", func() bool {
		return !slices.ContainsFunc(box.State().Pairs, func(p appliance.PairState) bool { return p.Word != appliance.Emulating })
	})
	return b
}

// until waits for something that must come soon.
func (b *bench) until(what string, ok func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// answered is an answer with its body.
type answered struct {
	*http.Response
	body string
}

// ask makes a request; head is pairs of header name and value.
func (b *bench) ask(token, method, path, body string, head ...string) answered {
	b.t.Helper()
	req, err := http.NewRequest(method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(head); i += 2 {
		req.Header.Set(head[i], head[i+1])
		if head[i] == "Host" {
			req.Host = head[i+1]
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answered{res, string(text)}
}

// decoded reads a body.
func decoded[T any](t *testing.T, body string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}
