package steer

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Mode is what happens to the frames of a pair.
type Mode uint32

// The modes, numbered as in steer.bpf.c.
const (
	Emulate Mode = iota // into the engine
	Bypass              // straight to the other port, in the kernel
	Cut                 // dropped
)

var modeNames = []string{"emulate", "bypass", "cut"}

// String returns the mode's name in documents.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode %d", uint32(m))
}

// ParseMode reads a mode's name.
func ParseMode(name string) (Mode, error) {
	for i, n := range modeNames {
		if n == name {
			return Mode(i), nil
		}
	}
	return 0, fmt.Errorf("mode %q: want emulate, bypass or cut", name)
}

// settings is the configuration map, mapped into this process: the program
// sees a store at once, without a system call.
type settings struct {
	page   []byte
	config *programConfig
}

func mapSettings(m *ebpf.Map) (*settings, error) {
	page, err := unix.Mmap(m.FD(), 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the configuration of steer: %w", err)
	}
	return &settings{page, (*programConfig)(unsafe.Pointer(&page[0]))}, nil
}

func (s *settings) close() error { return unix.Munmap(s.page) }

// Mode returns the mode that is set.
func (w *Wire) Mode() Mode { return Mode(atomic.LoadUint32(&w.settings.config.Mode)) }

// SetMode sets the mode; the next frame meets it.
func (w *Wire) SetMode(m Mode) { atomic.StoreUint32(&w.settings.config.Mode, uint32(m)) }

// SetFallback sets what holds when the engine is gone or hangs (Bypass or
// Cut) and after how many ns without a beat it counts as hanging.
func (w *Wire) SetFallback(m Mode, patience int64) {
	atomic.StoreUint32(&w.settings.config.Fallback, uint32(m))
	atomic.StoreUint64(&w.settings.config.Patience, uint64(patience))
}

// Beat says that the loop which reads port (0 or 1) lives, at now
// (CLOCK_MONOTONIC ns).
func (w *Wire) Beat(port int, now int64) {
	atomic.StoreUint64(&w.settings.config.Beat[port], uint64(now))
}
