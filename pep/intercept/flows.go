package intercept

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cilium/ebpf"
)

// Sweep forgets the flows that began before a time (CLOCK_MONOTONIC ns) and
// that keep, asked by when they began, does not want kept: those of a proxy
// that was killed, and those whose clients went away during the handshake.
func (s *Space) Sweep(before uint64, keep func(since uint64) bool) error {
	return s.purge(func(f *interceptFlow) bool { return f.Since < before && !keep(f.Since) })
}

// unhold lets go of the SYNs that a proxy before this one held, so that they
// are asked for when they come again.
func (s *Space) unhold() error {
	return s.purge(func(f *interceptFlow) bool { return f.State == stateHeld })
}

// purge deletes the flows that want wants deleted.
func (s *Space) purge(want func(*interceptFlow) bool) error {
	return errors.Join(purge(s.objects.Flows, want), purge(s.objects.Opening, want))
}

func purge(table *ebpf.Map, want func(*interceptFlow) bool) error {
	var key interceptTuple
	var value interceptFlow
	gone := map[interceptTuple]uint64{}
	all := table.Iterate()
	for all.Next(&key, &value) {
		if want(&value) {
			gone[key] = value.Since
		}
	}
	// A table that changes meanwhile may be seen in part: the next time will
	// do.
	err := all.Err()
	if errors.Is(err, ebpf.ErrIterationAborted) {
		err = nil
	}
	for key, since := range gone {
		err = errors.Join(err, forget(table, &key, since))
	}
	return err
}

// Known counts the flows in the table pinned under pins: those that are
// split, those whose SYN is held, and for a while those that have ended.
func Known(pins string) (n int, err error) {
	for _, name := range []string{"flows", "opening"} {
		m, err := ebpf.LoadPinnedMap(filepath.Join(pins, "v"+version, name), nil)
		if err != nil {
			return 0, fmt.Errorf("table of flows: %w", err)
		}
		defer m.Close()
		var key interceptTuple
		var value interceptFlow
		all := m.Iterate()
		for all.Next(&key, &value) {
			n++
		}
		if err := all.Err(); err != nil {
			return n, fmt.Errorf("table of flows: %w", err)
		}
	}
	return n, nil
}

// Forget ends a flow: later segments cross. One of the same ends that has
// begun since stays.
func (s *Space) Forget(e Ends, since uint64) error {
	key, _ := makeTuple(e)
	return errors.Join(forget(s.objects.Flows, &key, since), forget(s.objects.Opening, &key, since))
}

func forget(table *ebpf.Map, key *interceptTuple, since uint64) error {
	var value interceptFlow
	err := table.Lookup(key, &value)
	if err == nil && value.Since == since {
		err = table.Delete(key)
	}
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("forget a flow: %w", err)
	}
	return nil
}
