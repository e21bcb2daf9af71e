// Package door is where the API of a box is served: address, TLS, and by
// which names it may be called. It can be moved while the box runs; then it is
// on trial, for who moves a door may find himself outside.
//
//	Move ─▶ new address or TLS ─▶ somebody with scope admin comes in: kept
//	                            └ nobody does within a minute: as it was
package door

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"farlink/appliance"
	"farlink/appliance/access"
)

// TrialFor is how long somebody with scope admin has to come in by a door
// that was moved.
const TrialFor = time.Minute

// SettingsState is how the door is.
type SettingsState struct {
	Settings
	API         string       `json:"api" doc:"Where it is served now."`
	Configured  bool         `json:"configured" doc:"All is as the configuration has it."`
	Certificate *Certificate `json:"certificate,omitempty" doc:"The one in use."`
	Trial       time.Time    `json:"trial_until,omitzero" doc:"Address or TLS are new: unless somebody with scope admin comes in there until then, they go back."`
}

// Door is a net.Listener whose address and TLS may change; Accept gives the
// connections of whatever is open now. Its methods may be called from several
// goroutines.
type Door struct {
	dir    string
	files  [2]string // certificate and key that the configuration names
	config Settings
	log    *slog.Logger
	moved  func(SettingsState) // hears of every new address

	conns  chan net.Conn
	closed chan struct{}

	moving sync.Mutex // one Move at a time

	mu    sync.Mutex
	now   Settings
	cert  tls.Certificate
	inner net.Listener // nil on a door that stands still
	since time.Time    // when it was last moved
	trial *trial
}

// trial is how it was before, and what takes it back there.
type trial struct {
	was   Settings
	until time.Time
	timer *time.Timer
}

// Still is a door that others have opened: its names may be changed, its
// address and TLS may not.
func Still(s Settings) *Door { return &Door{now: s, config: s, log: slog.New(slog.DiscardHandler)} }

// Open opens the door of a configuration, with what was changed since, as dir
// has it. moved hears of every new address; it may be nil.
func Open(dir string, a appliance.APIConfig, log *slog.Logger, moved func(SettingsState)) (*Door, error) {
	d := &Door{dir: dir, files: [2]string{a.Certificate, a.Key}, config: Configured(a), log: log, moved: moved,
		conns: make(chan net.Conn), closed: make(chan struct{})}
	s, changed, err := load(dir, d.config)
	if err != nil {
		return nil, err
	}
	if changed {
		if err = d.open(s); err == nil {
			log.Info("api as it was set while the box ran, not as the configuration has it", "listen", s.Listen, "tls", s.TLS)
			return d, nil
		}
		log.Error("api cannot be as it was set while the box ran; as the configuration has it", "error", err)
	}
	return d, d.open(d.config)
}

// open makes the settings those in force; after an error nothing has changed.
func (d *Door) open(s Settings) error {
	cert, err := d.certificate(s)
	if err != nil {
		return fmt.Errorf("api.tls: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inner == nil || d.now.Listen != s.Listen {
		if err := d.listen(s.Listen); err != nil {
			return fmt.Errorf("API: %w; want a free address as api.listen", err)
		}
	}
	if cert.Leaf != nil && (d.cert.Leaf == nil || !d.cert.Leaf.Equal(cert.Leaf)) {
		d.log.Info("TLS", "fingerprint_sha256", access.Fingerprint(cert))
	}
	d.now, d.cert, d.since = s, cert, time.Now()
	return nil
}

// listen takes an address in place of the one before. Where they overlap, as
// one address and all of them, the old one must go first.
func (d *Door) listen(address string) error {
	l, err := net.Listen("tcp", address)
	old := d.inner
	if old != nil && errors.Is(err, unix.EADDRINUSE) {
		was := old.Addr().String()
		old.Close()
		if l, err = net.Listen("tcp", address); err != nil {
			back, worse := net.Listen("tcp", was)
			if worse != nil {
				return errors.Join(err, worse)
			}
			d.inner = back
			go d.take(back)
			return err
		}
	} else if old != nil && err == nil {
		old.Close()
	}
	if err != nil {
		return err
	}
	d.inner = l
	go d.take(l)
	return nil
}

// take hands the connections of a listener on until it is closed.
func (d *Door) take(l net.Listener) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many files: those that are open go in time
			time.Sleep(50 * time.Millisecond)
			continue
		}
		select {
		case d.conns <- d.wrap(c):
		case <-d.closed:
			c.Close()
			return
		}
	}
}

// wrap puts TLS around a connection, if that is how the door is now.
func (d *Door) wrap(c net.Conn) net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now.TLS == "off" {
		return c
	}
	return tls.Server(c, access.TLS(d.cert))
}

// Accept is that of a net.Listener.
func (d *Door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close is that of a net.Listener.
func (d *Door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.closed:
		return nil
	default:
	}
	close(d.closed)
	if d.trial != nil { // not kept: the next start is as it was
		d.trial.timer.Stop()
	}
	return d.inner.Close()
}

// Addr is that of a net.Listener.
func (d *Door) Addr() net.Addr {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inner.Addr()
}

// Look returns how the door is.
func (d *Door) Look() SettingsState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state()
}

func (d *Door) state() SettingsState {
	s := SettingsState{Settings: d.now, Configured: reflect.DeepEqual(d.now, d.config), Certificate: about(d.cert)}
	s.AllowedHosts = append([]string{}, d.now.AllowedHosts...)
	if d.inner != nil {
		s.API = "http://" + reachable(d.inner.Addr())
	}
	if d.now.TLS != "off" {
		s.API = "https" + s.API[min(len(s.API), len("http")):]
	}
	if d.trial != nil {
		s.Trial = d.trial.until
	}
	return s
}

// reachable is the address as a client on this machine would dial it.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return a.String()
}

// ErrTrial is the error of moving a door that is on trial.
var ErrTrial = errors.New("address or TLS were just changed and are on trial; come in there first, or wait until they have gone back")

// Move changes the settings, all of them or nothing. A new address or TLS is
// on trial.
func (d *Door) Move(s Settings, dryRun bool) (SettingsState, error) {
	if bad := s.check(d.config); len(bad) > 0 {
		return d.Look(), bad
	}
	d.moving.Lock()
	defer d.moving.Unlock()
	was := d.Look()
	moves := s.Listen != was.Listen || s.TLS != was.TLS
	switch {
	case moves && d.still():
		return was, appliance.Problems{{Path: "listen", Got: s.Listen, Want: "as it is: this box's address is not its own to change"}}
	case !was.Trial.IsZero():
		return was, ErrTrial
	case dryRun:
		_, err := d.certificate(s)
		return was, tlsProblem(err)
	}
	if d.still() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.now = s
		return d.state(), nil
	}
	if _, err := d.certificate(s); err != nil {
		return was, tlsProblem(err)
	}
	if !moves {
		if err := d.keep(s); err != nil {
			return was, err
		}
	}
	if err := d.open(s); err != nil {
		return was, appliance.Problems{{Path: "listen", Got: s.Listen, Want: "an address of this machine and a port that is free: " + err.Error()}}
	}
	d.mu.Lock()
	if moves {
		d.trial = &trial{was: was.Settings, until: time.Now().Add(TrialFor), timer: time.AfterFunc(TrialFor, d.back)}
	}
	st := d.state()
	d.mu.Unlock()
	d.tell(st)
	return st, nil
}

func tlsProblem(err error) error {
	if err == nil {
		return nil
	}
	return appliance.Problems{{Path: "tls", Got: "own", Want: "a certificate that can be used: " + err.Error()}}
}

func (d *Door) tell(st SettingsState) {
	if d.moved != nil {
		d.moved(st)
	}
}

// still reports whether others have opened the door.
func (d *Door) still() bool { return d.closed == nil }

// Reset goes back to what the configuration says.
func (d *Door) Reset() (SettingsState, error) { return d.Move(d.config, false) }

// back ends a trial that nobody passed.
func (d *Door) back() {
	d.mu.Lock()
	t := d.trial
	d.trial = nil
	d.mu.Unlock()
	if t == nil {
		return
	}
	d.log.Warn("nobody with scope admin came in by the new address or TLS: it is as it was", "listen", t.was.Listen, "tls", t.was.TLS)
	if err := d.open(t.was); err != nil {
		d.log.Error("the former address cannot be taken", "error", err)
	}
	d.tell(d.Look())
}

// Entered says that somebody with scope admin has come in by a connection
// that was made at a time; a trial is passed when that is after the move.
func (d *Door) Entered(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.trial == nil || !at.After(d.since) || !d.trial.timer.Stop() {
		return
	}
	d.trial = nil
	if err := d.keep(d.now); err != nil {
		d.log.Error("the new address or TLS is in force, but will not be after a restart", "error", err)
	}
}

// Upload takes a certificate and its key, both as PEM, for TLS "own"; it is
// in use for new connections at once when that is how the door is.
func (d *Door) Upload(certificate, key string) (SettingsState, error) {
	if d.still() {
		return d.Look(), appliance.Problems{{Path: "certificate", Got: "one", Want: "none: this box's TLS is not its own to change"}}
	}
	c, err := access.KeepUploaded(d.dir, []byte(certificate), []byte(key), time.Now())
	var unfit access.Unfit
	if errors.As(err, &unfit) {
		return d.Look(), appliance.Problems{{Path: unfit.Part, Got: "something else", Want: unfit.Want}}
	}
	if err != nil {
		return d.Look(), err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now.TLS == "own" {
		d.cert = c
	}
	st := d.state()
	st.Certificate = about(c)
	return st, nil
}

// Allowed are the names by which the box may be called, besides those that
// are its own.
func (d *Door) Allowed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.now.AllowedHosts)
}

// Guest is what a caller without credentials may do.
func (d *Door) Guest() access.Scope {
	d.mu.Lock()
	defer d.mu.Unlock()
	scope, err := access.ParseScope(d.now.Open)
	if err != nil {
		return access.None
	}
	return scope
}

// Secure reports whether connections are made by TLS now.
func (d *Door) Secure() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now.TLS != "off"
}
