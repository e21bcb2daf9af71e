package cable

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Ports are the ends of the cables that a wire is to join.
var Ports = [2]string{"a1", "b1"}

// ends are the others: frames are sent at the first and come out at the
// second.
var ends = [2]string{"a0", "b0"}

// Do makes both cables and calls f, in their namespace and on a thread of its
// own. When it returns namespace and cables are gone, or are going: the
// kernel takes a namespace apart in its own time.
func Do(f func(*Cables) error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The first thread of a process never ends, and the namespace
			// would not either: it is held here, another does it.
			defer runtime.UnlockOSThread()
			done <- Do(f)
			return
		}
		done <- do(f) // never unlocked: the thread ends, and the namespace
	}()
	return <-done
}

func do(f func(*Cables) error) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("network namespace of one's own (want CAP_SYS_ADMIN): %w", err)
	}
	// The stacks at the ends are to keep quiet. A kernel without IPv6 has
	// nothing to say.
	err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for i := range ends {
		if err := lay(Ports[i], ends[i]); err != nil {
			return err
		}
	}
	c := &Cables{taps: [2]int{-1, -1}, sender: -1}
	defer c.close()
	if err := c.open(); err != nil {
		return fmt.Errorf("taps on %s and %s: %w", ends[0], ends[1], err)
	}
	return f(c)
}

// lay makes a veth pair and brings both ends up. The far end polls, as hosts
// with real cards do, so that a native program can send to the near one.
func lay(port, end string) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.NumTxQueues, attrs.NumRxQueues = port, 1, 1
	v := &netlink.Veth{LinkAttrs: attrs, PeerName: end, PeerNumTxQueues: 1, PeerNumRxQueues: 1}
	if err := netlink.LinkAdd(v); err != nil {
		return fmt.Errorf("veth %s to %s: %w", port, end, err)
	}
	for _, name := range []string{port, end} {
		dev, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if err := errors.Join(netlink.LinkSetARPOff(dev), netlink.LinkSetUp(dev)); err != nil {
			return fmt.Errorf("bring up %s: %w", name, err)
		}
	}
	return poll(end)
}

// poll switches GRO on: then a veth polls for what it receives.
func poll(dev string) error {
	const setGRO = 0x2c // ETHTOOL_SGRO
	value := struct{ command, data uint32 }{setGRO, 1}
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(request.name[:unix.IFNAMSIZ-1], dev)
	request.data = unsafe.Pointer(&value)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	if e != 0 {
		return fmt.Errorf("GRO of %s: %w", dev, e)
	}
	return nil
}

// Cables are laid, with a sender and two taps at their outer ends.
type Cables struct {
	taps   [2]int // sockets that see what leaves the near end, and comes to the far
	sender int    // one more: a socket does not see what it sent itself
}

// ethAll is ETH_P_ALL in network byte order.
const ethAll = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8

// open opens the sockets. Their stamps are those the kernel makes when a
// frame passes the interface (SO_TIMESTAMPNS would make one up when the frame
// is read, if there was none).
func (c *Cables) open() error {
	const stamping = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
	for i, fd := range []*int{&c.taps[0], &c.taps[1], &c.sender} {
		dev, err := net.InterfaceByName(ends[i%2])
		if err != nil {
			return err
		}
		*fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		protocol := uint16(ethAll)
		if fd == &c.sender {
			protocol = 0 // it takes nothing
		} else if err := unix.SetsockoptInt(*fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING_NEW, stamping); err != nil {
			return err
		}
		if err := unix.Bind(*fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: dev.Index}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cables) close() {
	for _, fd := range []int{c.taps[0], c.taps[1], c.sender} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
