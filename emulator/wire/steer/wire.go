package steer

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// Attach says how the program sits on a port.
type Attach string

// The ways to attach.
const (
	Auto    Attach = "auto"    // native where the driver has it, else generic
	Native  Attach = "native"  // in the driver, before the kernel's stack
	Generic Attach = "generic" // at the entry of the kernel's stack
)

// Queues is how many receive queues of a port the program can serve.
const Queues = 64

// Port is a network interface in the namespace of the caller.
type Port struct {
	Name  string
	Index int
}

// Options of Open.
type Options struct {
	Dir    string  // where to pin, on a BPF file system; made if missing. "" pins nothing
	Ports  [2]Port // A, B
	Attach Attach  // "" is Auto
}

// Wire is the pinned program, as one process holds it. Closing it leaves the
// pins.
type Wire struct {
	dir      string
	objects  programObjects
	links    [2]link.Link
	modes    [2]Attach
	whys     [2]string // why generic, where not asked for
	settings *settings
	taken    bool
	lock     *os.File
}

// Open loads steer and attaches it to both ports, or takes over what an
// earlier process pinned. While it is open another Open of the same
// directory is an error.
func Open(o Options) (*Wire, error) {
	if err := Privileged(); err != nil {
		return nil, fmt.Errorf("load steer: %w", err)
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("load steer: lift the memory lock limit (want CAP_SYS_RESOURCE): %w", err)
	}
	w := &Wire{dir: o.Dir}
	if o.Dir != "" {
		if err := makeDir(o.Dir); err != nil {
			return nil, err
		}
		var err error
		if w.lock, err = lockDir(o.Dir); err != nil {
			return nil, err
		}
	}
	if err := w.open(o); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *Wire) open(o Options) error {
	err := w.load()
	if errors.Is(err, ebpf.ErrMapIncompatible) {
		// Another version pinned these. Nothing to take over.
		if err := removePins(w.dir); err != nil {
			return err
		}
		err = w.load()
	}
	if err != nil {
		return err
	}
	if w.settings, err = mapSettings(w.objects.Configs); err != nil {
		return err
	}
	for i, p := range o.Ports {
		if err := w.objects.Others.Put(uint32(i), uint32(o.Ports[1-i].Index)); err != nil {
			return fmt.Errorf("port %s as target of a redirect: %w", o.Ports[1-i].Name, err)
		}
		if err := w.attach(i, p, o.Ports[1-i], o.Attach); err != nil {
			return err
		}
	}
	return nil
}

// load loads programs and maps; maps that are pinned already are used again.
func (w *Wire) load() error {
	spec, err := loadProgram()
	if err != nil {
		return fmt.Errorf("load steer: %w", err)
	}
	for name, m := range spec.Maps {
		if name != "trials" && w.dir != "" {
			m.Pinning = ebpf.PinByName
		}
	}
	err = spec.LoadAndAssign(&w.objects, &ebpf.CollectionOptions{Maps: ebpf.MapOptions{PinPath: w.dir}})
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("load steer: no privilege (want root, or CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW): %w", err)
	}
	if err != nil {
		return fmt.Errorf("load steer: %w", err)
	}
	return nil
}

func (w *Wire) program(port int) *ebpf.Program {
	return [2]*ebpf.Program{w.objects.SteerA, w.objects.SteerB}[port]
}

// Connect makes the socket fd the one that takes the frames of a port's
// queue in mode Emulate. When the socket is closed the kernel forgets it.
func (w *Wire) Connect(port, queue, fd int) error {
	if queue >= Queues {
		return fmt.Errorf("queue %d of port %d: want below %d", queue, port, Queues)
	}
	if err := w.objects.Sockets.Put(uint32(port*Queues+queue), uint32(fd)); err != nil {
		return fmt.Errorf("connect the engine to queue %d of port %d: %w", queue, port, err)
	}
	return nil
}

// Attached returns how the program sits on port 0 or 1: Native or Generic.
func (w *Wire) Attached(port int) Attach { return w.modes[port] }

// Why says why the program sits on port 0 or 1 in generic mode, though it was
// not asked to; "" where it does not, or was.
func (w *Wire) Why(port int) string { return w.whys[port] }

// TakenOver reports whether an earlier process's attachment was taken over.
func (w *Wire) TakenOver() bool { return w.taken }

// Close lets go of the pinned program and leaves it where it is. One that is
// not pinned goes.
func (w *Wire) Close() error {
	var all error
	for _, l := range w.links {
		if l != nil {
			all = errors.Join(all, l.Close())
		}
	}
	if w.settings != nil {
		all = errors.Join(all, w.settings.close())
	}
	if w.lock != nil {
		all = errors.Join(all, w.lock.Close())
	}
	return errors.Join(all, w.objects.Close())
}
