package netlab

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ifaNoDAD is IFA_F_NODAD of linux/if_addr.h.
const ifaNoDAD = 0x02

// Commands of linux/ethtool.h that take one value.
const (
	ethtoolTxCsum = 0x17
	ethtoolTSO    = 0x1f
	ethtoolGSO    = 0x24
	ethtoolGRO    = 0x2c
)

// offload switches one offload of the interface by the ethtool ioctl.
func offload(dev string, command uint32, on bool) error {
	value := struct{ command, data uint32 }{command, 0}
	if on {
		value.data = 1
	}
	var req struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(req.name[:unix.IFNAMSIZ-1], dev)
	req.data = unsafe.Pointer(&value)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
	if e != 0 {
		return fmt.Errorf("ethtool command %#x on %s: %w", command, dev, e)
	}
	return nil
}

// poll makes an endpoint poll for what it receives, as hosts with real cards
// do: then frames can be redirected to it natively. The interface must be up.
func poll(dev string) error { return offload(dev, ethtoolGRO, true) }

// dull makes an endpoint send whole, finished frames of at most its MTU.
func dull(dev string) error {
	for _, c := range []uint32{ethtoolTSO, ethtoolGSO, ethtoolTxCsum} {
		if err := offload(dev, c, false); err != nil {
			return err
		}
	}
	return nil
}

// silence keeps the host's stack from speaking on a port of the box: no
// ARP, no IPv6.
func silence(port string) error {
	dev, err := netlink.LinkByName(port)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetARPOff(dev); err != nil {
		return err
	}
	// A kernel without IPv6 has nothing to switch off. /proc/thread-self
	// follows the thread's namespace; /proc/sys/net does too.
	err = os.WriteFile("/proc/sys/net/ipv6/conf/"+port+"/disable_ipv6", []byte("1"), 0)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}
