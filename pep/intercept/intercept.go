package intercept

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
)

//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types -type tuple -type flow -type port -type rule -type orders -type live -type held intercept bpf/intercept.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu

// version is part of the pin directory: pinned maps keep the layout with
// which they were made.
const version = "4"

// Space is the interception of one namespace, seen from inside it.
type Space struct {
	dir      string
	objects  interceptObjects
	lan, wan *net.Interface
	older    bool // attached as kernels before 6.6 do it

	mu   sync.Mutex
	live interceptLive // what the programs were told last
}

// Open attaches interception to the two ports of the calling thread's network
// namespace, which Prepare has made ready, or takes over what is attached
// already. pins is a directory on a BPF file system. older asks for clsact
// even where the kernel has tcx.
func Open(pins, lan, wan string, older bool) (*Space, error) {
	s := &Space{older: older, dir: filepath.Join(pins, "v"+version)}
	for _, p := range []struct {
		at   **net.Interface
		name string
	}{{&s.lan, lan}, {&s.wan, wan}} {
		i, err := net.InterfaceByName(p.name)
		if err != nil {
			return nil, fmt.Errorf("port %s: %w", p.name, err)
		}
		*p.at = i
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("pin directory of interception: %w", err)
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	if err := errors.Join(s.unhold(), s.attach(), removeOthers(pins)); err != nil {
		return nil, errors.Join(err, s.objects.Close())
	}
	return s, nil
}

// removeOthers takes off what programs of another version left: ours stand
// behind theirs by now, so no frame is lost.
func removeOthers(pins string) error {
	others, err := filepath.Glob(filepath.Join(pins, "v*"))
	for _, dir := range others {
		if dir != filepath.Join(pins, "v"+version) {
			err = errors.Join(err, remove(dir))
		}
	}
	return err
}

// shared lists the maps that outlive a process.
var shared = []string{"flows", "opening", "ports", "rules", "settings", "alive", "counts", "listeners"}

func (s *Space) load() error {
	spec, err := loadIntercept()
	if err != nil {
		return fmt.Errorf("read interception: %w", err)
	}
	for _, name := range shared {
		spec.Maps[name].Pinning = ebpf.PinByName
	}
	options := &ebpf.CollectionOptions{Maps: ebpf.MapOptions{PinPath: s.dir}}
	if err := spec.LoadAndAssign(&s.objects, options); err != nil {
		return fmt.Errorf("load interception: %w", err)
	}
	if err := s.objects.Alive.Lookup(uint32(0), &s.live); err != nil {
		return fmt.Errorf("orders in force: %w", err)
	}
	ports := s.objects.Ports
	for i, p := range []*net.Interface{s.lan, s.wan} {
		peer := []*net.Interface{s.wan, s.lan}[i]
		value := interceptPort{Peer: uint32(peer.Index), Mark: uint32(markBase + i), Splits: 1}
		if across(peer.Index) {
			value.Across = 1
		}
		if err := ports.Put(uint32(p.Index), &value); err != nil {
			return fmt.Errorf("describe port %s: %w", p.Name, err)
		}
	}
	return nil
}

// across reports whether an interface is a veth whose other end is in another
// namespace.
func across(index int) bool {
	l, err := netlink.LinkByIndex(index)
	return err == nil && l.Type() == "veth" && l.Attrs().NetNsID >= 0
}

// Close lets go of the programs; pinned, they go on.
func (s *Space) Close() error { return s.objects.Close() }

// Remove takes interception off: unpins everything under pins.
func Remove(pins string) error { return remove(filepath.Join(pins, "v"+version)) }

func remove(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var all error
	for _, e := range entries {
		all = errors.Join(all, os.Remove(filepath.Join(dir, e.Name())))
	}
	return errors.Join(all, err, os.Remove(dir))
}
