package wire

import (
	"fmt"
	"net"
	"unsafe"

	"farlink/emulator/wire/steer"

	"golang.org/x/sys/unix"
)

// findPort looks the port up and checks that all its frames come by one
// receive queue: the engine has one socket on each port.
func findPort(name string) (steer.Port, error) {
	dev, err := net.InterfaceByName(name)
	if err != nil {
		return steer.Port{}, fmt.Errorf("port %s: %w", name, err)
	}
	if n := receiveQueues(name); n > 1 {
		return steer.Port{}, fmt.Errorf("port %s spreads its frames over %d receive queues: want one (ethtool -L %s combined 1)", name, n, name)
	}
	return steer.Port{Name: name, Index: dev.Index}, nil
}

// channels is struct ethtool_channels of linux/ethtool.h.
type channels struct {
	command                                uint32
	maxRx, maxTx, maxOther, maxCombined    uint32
	rxCount, txCount, otherCount, combined uint32
}

// receiveQueues asks the driver; one that has no answer has one queue.
func receiveQueues(name string) int {
	const getChannels = 0x3c // ETHTOOL_GCHANNELS
	c := channels{command: getChannels}
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	request.data = unsafe.Pointer(&c)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 1
	}
	defer unix.Close(fd)
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	if e != 0 {
		return 1
	}
	return int(max(c.rxCount+c.combined, 1))
}
