package ports

import (
	"errors"
	"fmt"
	"os"

	"github.com/mdlayher/genetlink"
	mdnetlink "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"farlink/emulator/netspace"
)

// Namespace is the network namespace that holds the ports, opened.
type Namespace struct {
	Name string // "" for the process's own
	fd   netns.NsHandle
	link *netlink.Handle
	ether
}

// Open opens the network namespace called name, as `ip netns` lists it; ""
// is the process's own.
func Open(name string) (*Namespace, error) {
	fd, err := openNetns(name)
	if err != nil {
		return nil, err
	}
	return open(name, fd)
}

// open opens the namespace that fd stands for, which is the Namespace's then.
func open(name string, fd netns.NsHandle) (n *Namespace, err error) {
	n = &Namespace{Name: name, fd: fd}
	if n.link, err = netlink.NewHandleAt(fd, unix.NETLINK_ROUTE); err != nil {
		return nil, errors.Join(fmt.Errorf("open route netlink (want root, or CAP_NET_ADMIN and CAP_SYS_ADMIN): %w", err), n.Close())
	}
	conn, err := genetlink.Dial(&mdnetlink.Config{NetNS: int(fd)})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open generic netlink: %w", err), n.Close())
	}
	if n.ether, err = newEther(conn); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func openNetns(name string) (netns.NsHandle, error) {
	if name == "" {
		fd, err := netns.Get()
		if err != nil {
			return fd, fmt.Errorf("open own network namespace: %w", err)
		}
		return fd, nil
	}
	fd, err := netns.GetFromName(name)
	if errors.Is(err, os.ErrNotExist) {
		return fd, fmt.Errorf("no network namespace %q; want one that `ip netns` lists", name)
	}
	if err != nil {
		return fd, fmt.Errorf("open network namespace %q: %w", name, err)
	}
	return fd, nil
}

// Close lets go of the namespace.
func (n *Namespace) Close() error {
	if n.link != nil {
		n.link.Close()
	}
	var err error
	if n.conn != nil {
		err = n.conn.Close()
	}
	return errors.Join(err, n.fd.Close())
}

// within runs f on a thread that is inside the namespace: what stands under
// /proc/sys/net depends on the thread that asks.
func (n *Namespace) within(f func() error) error {
	if n.Name == "" {
		return f()
	}
	return netspace.Thread(func() error {
		if err := netns.Set(n.fd); err != nil {
			return fmt.Errorf("enter network namespace %q: %w", n.Name, err)
		}
		return f()
	})
}
