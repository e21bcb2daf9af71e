package pep

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Process is a proxy as the daemon sees it.
type Process struct {
	mu      sync.Mutex
	command *exec.Cmd
	conn    net.Conn
	decoder *json.Decoder
	encoder *json.Encoder
	done    chan struct{}
	err     error
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
	p := &Process{command: command, conn: conn, decoder: json.NewDecoder(conn), encoder: json.NewEncoder(conn), done: make(chan struct{})}
	if err := p.spawn(at.Netns); err != nil {
		conn.Close()
		return nil, fmt.Errorf("start the proxy in %s: %w", at.Netns, err)
	}
	if _, err := p.ask(request{Verb: "start", Place: at, Config: c}); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// spawn starts the command on a thread of the namespace, which ends with it:
// Pdeathsig is about the thread.
func (p *Process) spawn(name string) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for ever: the thread is not this namespace's any more
		ns, err := netns.GetFromName(name)
		if err == nil {
			defer ns.Close()
			err = netns.Set(ns)
		}
		if err == nil {
			err = p.command.Start()
		}
		started <- err
		if err == nil {
			p.err = p.command.Wait()
			close(p.done)
		}
	}()
	return <-started
}

// patienceWithProxy bounds how long an answer may take.
const patienceWithProxy = 20 * time.Second

func (p *Process) ask(q request) (a answer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	patience := patienceWithProxy
	if q.Verb == "stop" {
		patience = time.Second // it is killed if it does not answer
	}
	if err := p.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return a, fmt.Errorf("ask the proxy to %s: %w", q.Verb, err)
	}
	if err := p.encoder.Encode(q); err != nil {
		return a, fmt.Errorf("ask the proxy to %s: %w", q.Verb, err)
	}
	if err := p.decoder.Decode(&a); err != nil {
		return a, fmt.Errorf("ask the proxy to %s: %w", q.Verb, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

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
