// Package netspace runs code in network namespaces. A namespace is a thread's,
// so each piece of code gets a thread of its own, which ends with it.
package netspace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Do runs f in the named namespace; "" is the one that the process is in.
// Sockets that f opens stay there.
func Do(name string, f func() error) error {
	if name == "" {
		return f()
	}
	return Thread(func() error {
		if err := Enter(name); err != nil {
			return err
		}
		return f()
	})
}

// Enter takes the calling thread into the named namespace, for good: it is for
// code that Thread runs.
func Enter(name string) error {
	h, err := netns.GetFromName(name)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	defer h.Close()
	if err := netns.Set(h); err != nil {
		return fmt.Errorf("enter namespace %s (want CAP_SYS_ADMIN): %w", name, err)
	}
	return nil
}

// Make makes a named namespace, with its loopback up.
func Make(name string) error {
	if _, err := os.Stat(filepath.Join("/run/netns", name)); err == nil {
		return fmt.Errorf("namespace %s exists: choose another name or take it down first", name)
	}
	return Thread(func() error {
		h, err := netns.NewNamed(name)
		if err != nil {
			return fmt.Errorf("make namespace %s: %w", name, err)
		}
		defer h.Close()
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return fmt.Errorf("namespace %s: loopback: %w", name, err)
		}
		return netlink.LinkSetUp(lo)
	})
}

// Thread runs f on a thread that ends with it, so that no other goroutine ever
// finds itself in the namespace that f entered.
func Thread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The first thread of a process never ends, and /proc/self
			// speaks of it: it is held here, another does the work.
			defer runtime.UnlockOSThread()
			done <- Thread(f)
			return
		}
		done <- f() // never unlocked: the runtime ends the thread
	}()
	return <-done
}
