package netlab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// makeNetns makes a named namespace with its loopback up.
func makeNetns(name string) error {
	if _, err := os.Stat(filepath.Join("/run/netns", name)); err == nil {
		return fmt.Errorf("namespace %s exists: choose another name or take it down first", name)
	}
	return inThread(func() error {
		h, err := netns.NewNamed(name)
		if err != nil {
			return fmt.Errorf("make namespace %s: %w", name, err)
		}
		defer h.Close()
		return up("lo")
	})
}

// Do runs f in the named namespace, on a thread of its own.
func Do(name string, f func() error) error {
	h, err := netns.GetFromName(name)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	defer h.Close()
	return inThread(func() error {
		if err := netns.Set(h); err != nil {
			return fmt.Errorf("enter namespace %s: %w", name, err)
		}
		return f()
	})
}

// inThread runs f on a thread that ends with it, so that no other goroutine
// ever finds itself in the namespace f entered.
func inThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The first thread of a process never ends, and would take
			// the whole process along: hold it here, use another.
			defer runtime.UnlockOSThread()
			done <- inThread(f)
			return
		}
		done <- f() // never unlocked: the runtime ends the thread
	}()
	return <-done
}

// Do runs f in the endpoint's namespace, on a thread of its own. Sockets
// that f opens stay there.
func (e End) Do(f func() error) error { return Do(e.Netns, f) }

// Start starts the command in the endpoint's namespace.
func (e End) Start(c *exec.Cmd) error { return e.Do(c.Start) }

// Output runs the command in the endpoint's namespace and returns all it
// printed.
func (e End) Output(name string, args ...string) ([]byte, error) {
	var out []byte
	err := e.Do(func() (err error) {
		out, err = exec.Command(name, args...).CombinedOutput()
		return err
	})
	return out, err
}

func up(name string) error {
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	return netlink.LinkSetUp(dev)
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
