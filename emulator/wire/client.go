package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"farlink/emulator/netspace"
	"farlink/emulator/wire/steer"

	"golang.org/x/sys/unix"
)

// Engine is the daemon's side of a running engine. Its methods may be called
// from any goroutine.
type Engine struct {
	config Config
	report Report
	page   *page
	pipe   *pipe
	done   chan struct{} // closed when the process has ended
	heard  chan struct{} // closed when its last answer has been read
	err    error         // why; valid once done
	kill   func() error

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan answer
}

// Start starts an engine on the two ports and waits until frames flow
// through it. The engine ends with this process, with Close, or with ctx;
// the pair then falls to its fallback mode by itself.
func Start(ctx context.Context, c Config) (*Engine, error) {
	c, err := c.filled()
	if err != nil {
		return nil, err
	}
	e := &Engine{config: c, done: make(chan struct{}), heard: make(chan struct{}), waiting: map[uint64]chan answer{}}
	if err := e.spawn(ctx); err != nil {
		return nil, fmt.Errorf("start engine of pair %s: %w", c.Pair, err)
	}
	go e.listen()
	a, err := e.ask(ask{Verb: verbStart, Conf: c, Mode: uint32(steer.Emulate)})
	if err != nil {
		e.Close()
		return nil, fmt.Errorf("start engine of pair %s: %w", c.Pair, err)
	}
	e.report = *a.Report
	return e, nil
}

// spawn runs this binary again as an engine.
func (e *Engine) spawn(ctx context.Context) error {
	shared, err := newShared()
	if err != nil {
		return err
	}
	defer shared.Close()
	if e.page, err = mapShared(shared); err != nil {
		return err
	}
	runtime.AddCleanup(e, (*page).unmap, e.page)
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	unix.SetNonblock(ends[0], true)
	e.pipe = &pipe{rw: os.NewFile(uintptr(ends[0]), "control")}
	far := os.NewFile(uintptr(ends[1]), "control")
	defer far.Close()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{"farlink-wire", e.config.Pair}
	// Preemption by signal would only disturb the loops: they call
	// functions all the time, where the runtime can stop them as well.
	cmd.Env = append(os.Environ(), role, "GODEBUG=asyncpreemptoff=1")
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{far, shared}
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	started := make(chan error)
	go netspace.Thread(func() error { e.attend(cmd, started); return nil })
	return <-started
}

// attend starts the process from a thread that has entered the namespace and
// taken the priority, and stays on it until the process ends: the kernel
// takes the end of the thread for the end of the parent.
func (e *Engine) attend(cmd *exec.Cmd, started chan<- error) {
	if err := e.enter(); err != nil {
		started <- err
		return
	}
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	e.kill = cmd.Process.Kill
	started <- nil
	err := cmd.Wait()
	if err == nil {
		err = errors.New("engine stopped")
	}
	e.mu.Lock()
	e.err = err
	e.mu.Unlock()
	close(e.done)
}

func (e *Engine) enter() error {
	if e.config.Netns != "" {
		if err := netspace.Enter(e.config.Netns); err != nil {
			return err
		}
	}
	if e.config.Priority > 0 {
		// Where it is not allowed the engine runs without; Report says so.
		_ = setPriority(below(e.config.Priority))
	}
	return nil
}

// listen hands answers to those who asked.
func (e *Engine) listen() {
	defer close(e.heard)
	for {
		var a answer
		if err := e.pipe.read(&a); err != nil {
			return
		}
		e.mu.Lock()
		c := e.waiting[a.ID]
		delete(e.waiting, a.ID)
		e.mu.Unlock()
		if c != nil {
			c <- a
		}
	}
}

// ask sends an ask and waits for its answer or for the engine's end.
func (e *Engine) ask(a ask) (answer, error) {
	c := make(chan answer, 1)
	e.mu.Lock()
	e.next++
	a.ID = e.next
	e.waiting[a.ID] = c
	e.mu.Unlock()
	if err := e.pipe.write(a); err != nil {
		return answer{}, err
	}
	select {
	case r := <-c:
		return r, r.err()
	case <-e.heard:
	}
	select {
	case r := <-c: // its last words, which are there by now if it had any
		return r, r.err()
	default:
	}
	<-e.done
	return answer{}, fmt.Errorf("engine of pair %s ended: %w", e.config.Pair, e.Err())
}

// Report returns how the engine found ports and machine when it started.
func (e *Engine) Report() Report { return e.report }

// Apply changes both ways to the document's emulator while frames flow: none
// is lost or overtaken. It returns when both have changed.
func (e *Engine) Apply(doc []byte) (Applied, error) {
	return e.apply(verbApply, doc)
}

// Run begins a new run with the document: what is inside is dropped, time
// and packet numbers begin at 0, and so does the book.
func (e *Engine) Run(doc []byte) (Applied, error) {
	return e.apply(verbRun, doc)
}

func (e *Engine) apply(v verb, doc []byte) (Applied, error) {
	a, err := e.ask(ask{Verb: v, Doc: doc})
	if err != nil {
		return Applied{}, err
	}
	return *a.Applied, nil
}

// SetMode sets what happens to the next frames. Those inside the link go on.
func (e *Engine) SetMode(m steer.Mode) error {
	_, err := e.ask(ask{Verb: verbMode, Mode: uint32(m)})
	return err
}

// Memory asks what the engine's own runtime did: how much it allocated.
func (e *Engine) Memory() (Memory, error) {
	a, err := e.ask(ask{Verb: verbHeap})
	if err != nil {
		return Memory{}, err
	}
	return *a.Memory, nil
}

// Done is closed when the engine's process has ended, Err then says why.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err returns why the engine ended, nil while it runs.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// FellBack returns how many frames met the fallback mode because an engine
// was gone or hung, from both ports, since the program stands on them: it
// counts on from one engine to the next, and also while there is none. It is
// 0 when nothing is pinned.
func (e *Engine) FellBack() uint64 {
	in, err := steer.Inspect(steer.Dir(e.config.Pair))
	if err != nil {
		return 0
	}
	return in.Counts[0].FellBack.Frames + in.Counts[1].FellBack.Frames
}

// Close ends the engine, by force if it does not answer, and leaves the pair
// in its fallback mode. Remove takes the rest away.
func (e *Engine) Close() error {
	force := time.AfterFunc(5*time.Second, func() { e.kill() }) // a kernel under load takes two to free the sockets
	defer force.Stop()
	_, err := e.ask(ask{Verb: verbStop})
	e.pipe.rw.Close() // an engine that did not hear it ends by this
	<-e.done
	return err
}

// Remove takes the pair called name out of the kernel: its ports are as they
// were before the first Start.
func Remove(name string) error { return steer.Remove(steer.Dir(name)) }
