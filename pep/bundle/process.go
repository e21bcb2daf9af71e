package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The daemon runs a bundle as a process of its own and speaks with it in JSON
// documents over a socket that the process inherits: one answer to each
// request, in order.

type request struct {
	Verb   string    `json:"verb"` // open, configure, paths, status, stop
	Site   *Site     `json:"site,omitempty"`
	Config *Carriage `json:"config,omitempty"`
	Offset int       `json:"offset,omitempty"`
	Most   int       `json:"most,omitempty"`
}

type answer struct {
	Error  string      `json:"error,omitempty"`
	Paths  []PathState `json:"paths,omitempty"`
	Status *Status     `json:"status,omitempty"`
}

// Process is a bundle as the daemon sees it.
type Process struct {
	mu      sync.Mutex
	command *exec.Cmd
	conn    net.Conn
	decoder *json.Decoder
	encoder *json.Encoder
	done    chan struct{}
}

// Start runs command (this program in its role as a bundle; the socket is its
// file descriptor 3), opens the site and configures it.
func Start(command *exec.Cmd, s Site, c Carriage) (*Process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket for the relays: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "bundle")
	ours := os.NewFile(uintptr(pair[0]), "daemon")
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		theirs.Close()
		return nil, fmt.Errorf("socket for the relays: %w", err)
	}
	command.ExtraFiles = []*os.File{theirs}
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &Process{command: command, conn: conn, decoder: json.NewDecoder(conn), encoder: json.NewEncoder(conn), done: make(chan struct{})}
	err = p.spawn()
	theirs.Close() // or its end would not be heard of
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("start the relays: %w", err)
	}
	_, err = p.ask(request{Verb: "open", Site: &s})
	if err == nil {
		err = p.Configure(c)
	}
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// spawn starts the command on a thread that lives as long: Pdeathsig is about
// the thread.
func (p *Process) spawn() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		started <- err
		if err == nil {
			_ = p.command.Wait() // Done says that it ended; its log says why
			close(p.done)
		}
	}()
	return <-started
}

// patience bounds how long an answer may take.
const patience = 20 * time.Second

func (p *Process) ask(q request) (a answer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return a, fmt.Errorf("ask the relays to %s: %w", q.Verb, err)
	}
	if err := p.encoder.Encode(q); err != nil {
		return a, fmt.Errorf("ask the relays to %s: %w", q.Verb, err)
	}
	if err := p.decoder.Decode(&a); err != nil {
		return a, fmt.Errorf("ask the relays to %s: %w", q.Verb, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// Configure is Bundle.Configure.
func (p *Process) Configure(c Carriage) error {
	_, err := p.ask(request{Verb: "configure", Config: &c})
	return err
}

// Paths is Bundle.Paths.
func (p *Process) Paths() ([]PathState, error) {
	a, err := p.ask(request{Verb: "paths"})
	return a.Paths, err
}

// Status is Bundle.Status.
func (p *Process) Status(offset, most int) (Status, error) {
	a, err := p.ask(request{Verb: "status", Offset: offset, Most: most})
	if err != nil {
		return Status{}, err
	}
	return *a.Status, nil
}

// PID is the process's number.
func (p *Process) PID() int { return p.command.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop ends it: connections that are carried are reset, everything passes on
// its way.
func (p *Process) Stop() error {
	select {
	case <-p.done:
		p.conn.Close()
		return nil
	default:
	}
	p.conn.Close() // which tells it
	select {
	case <-p.done:
		return nil
	case <-time.After(5 * time.Second):
		err := p.command.Process.Kill()
		<-p.done
		return err
	}
}

// Main is the role of the process: it serves the daemon on rw until the
// daemon goes away.
func Main(rw io.ReadWriteCloser, log *slog.Logger) error {
	decoder, encoder := json.NewDecoder(rw), json.NewEncoder(rw)
	var b *Bundle
	for {
		var q request
		if decoder.Decode(&q) != nil {
			if b == nil {
				return nil
			}
			return b.Close()
		}
		var a answer
		var err error
		switch {
		case q.Verb == "open" && b == nil && q.Site != nil:
			var opened *Bundle
			if opened, err = Open(*q.Site, log); err == nil {
				b = opened
			}
		case b == nil:
			err = fmt.Errorf("%s before open", q.Verb)
		default:
			a, err = b.do(q)
		}
		if err != nil {
			a.Error = err.Error()
		}
		_ = encoder.Encode(a) // a daemon that is gone shows at the next request
	}
}

// do answers a request.
func (b *Bundle) do(q request) (a answer, err error) {
	switch {
	case q.Verb == "configure" && q.Config != nil:
		return a, b.Configure(*q.Config)
	case q.Verb == "paths":
		a.Paths = b.Paths()
		return a, nil
	case q.Verb == "status":
		s, err := b.Status(q.Offset, q.Most)
		a.Status = &s
		return a, err
	}
	return a, fmt.Errorf("request %q: want open, configure, paths or status", q.Verb)
}
