package steer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/cilium/ebpf"
)

// Inspection is what the pinned program does just now, whoever set it.
type Inspection struct {
	Mode     Mode
	Fallback Mode
	Patience int64    // ns
	Beats    [2]int64 // the last of each port's loop, CLOCK_MONOTONIC ns
	Counts   [2]Counts
}

// Inspect reads the pins under dir without taking them: it works beside an
// engine, and after one. The error is fs.ErrNotExist when nothing is pinned.
func Inspect(dir string) (Inspection, error) {
	var in Inspection
	err := withPins(dir, func(s *settings, counts *ebpf.Map) error {
		c := s.config
		in.Mode, in.Fallback = Mode(atomic.LoadUint32(&c.Mode)), Mode(atomic.LoadUint32(&c.Fallback))
		in.Patience = int64(atomic.LoadUint64(&c.Patience))
		for port := range in.Counts {
			in.Beats[port] = int64(atomic.LoadUint64(&c.Beat[port]))
			var err error
			if in.Counts[port], err = readCounts(counts, port); err != nil {
				return err
			}
		}
		return nil
	})
	return in, err
}

// Force sets mode and fallback of the pinned program under dir without
// taking it: what a daemon does for a pair whose engine is gone.
func Force(dir string, mode, fallback Mode) error {
	return withPins(dir, func(s *settings, _ *ebpf.Map) error {
		atomic.StoreUint32(&s.config.Fallback, uint32(fallback))
		atomic.StoreUint32(&s.config.Mode, uint32(mode))
		return nil
	})
}

func withPins(dir string, f func(*settings, *ebpf.Map) error) error {
	configs, err := ebpf.LoadPinnedMap(filepath.Join(dir, "configs"), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("pair %s has nothing pinned: %w", filepath.Base(dir), os.ErrNotExist)
	}
	if err != nil {
		return fmt.Errorf("open the configuration of steer: %w", err)
	}
	defer configs.Close()
	counts, err := ebpf.LoadPinnedMap(filepath.Join(dir, "counts"), nil)
	if err != nil {
		return fmt.Errorf("open the counts of steer: %w", err)
	}
	defer counts.Close()
	s, err := mapSettings(configs)
	if err != nil {
		return err
	}
	defer s.close()
	return f(s, counts)
}
