package pep

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/netspace"
)

// Process is a proxy as the daemon sees it.
type Process struct {
	command *exec.Cmd
	conn    net.Conn
	done    chan struct{}
	err     error

	mu      sync.Mutex // of what follows
	encoder *json.Encoder
	asked   uint64 // requests so far
	waiting map[uint64]chan answer
}

// Start runs command (this program in its proxy role; the socket is its file
// descriptor 3) in the place's namespace and opens the proxy there.
func Start(command *exec.Cmd, at Place, c Config) (*Process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket for the proxy: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "proxy")
	defer theirs.Close()
	ours := os.NewFile(uintptr(pair[0]), "daemon")
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, fmt.Errorf("socket for the proxy: %w", err)
	}
	command.ExtraFiles = []*os.File{theirs}
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &Process{command: command, conn: conn, encoder: json.NewEncoder(conn), done: make(chan struct{}), waiting: map[uint64]chan answer{}}
	if err := p.spawn(at.Netns); err != nil {
		conn.Close()
		return nil, fmt.Errorf("start the proxy in %s: %w", at.Netns, err)
	}
	go p.hear()
	if _, err := p.ask(request{Verb: "start", Place: at, Config: c}); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// spawn starts the command on a thread of the namespace, which ends with it:
// Pdeathsig is about the thread.
func (p *Process) spawn(name string) error {
	started := make(chan error, 1)
	go netspace.Thread(func() error {
		err := netspace.Enter(name)
		if err == nil {
			err = p.command.Start()
		}
		started <- err
		if err == nil {
			p.err = p.command.Wait()
			close(p.done)
		}
		return err
	})
	return <-started
}

// hear gives answers to those who wait for them.
func (p *Process) hear() {
	for decoder := json.NewDecoder(p.conn); ; {
		var a answer
		err := decoder.Decode(&a)
		p.mu.Lock()
		if err != nil {
			for _, w := range p.waiting {
				close(w)
			}
			p.waiting = nil
			p.mu.Unlock()
			return
		}
		if w := p.waiting[a.Number]; w != nil {
			delete(p.waiting, a.Number)
			w <- a
		}
		p.mu.Unlock()
	}
}

// How long an answer may take, by what is asked. A proxy that does not answer
// in time may answer later, or hang; what is shown of it must not wait.
const (
	patienceForWork    = 20 * time.Second
	patienceForFigures = 700 * time.Millisecond
	patienceForEnd     = time.Second // it is killed if it does not answer
)

var errSilent = errors.New("the proxy does not answer")

func (p *Process) ask(q request) (answer, error) {
	patience := patienceForWork
	switch q.Verb {
	case "stop":
		patience = patienceForEnd
	case "status", "flows":
		patience = patienceForFigures
	}
	a, err := p.put(q, patience)
	if err == nil && a.Error != "" {
		return a, errors.New(a.Error)
	}
	if err != nil {
		return a, fmt.Errorf("ask the proxy to %s: %w", q.Verb, err)
	}
	return a, nil
}

// put sends a request and waits for its answer.
func (p *Process) put(q request, patience time.Duration) (answer, error) {
	answered := make(chan answer, 1)
	p.mu.Lock()
	if p.waiting == nil {
		p.mu.Unlock()
		return answer{}, net.ErrClosed
	}
	p.asked++
	q.Number = p.asked
	p.waiting[q.Number] = answered
	// The socket has room for many requests: it is full only when nobody
	// has read for long.
	err := errors.Join(p.conn.SetWriteDeadline(time.Now().Add(patienceForFigures/2)), p.encoder.Encode(q))
	p.mu.Unlock()
	if err == nil {
		patient := time.NewTimer(patience)
		defer patient.Stop()
		select {
		case a, ok := <-answered:
			if !ok {
				return a, net.ErrClosed
			}
			return a, nil
		case <-patient.C:
			err = fmt.Errorf("%w: nothing came for %v", errSilent, patience)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, q.Number)
	return answer{}, err
}

// Kill ends the process by force.
func (p *Process) Kill() error { return p.command.Process.Kill() }

// Configure puts a configuration in force.
func (p *Process) Configure(c Config) error {
	_, err := p.ask(request{Verb: "configure", Config: c})
	return err
}

// Grant tells xlayer the capacity of links.
func (p *Process) Grant(g []Grant) error {
	_, err := p.ask(request{Verb: "grant", Grants: g})
	return err
}

// Status returns the proxy's figures.
func (p *Process) Status() (Status, error) {
	a, err := p.ask(request{Verb: "status"})
	if err != nil {
		return Status{}, err
	}
	return *a.Status, nil
}

// Flows lists split connections, oldest first, and how many there are.
func (p *Process) Flows(offset, most int) ([]Flow, int, error) {
	a, err := p.ask(request{Verb: "flows", Offset: offset, Most: most})
	return a.Flows, a.Total, err
}

// PID is the process's number.
func (p *Process) PID() int { return p.command.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop ends the proxy: split connections are reset, the interception stays a
// wire.
func (p *Process) Stop() error {
	select {
	case <-p.done: // gone already: there is nothing to stop
		p.conn.Close()
		return nil
	default:
	}
	_, err := p.ask(request{Verb: "stop"})
	p.conn.Close()
	select {
	case <-p.done:
	case <-time.After(2 * time.Second):
		err = errors.Join(err, p.command.Process.Kill())
		<-p.done
	}
	return err
}
