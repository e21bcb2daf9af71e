package mptcp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Of linux/inet_diag.h and linux/mptcp.h.
const (
	diagFamily  = 20 // SOCK_DIAG_BY_FAMILY
	diagInfo    = 2
	diagCong    = 4
	diagULP     = 19
	ulpMPTCP    = 3
	ulpFlags    = 8
	diagRequest = 56 // struct inet_diag_req_v2
	diagMessage = 72 // struct inet_diag_msg
)

// Flags of a subflow, as the kernel has them.
const (
	flagBackupPeer  = 1 << 4 // the peer wants it as a backup
	flagBackupLocal = 1 << 5
	flagReady       = 1 << 6 // fully established
)

// Ends are a subflow's addresses.
type Ends struct{ Local, Remote netip.AddrPort }

// Detail is what MPTCP_FULL_INFO does not say of a subflow.
type Detail struct {
	Congestion string
	Backup     bool // either end wants it so (MP_PRIO, or the B flag of its MP_JOIN)
	Ready      bool
}

// Details asks for all subflows of the calling thread's network namespace by
// one dump for IPv4 and one for IPv6.
func Details() (map[Ends]Detail, error) {
	all := map[Ends]Detail{}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		r := nl.NewNetlinkRequest(diagFamily, unix.NLM_F_DUMP)
		q := make([]byte, diagRequest)
		q[0], q[1], q[2] = family, unix.IPPROTO_TCP, 1<<(diagCong-1)|1<<(diagInfo-1) // without the latter no ULP
		binary.NativeEndian.PutUint32(q[4:], 1<<1|1<<4|1<<5|1<<8)                    // established, and the ways down from it
		r.AddRawData(q)
		messages, err := r.Execute(unix.NETLINK_INET_DIAG, diagFamily)
		if err != nil {
			return nil, fmt.Errorf("list subflows of MPTCP: %w", err)
		}
		for _, m := range messages {
			if e, d, ok := detail(m); ok {
				all[e] = d
			}
		}
	}
	return all, nil
}

// detail reads one answer; ok is false for a socket that is no subflow.
func detail(m []byte) (e Ends, d Detail, ok bool) {
	if len(m) < diagMessage {
		return e, d, false
	}
	port := func(at int) uint16 { return binary.BigEndian.Uint16(m[at:]) }
	local, remote := netip.AddrFrom16([16]byte(m[8:24])).Unmap(), netip.AddrFrom16([16]byte(m[24:40])).Unmap()
	if m[0] == unix.AF_INET {
		local, remote = netip.AddrFrom4([4]byte(m[8:12])), netip.AddrFrom4([4]byte(m[24:28]))
	}
	e = Ends{netip.AddrPortFrom(local, port(4)), netip.AddrPortFrom(remote, port(6))}
	attrs, err := nl.ParseRouteAttr(m[diagMessage:])
	if err != nil {
		return e, d, false
	}
	for _, a := range attrs {
		switch a.Attr.Type &^ unix.NLA_F_NESTED {
		case diagCong:
			d.Congestion = strings.TrimRight(string(a.Value), "\x00")
		case diagULP:
			flags, is := subflowFlags(a.Value)
			d.Backup, d.Ready = flags&(flagBackupPeer|flagBackupLocal) != 0, flags&flagReady != 0
			ok = is
		}
	}
	return e, d, ok
}

func subflowFlags(ulp []byte) (flags uint32, ok bool) {
	parts, err := nl.ParseRouteAttr(ulp)
	if err != nil {
		return 0, false
	}
	for _, p := range parts {
		if p.Attr.Type&^unix.NLA_F_NESTED != ulpMPTCP {
			continue
		}
		ok = true
		inner, err := nl.ParseRouteAttr(p.Value)
		if err != nil {
			return 0, false
		}
		for _, a := range inner {
			if a.Attr.Type == ulpFlags && len(a.Value) >= 4 {
				flags = binary.NativeEndian.Uint32(a.Value)
			}
		}
	}
	return flags, ok
}
