package mptcp

import (
	"encoding/binary"
	"net"
	"net/netip"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of linux/mptcp.h.
const (
	solMPTCP     = 284
	fullInfo     = 4
	mostSubflows = 8
	subflowSize  = 264 // struct mptcp_subflow_info
)

// info is struct mptcp_info.
type info struct {
	Subflows, AddAddrSignal, AddAddrAccepted, SubflowsMax, AddAddrSignalMax, AddAddrAcceptedMax uint8
	Flags, Token                                                                                uint32
	WriteSeq, SndUna, RcvNxt                                                                    uint64
	LocalAddrUsed, LocalAddrMax, Checksum                                                       uint8
	Retransmits                                                                                 uint32
	BytesRetrans, BytesSent, BytesReceived, BytesAcked                                          uint64
	SubflowsTotal                                                                               uint8
	_                                                                                           [3]uint8
	LastDataSent, LastDataReceived, LastAckReceived                                             uint32
}

// request is struct mptcp_full_info.
type request struct {
	TCPKernel, TCPUser, SubflowKernel, SubflowUser, Count, Room uint32
	Subflows, TCP                                               uint64
	Info                                                        info
}

// Path is a subflow.
type Path struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	RTTMs  float64        `json:"rtt_ms"`
	Cwnd   int            `json:"cwnd_packets"`
	Sent   uint64         `json:"sent_bytes"`
	Got    uint64         `json:"received_bytes"`
	Unsent int            `json:"unsent_bytes"`
	Silent bool           `json:"silent"` // it has timed out and nothing was acknowledged since
}

// State is a connection now.
type State struct {
	Fallback bool   `json:"fallback"` // the peer, or something between, does not speak MPTCP: it is plain TCP
	Token    uint32 `json:"token,omitempty"`
	Retrans  uint64 `json:"retransmitted_bytes"`
	Paths    []Path `json:"paths"`
}

// Look reads a connection by one call (MPTCP_FULL_INFO, Linux 6.6), so that
// its parts are of one instant.
func Look(c *net.TCPConn) (s State, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return s, err
	}
	var tcp [mostSubflows]unix.TCPInfo
	var subflows [mostSubflows * subflowSize / 8]uint64
	r := request{
		TCPUser: uint32(unsafe.Sizeof(tcp[0])), SubflowUser: subflowSize, Room: mostSubflows,
		Subflows: uint64(uintptr(unsafe.Pointer(&subflows))), TCP: uint64(uintptr(unsafe.Pointer(&tcp))),
	}
	err = control(raw, func(fd int) error {
		size := uint32(unsafe.Sizeof(r))
		_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), solMPTCP, fullInfo, uintptr(unsafe.Pointer(&r)), uintptr(unsafe.Pointer(&size)), 0)
		if e == unix.EOPNOTSUPP || e == unix.ENOPROTOOPT {
			s.Fallback = true
			return nil
		}
		if e != 0 {
			return e
		}
		return nil
	})
	runtime.KeepAlive(&tcp)
	runtime.KeepAlive(&subflows)
	if err != nil || s.Fallback {
		return s, err
	}
	s.Token, s.Retrans = r.Info.Token, r.Info.BytesRetrans
	b := unsafe.Slice((*byte)(unsafe.Pointer(&subflows)), len(subflows)*8)
	for i := range min(int(r.Count), mostSubflows) {
		at, t := b[i*subflowSize:], &tcp[i]
		s.Paths = append(s.Paths, Path{
			Local: address(at[8:]), Remote: address(at[136:]), RTTMs: float64(t.Rtt) / 1e3, Cwnd: int(t.Snd_cwnd),
			Sent: t.Bytes_acked, Got: t.Bytes_received, Unsent: int(t.Notsent_bytes), Silent: t.Retransmits > 0,
		})
	}
	return s, nil
}

// address reads a struct sockaddr_storage.
func address(b []byte) netip.AddrPort {
	port := binary.BigEndian.Uint16(b[2:])
	if binary.NativeEndian.Uint16(b) == unix.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), port)
}
