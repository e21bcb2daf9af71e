// Package custody leaves network namespaces with the service manager, so that
// they outlive a daemon that was killed.
//
// A daemon in systemd's sandbox has a mount namespace of its own. The names
// under /run/netns are mounts; when the last process of the service has died
// they are gone, and with them every namespace that nothing else holds: a pair
// with proxies would be no wire until the daemon is back. The manager's store
// of descriptors (sd_notify(3), FDSTORE=1) holds them, and passes them to the
// daemon that comes next (sd_listen_fds(3)). Without a manager that takes
// descriptors there is no sandbox either, and nothing to do.
package custody

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"
)

// names is where named namespaces are, as ip-netns(8) has it.
const names = "/run/netns"

// Give leaves the named namespace with the service manager.
func Give(name string) error {
	ns, err := os.Open(filepath.Join(names, name))
	if err != nil {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	defer ns.Close()
	return tell("FDSTORE=1\nFDNAME="+name, unix.UnixRights(int(ns.Fd())))
}

// End takes the named namespace out of the manager's hands.
func End(name string) error { return tell("FDSTOREREMOVE=1\nFDNAME="+name, nil) }

// Return gives namespaces their names back that a daemon before this one has
// left with the manager. It is called once, before anything is started: what
// it read from the environment it takes out of it.
func Return() error {
	var all []error
	for _, ns := range activation.Files(true) {
		if err := mount(ns); err != nil {
			all = append(all, fmt.Errorf("namespace %s, left by a daemon before: %w", ns.Name(), err))
		}
		ns.Close()
	}
	return errors.Join(all...)
}

// mount puts a namespace under its name, if it is not there.
func mount(ns *os.File) error {
	if filepath.Base(ns.Name()) != ns.Name() {
		return errors.New("want a name without a slash")
	}
	at := filepath.Join(names, ns.Name())
	if same(ns, at) {
		return nil
	}
	if err := os.MkdirAll(names, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_RDONLY, 0o444)
	if err != nil {
		return err
	}
	f.Close()
	return unix.Mount(fmt.Sprintf("/proc/self/fd/%d", ns.Fd()), at, "", unix.MS_BIND, "")
}

// same reports whether the file at a path is the open one.
func same(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// tell sends the manager a message, if there is one.
func tell(message string, rights []byte) error {
	at := os.Getenv("NOTIFY_SOCKET")
	if at == "" {
		return nil
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Sendmsg(fd, []byte(message), rights, &unix.SockaddrUnix{Name: at}, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("tell the service manager at %s: %w", at, err)
	}
	return nil
}
