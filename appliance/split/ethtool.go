package split

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtool sets an offload of a device to off (SIOCETHTOOL, one value).
func ethtool(fd int, device string, command uint32) error {
	value := struct{ command, data uint32 }{command, 0}
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(request.name[:unix.IFNAMSIZ-1], device)
	request.data = unsafe.Pointer(&value)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return errno
	}
	return nil
}
