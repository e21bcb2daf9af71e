// Package congestion is the shelf of congestion controls that a leg of a
// split connection may use: BPF struct_ops programs of the laws in pep/cwnd,
// and the kernel's own beside them.
//
//	Load ──▶ Shelf ──Use(fd, "hybla")──▶ setsockopt(TCP_CONGESTION, "fl1a2b_hybla")
//	engine ─▶ Feed.Tell(link, way, capacity) ─▶ shared BPF array ─▶ xlayer, at the next packet
//
// One ELF per law: programs are paired with struct_ops maps by type and member
// only, so two laws in one object would get each other's programs. The
// registry of controls is one for all network namespaces of a machine;
// therefore a shelf registers its laws under a tag of its own, and several
// shelves can stand at once. A law that this kernel cannot load is named with
// its reason, and Use falls back to a control that is there.
package congestion

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types -type ask xlayer bpf/xlayer.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types -type step hybla bpf/hybla.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types lia bpf/lia.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types olia bpf/olia.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types balia bpf/balia.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types wvegas bpf/wvegas.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types predict bpf/predict.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types -type jump -type saved resume bpf/resume.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu

// laws are the BPF laws and where their descriptions come from.
var laws = []struct {
	name string
	spec func() (*ebpf.CollectionSpec, error)
}{
	{"xlayer", loadXlayer}, {"hybla", loadHybla}, {"lia", loadLia}, {"olia", loadOlia},
	{"balia", loadBalia}, {"wvegas", loadWvegas}, {"predict", loadPredict},
	{"resume", loadResume},
}

// Kernel lists the kernel's own controls that a leg may use.
var Kernel = []string{"reno", "cubic", "bbr"}

// Names lists every control that a rule may ask for.
func Names() []string {
	names := slices.Clone(Kernel)
	for _, l := range laws {
		names = append(names, l.name)
	}
	return names
}

// Shelf is the loaded laws. Sockets that use one keep it after Close.
type Shelf struct {
	tag     string
	feed    *Feed
	older   bool // registers as kernels before 6.4 do it
	mu      sync.RWMutex
	laws    map[string]*law
	missing map[string]error

	withheld []string
}

type law struct {
	collection *ebpf.Collection
	unregister func() error
}

// Open returns an empty shelf, whose xlayer follows feed.
func Open(feed *Feed) *Shelf {
	return &Shelf{feed: feed, older: !haveLinks(), tag: tagOf(os.Getpid()), laws: map[string]*law{}, missing: map[string]error{}}
}

// OpenOlder returns one that registers its laws as kernels before 6.4 do it,
// even where there are links.
func OpenOlder(feed *Feed) *Shelf {
	s := Open(feed)
	s.older = true
	return s
}

// Withhold has laws taken for some that this kernel cannot load.
func (s *Shelf) Withhold(names []string) {
	for _, n := range names {
		s.missing[n] = errWithheld
	}
	s.withheld = names
}

var errWithheld = errors.New("withheld, as from a kernel that cannot load it")

// Load loads and registers those of the named controls that are laws of ours
// and not yet there. Missing tells which could not be loaded and why. Not for
// use by several goroutines at once.
func (s *Shelf) Load(names ...string) {
	for _, l := range laws {
		if !slices.Contains(names, l.name) || s.laws[l.name] != nil || slices.Contains(s.withheld, l.name) {
			continue
		}
		loaded, err := s.load(l.name, l.spec)
		s.mu.Lock()
		if err != nil {
			s.missing[l.name] = err
		} else {
			delete(s.missing, l.name)
			s.laws[l.name] = loaded
		}
		s.mu.Unlock()
	}
}

// load puts one law into the kernel under its tagged name.
func (s *Shelf) load(name string, describe func() (*ebpf.CollectionSpec, error)) (*law, error) {
	spec, err := describe()
	if err != nil {
		return nil, fmt.Errorf("read law %s: %w", name, err)
	}
	if err := rename(spec.Maps[name], s.tag+name); err != nil {
		return nil, fmt.Errorf("name law %s: %w", name, err)
	}
	var options ebpf.CollectionOptions
	if spec.Maps[feedMap] != nil && s.feed != nil {
		options.MapReplacements = map[string]*ebpf.Map{feedMap: s.feed.m}
	}
	if s.older {
		return loadOlder(spec, options, name)
	}
	c, err := ebpf.NewCollectionWithOptions(spec, options)
	if err != nil {
		return nil, fmt.Errorf("load law %s: %w", name, err)
	}
	l, err := link.AttachStructOps(link.StructOpsOptions{Map: c.Maps[name]})
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("register law %s: %w", name, err)
	}
	return &law{c, l.Close}, nil
}

// nameSize is TCP_CA_NAME_MAX.
const nameSize = 16

// rename writes the control's name into the struct_ops value.
func rename(m *ebpf.MapSpec, name string) error {
	if len(name) >= nameSize {
		return fmt.Errorf("%q is longer than %d bytes", name, nameSize-1)
	}
	ops, ok := m.Value.(*btf.Struct)
	if !ok {
		return fmt.Errorf("value is %T, want a struct", m.Value)
	}
	value := m.Contents[0].Value.([]byte)
	for _, member := range ops.Members {
		if member.Name == "name" {
			field := value[member.Offset.Bytes() : member.Offset.Bytes()+nameSize]
			clear(field)
			copy(field, name)
			return nil
		}
	}
	return errors.New("tcp_congestion_ops has no member name")
}

// Missing returns why laws are not there, by name.
func (s *Shelf) Missing() map[string]error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.missing)
}

// law returns a loaded law.
func (s *Shelf) law(name string) (*law, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l, ok := s.laws[name]
	return l, ok
}

// Close takes the laws off the registry.
func (s *Shelf) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for name, l := range s.laws {
		if err := l.unregister(); err != nil {
			errs = append(errs, fmt.Errorf("unregister law %s: %w", name, err))
		}
		l.collection.Close()
	}
	return errors.Join(errs...)
}

// Place says where a socket belongs: which capacity it follows and how (for
// xlayer), and which subflow of which connection it is (for the coupled laws;
// group 0 is alone, group below 4096, slot below 8).
type Place struct {
	Column      uint32  // of the feed
	Path        uint32  // of what resume has saved, a number below 512
	Gain        float64 // window beyond rate x RTT; 0 is 1.25
	Floor       uint32  // of the window, packets; 0 is 10
	Overhead    uint32  // bytes a frame has beyond the payload; 0 is 66
	Group, Slot uint32
}

// Use makes control name the congestion control of socket fd. If the law is
// missing it takes fallback, a control of the kernel's, and returns what the
// socket now uses.
func (s *Shelf) Use(fd int, name, fallback string, at Place) (used string, err error) {
	kernel := name
	if l, ok := s.law(name); ok {
		if err := l.place(fd, at); err != nil {
			return "", fmt.Errorf("place socket for law %s: %w", name, err)
		}
		kernel = s.tag + name
	} else if !slices.Contains(Kernel, name) {
		if !slices.Contains(Names(), name) {
			return "", fmt.Errorf("congestion control %q: want one of %s", name, strings.Join(Names(), ", "))
		}
		name, kernel = fallback, fallback
	}
	if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, kernel); err != nil {
		return "", fmt.Errorf("set congestion control %s: %w", kernel, err)
	}
	return name, nil
}

// place tells a law about a socket before the law's init runs on it.
func (l *law) place(fd int, at Place) error {
	if m := l.collection.Maps["links"]; m != nil {
		gain := at.Gain
		if gain == 0 {
			gain = 1.25
		}
		return m.Put(int32(fd), [4]uint32{at.Column, uint32(gain * 256), orDefault(at.Floor, 10), orDefault(at.Overhead, 66)})
	}
	if m := l.collection.Maps["resuming"]; m != nil {
		return m.Put(int32(fd), append(binary.NativeEndian.AppendUint32(nil, at.Path), make([]byte, m.ValueSize()-4)...))
	}
	return l.collection.Maps["members"].Put(int32(fd), [2]uint32{at.Group, at.Slot})
}

// Law returns the name of the law behind a kernel control's name, as
// TCP_INFO and ss show it, and the name itself for the kernel's own.
func (s *Shelf) Law(kernel string) string { return strings.TrimPrefix(kernel, s.tag) }

func orDefault(v, value uint32) uint32 {
	if v == 0 {
		return value
	}
	return v
}
