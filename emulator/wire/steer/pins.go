package steer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Root is where the BPF file system is mounted by custom.
const Root = "/sys/fs/bpf"

// Dir returns the pin directory of the pair called name.
func Dir(name string) string { return filepath.Join(Root, "farlink", name) }

// makeDir makes the pin directory, mounting the BPF file system on Root if
// the directory lies under it and nothing is mounted.
func makeDir(dir string) error {
	if strings.HasPrefix(dir, Root) && !isBPF(Root) {
		if err := unix.Mount("bpf", Root, "bpf", 0, "mode=0700"); err != nil {
			return fmt.Errorf("mount the BPF file system on %s (want CAP_SYS_ADMIN): %w", Root, err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("pin directory of steer: %w", err)
	}
	if !isBPF(dir) {
		return fmt.Errorf("pin directory %s does not lie on a BPF file system", dir)
	}
	return nil
}

func isBPF(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Type == unix.BPF_FS_MAGIC
}

// lockDir takes the pin directory for this process; the kernel lets go of it
// when the process ends, however it ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("pair %s is held by another engine: %w", filepath.Base(dir), err)
	}
	return f, nil
}

// Remove detaches and unpins everything under dir and removes it; the ports
// are as they were before the first Open.
func Remove(dir string) error {
	if err := removePins(dir); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove pin directory: %w", err)
	}
	// The directory above goes with the last pair.
	if err := os.Remove(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("remove pin directory: %w", err)
	}
	return nil
}

func removePins(dir string) error {
	for _, pin := range linkPins {
		if l, err := link.LoadPinnedLink(filepath.Join(dir, pin), nil); err == nil {
			// At once, and not when the last process lets go. That of a
			// port that is gone is detached already.
			_ = l.Detach()
			l.Close()
		}
	}
	pins, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unpin steer: %w", err)
	}
	var all error
	for _, p := range pins {
		all = errors.Join(all, os.Remove(filepath.Join(dir, p.Name())))
	}
	return all
}
