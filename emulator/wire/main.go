package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/wire/steer"

	"golang.org/x/sys/unix"
)

// role is the environment variable that makes the binary an engine.
const role = "FARLINK_ROLE=wire"

// IsEngine reports whether this process was started as an engine; then main
// calls Main and nothing else.
func IsEngine() bool { return os.Getenv("FARLINK_ROLE") == "wire" }

// Main is the engine's process. It ends with the daemon that started it and
// returns the status to exit with. open may be nil: then nothing is told.
func Main(build Build, open OpenFeed) int {
	roomForThreads()
	debug.SetGCPercent(-1) // tidy collects, outside the loops' way
	// The daemon ends its engine by the socket; a terminal's and a service
	// manager's signals are the daemon's to take.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	p := &pipe{rw: os.NewFile(3, "control")}
	s := &server{pipe: p, build: build, open: open}
	if err := s.serve(); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "engine:", err)
		return 1
	}
	return 0
}

// server answers the daemon's asks one after the other.
type server struct {
	pipe  *pipe
	build Build
	open  OpenFeed
	m     *machine
	heap  uint64
}

func (s *server) serve() error {
	for {
		var a ask
		if err := s.pipe.read(&a); err != nil {
			return err
		}
		r := answer{ID: a.ID}
		if err := s.handle(&a, &r); err != nil {
			r.Error = err.Error()
		}
		if err := s.pipe.write(r); err != nil {
			return err
		}
		if a.Verb == verbStop || s.m == nil {
			return nil
		}
		s.tidy()
	}
}

func (s *server) handle(a *ask, r *answer) (err error) {
	if (s.m == nil) != (a.Verb == verbStart) {
		return fmt.Errorf("%s: want start first and once", a.Verb)
	}
	switch a.Verb {
	case verbStart:
		r.Report, err = s.start(a)
	case verbApply, verbRun:
		r.Applied, err = s.m.apply(a.Doc, a.Verb == verbRun)
	case verbMode:
		s.m.wire.SetMode(steer.Mode(a.Mode))
	case verbHeap:
		r.Memory = heap()
	case verbStop:
		s.m.stop()
		s.m.close()
	default:
		err = fmt.Errorf("unknown verb %q", a.Verb)
	}
	return err
}

func (s *server) start(a *ask) (*Report, error) {
	page, err := mapShared(os.NewFile(4, "shared"))
	if err != nil {
		return nil, err
	}
	m, err := newMachine(a.Conf, page, s.build, s.open)
	if err != nil {
		return nil, err
	}
	r := report(m)
	if err := m.start(); err != nil {
		return nil, err
	}
	m.wire.SetMode(steer.Mode(a.Mode))
	s.m = m
	return r, nil
}

// apply builds the document's emulator aside and then switches both loops.
func (m *machine) apply(doc []byte, fresh bool) (*Applied, error) {
	begun := nanotime()
	em, err := m.emulator(doc)
	if err != nil {
		return nil, err
	}
	built := nanotime()
	o := &order{em: em, locked: em.Coupled() || m.em.Coupled()}
	if fresh {
		o.epoch = built
	}
	o.give(m.loops)
	if fresh {
		m.page.Epoch = built
		m.page.Runs++
	}
	m.em = em
	last := max(o.took[0].Load(), o.took[1].Load())
	return &Applied{
		At: time.Now().Add(-time.Duration(nanotime() - last)), Time: link.Time(last - m.page.Epoch),
		Switch: link.Duration(last - built), Build: link.Duration(built - begun),
		NotEffective: m.notEffective(),
	}, nil
}

// notEffective says why frames do not reach the emulator.
func (m *machine) notEffective() string {
	if mode := m.wire.Mode(); mode != steer.Emulate {
		return fmt.Sprintf("the pair is in mode %v: frames do not pass the link", mode)
	}
	for _, w := range link.Ways {
		if m.page.Ways[w].Down != 0 {
			return fmt.Sprintf("port %s has no link: no frame leaves by it", m.ports[1-portOf(w)].Name)
		}
	}
	return ""
}

func heap() *Memory {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return &Memory{Allocations: m.Mallocs, HeapBytes: m.HeapAlloc, Collections: m.NumGC}
}

// tidy collects garbage once old emulators and documents have piled up. The
// loops meet two short stops and no more.
func (s *server) tidy() {
	if heap().HeapBytes > s.heap+64<<20 {
		runtime.GC()
		s.heap = heap().HeapBytes
	}
}
