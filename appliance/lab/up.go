package lab

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"farlink/appliance"
	"farlink/appliance/store"
	"farlink/emulator/netlab"
	"farlink/pep/bundle"
)

// patience is how long a daemon may take until its link stands.
const patience = 30 * time.Second

// Up makes a lab and waits until its link stands. binary is the farlink to
// run. What it cannot finish it takes down again.
func Up(ctx context.Context, binary string, o Options) (Lab, error) {
	l := Lab{Name: o.Name, NsA: namespace(o.Name, "a"), NsB: namespace(o.Name, "b"), Token: "flk_" + rand.Text()}
	if err := errors.Join(o.Check(), o.find()); err != nil {
		return l, err
	}
	if os.Geteuid() != 0 {
		return l, errors.New("lab up makes network namespaces: want root (sudo)")
	}
	if err := os.MkdirAll(Root, 0o755); err != nil {
		return l, fmt.Errorf("lab %s: %w", o.Name, err)
	}
	if err := os.Mkdir(dir(o.Name), 0o700); errors.Is(err, fs.ErrExist) {
		return l, fmt.Errorf("lab %s stands already; `farlink lab down --name %s` takes it down", o.Name, o.Name)
	} else if err != nil {
		return l, fmt.Errorf("lab %s: %w", o.Name, err)
	}
	if err := l.raise(ctx, binary, o); err != nil {
		return l, errors.Join(fmt.Errorf("lab %s: %w", o.Name, err), Down(context.WithoutCancel(ctx), o.Name))
	}
	return l, nil
}

func (l *Lab) raise(ctx context.Context, binary string, o Options) error {
	if err := l.save(); err != nil {
		return err
	}
	var site bundle.Site
	var err error
	if len(o.Carriers) > 0 {
		site, err = l.lay(o)
	} else {
		_, err = netlab.New(o.Name, netlab.Options{MTU: o.MTU})
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(configFile(o.Name), []byte(config(o, site, l.Token)), 0o600); err != nil {
		return err
	}
	ended, err := l.start(binary)
	if err != nil {
		return err
	}
	if err := l.save(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("link does not stand after %v", patience))
	defer cancel()
	if err := l.await(ctx, ended); err != nil {
		return fmt.Errorf("%w; its last words:\n%s", err, l.lastWords())
	}
	return l.save()
}

// start starts the daemon in a session of its own, so that it outlives the
// command and the terminal.
func (l *Lab) start(binary string) (ended <-chan error, err error) {
	log, err := os.OpenFile(filepath.Join(dir(l.Name), "daemon.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c := exec.Command(binary, "serve", "--config", configFile(l.Name))
	c.Dir, c.Stdout, c.Stderr = "/", log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return nil, err
	}
	l.PID = c.Process.Pid
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	return done, nil
}

// await waits until the daemon says that its link stands.
func (l *Lab) await(ctx context.Context, ended <-chan error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-ended:
			return fmt.Errorf("the daemon ended: %v", err)
		case <-tick.C:
			if l.API == "" {
				l.API = running(l.Name).API
			}
			if l.API != "" && l.stands(ctx) {
				return nil
			}
		}
	}
}

// running reads what the lab's daemon says of itself.
func running(name string) (d store.Daemon) {
	if b, err := os.ReadFile(filepath.Join(dir(name), "state", store.DaemonFile)); err == nil {
		_ = json.Unmarshal(b, &d) // half a file is no daemon yet
	}
	return d
}

// stands reports whether the daemon says that frames pass as asked.
func (l *Lab) stands(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.API+"/api/v1/status", nil)
	if err != nil {
		return false
	}
	r.Header.Set("Authorization", "Bearer "+l.Token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var s appliance.State
	if answer.StatusCode != http.StatusOK || json.NewDecoder(answer.Body).Decode(&s) != nil || len(s.Pairs) == 0 {
		return false
	}
	if l.NsDevice != "" && !slices.ContainsFunc(s.Paths, func(p bundle.PathState) bool { return p.Up }) {
		return false // the relays are being started
	}
	w := s.Pairs[0].Word
	return w == appliance.Emulating || w == appliance.Bypassing || w == appliance.Cutting
}

// lastWords are the last lines of the daemon's log, indented.
func (l *Lab) lastWords() string {
	b, err := os.ReadFile(filepath.Join(dir(l.Name), "daemon.log"))
	if err != nil {
		return ""
	}
	lines := strings.Split(string(bytes.TrimSpace(b)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-10):], "\n  ")
}
