package congestion

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// Kernels before 6.4 register a control when the value of its struct_ops map
// is written, and keep it until that is deleted, whatever becomes of the
// process. So the controls of processes that were killed are taken off when
// the next shelf opens.

// haveLinks reports whether the kernel knows struct_ops links.
var haveLinks = sync.OnceValue(func() bool {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return false
	}
	var link *btf.Struct
	return kernel.TypeByName("bpf_struct_ops_link", &link) == nil
})

// structOpsLink is BPF_F_LINK of linux/bpf.h.
const structOpsLink = 1 << 13

func loadOlder(spec *ebpf.CollectionSpec, options ebpf.CollectionOptions, name string) (*law, error) {
	unregisterDead()
	spec.Maps[name].Flags &^= structOpsLink
	c, err := ebpf.NewCollectionWithOptions(spec, options)
	if err != nil {
		return nil, fmt.Errorf("load and register law %s: %w", name, err)
	}
	return &law{c, func() error { return unregister(c.Maps[name]) }}, nil
}

func unregister(m *ebpf.Map) error {
	err := m.Delete(uint32(0))
	if errors.Is(err, unix.EINPROGRESS) {
		return nil // once the sockets that use it have ended
	}
	return err
}

// tagOf is what a process's controls are called before their names.
func tagOf(pid int) string { return fmt.Sprintf("fl%04x_", pid&0xffff) }

var tagged = regexp.MustCompile("fl([0-9a-f]{4})_[a-z]+\x00")

// unregisterDead takes off the controls of processes that are no more.
func unregisterDead() {
	for id := ebpf.MapID(0); ; {
		next, err := ebpf.MapGetNextID(id)
		if err != nil {
			return
		}
		id = next
		if m, err := ebpf.NewMapFromID(id); err == nil {
			if m.Type() == ebpf.StructOpsMap && dead(m) {
				unregister(m)
			}
			m.Close()
		}
	}
}

// dead reports whether a control is ours, registered without a link, and of a
// process that is no more.
func dead(m *ebpf.Map) bool {
	value, err := m.LookupBytes(uint32(0))
	if err != nil || m.Flags()&structOpsLink != 0 {
		return false
	}
	found := tagged.FindSubmatch(value)
	if found == nil {
		return false
	}
	tag, err := strconv.ParseUint(string(found[1]), 16, 16)
	return err == nil && !slices.Contains(tags(), int(tag))
}

// tags lists the tags of the processes there are.
func tags() (all []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid&0xffff)
		}
	}
	return all
}
