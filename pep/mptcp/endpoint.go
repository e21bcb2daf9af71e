package mptcp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Of linux/mptcp_pm.h.
const (
	family  = "mptcp_pm"
	version = 1

	cmdAdd, cmdDelete, cmdGet, cmdFlush, cmdSetLimits, cmdGetLimits, cmdSetFlags = 1, 2, 3, 4, 5, 6, 7

	attrAddr, attrAccept, attrSubflows                                 = 1, 2, 3
	addrFamily, addrID, addrV4, addrV6, addrPort, addrFlags, addrIndex = 1, 2, 3, 4, 5, 6, 7
)

// Flags of an endpoint.
type Flags uint32

// The flags, as the kernel has them.
const (
	Signal   Flags = 1 << iota // announced to the peer by ADD_ADDR
	Subflow                    // joins are made from it
	Backup                     // only when nothing else is up
	Fullmesh                   // joined with every address of the peer
)

// Endpoint is an address that the kernel's path manager uses.
type Endpoint struct {
	ID    uint8 // 0: the kernel chooses
	Addr  netip.Addr
	Flags Flags
	Index int // of the interface; 0 is by route
}

// Manager is the path manager of one network namespace: that of the thread
// that calls Open.
type Manager struct {
	family uint16
	socket *nl.NetlinkSocket
	handle map[int]*nl.SocketHandle
}

// Open finds the path manager.
func Open() (*Manager, error) {
	f, err := netlink.GenlFamilyGet(family)
	if err != nil {
		return nil, fmt.Errorf("path manager of MPTCP: %w", err)
	}
	s, err := nl.GetNetlinkSocketAt(-1, -1, unix.NETLINK_GENERIC)
	if err != nil {
		return nil, fmt.Errorf("path manager of MPTCP: %w", err)
	}
	m := &Manager{family: f.ID, socket: s}
	m.handle = map[int]*nl.SocketHandle{unix.NETLINK_GENERIC: {Socket: s}}
	return m, nil
}

// Close lets go of it; endpoints stay.
func (m *Manager) Close() { m.socket.Close() }

func (m *Manager) request(command uint8, flags int, attrs ...*nl.RtAttr) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(int(m.family), flags)
	r.Sockets = m.handle
	r.AddData(&nl.Genlmsg{Command: command, Version: version})
	for _, a := range attrs {
		r.AddData(a)
	}
	return r
}

func (m *Manager) do(what string, command uint8, attrs ...*nl.RtAttr) error {
	if _, err := m.request(command, unix.NLM_F_ACK, attrs...).Execute(unix.NETLINK_GENERIC, 0); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// encode writes an endpoint as a nested attribute.
func (e Endpoint) encode() *nl.RtAttr {
	a := nl.NewRtAttr(attrAddr|unix.NLA_F_NESTED, nil)
	if e.Addr.Is4() {
		a.AddRtAttr(addrFamily, nl.Uint16Attr(unix.AF_INET))
		a.AddRtAttr(addrV4, e.Addr.AsSlice())
	} else if e.Addr.Is6() {
		a.AddRtAttr(addrFamily, nl.Uint16Attr(unix.AF_INET6))
		a.AddRtAttr(addrV6, e.Addr.AsSlice())
	}
	if e.ID > 0 {
		a.AddRtAttr(addrID, nl.Uint8Attr(e.ID))
	}
	if e.Flags > 0 {
		a.AddRtAttr(addrFlags, nl.Uint32Attr(uint32(e.Flags)))
	}
	if e.Index > 0 {
		a.AddRtAttr(addrIndex, nl.Uint32Attr(uint32(e.Index)))
	}
	return a
}

// Add adds an endpoint: connections that exist join by it, too.
func (m *Manager) Add(e Endpoint) error {
	return m.do(fmt.Sprintf("add MPTCP endpoint %v", e.Addr), cmdAdd, e.encode())
}

// Delete removes an endpoint: its subflows end, others carry on. The kernel
// knows it by number only, which is looked up where it is not said.
func (m *Manager) Delete(e Endpoint) error {
	if e.ID == 0 {
		all, err := m.Endpoints()
		if err != nil {
			return err
		}
		for _, there := range all {
			if there.Addr == e.Addr {
				e.ID = there.ID
			}
		}
	}
	return m.do(fmt.Sprintf("delete MPTCP endpoint %v", e.Addr), cmdDelete, e.encode())
}

// SetBackup makes an endpoint a backup or no longer one, for connections that
// exist, too (MP_PRIO).
func (m *Manager) SetBackup(e Endpoint, backup bool) error {
	e.Flags &^= Backup
	if backup {
		e.Flags |= Backup
	}
	return m.do(fmt.Sprintf("set priority of MPTCP endpoint %v", e.Addr), cmdSetFlags, e.encode())
}

// Flush removes all endpoints.
func (m *Manager) Flush() error { return m.do("flush MPTCP endpoints", cmdFlush) }

// SetLimits sets how many further subflows a connection may have and how many
// announced addresses it joins.
func (m *Manager) SetLimits(subflows, accept uint32) error {
	return m.do("set MPTCP limits", cmdSetLimits, nl.NewRtAttr(attrAccept, nl.Uint32Attr(accept)), nl.NewRtAttr(attrSubflows, nl.Uint32Attr(subflows)))
}

// Endpoints lists the endpoints.
func (m *Manager) Endpoints() ([]Endpoint, error) {
	messages, err := m.request(cmdGet, unix.NLM_F_DUMP).Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return nil, fmt.Errorf("list MPTCP endpoints: %w", err)
	}
	var all []Endpoint
	for _, b := range messages {
		e, ok, err := decode(b)
		if err != nil {
			return nil, fmt.Errorf("list MPTCP endpoints: %w", err)
		}
		if ok {
			all = append(all, e)
		}
	}
	return all, nil
}

// genlHeader is the size of a generic netlink header.
const genlHeader = 4

// decode reads an endpoint from an answer.
func decode(b []byte) (e Endpoint, ok bool, err error) {
	if len(b) < genlHeader {
		return e, false, fmt.Errorf("answer of %d bytes", len(b))
	}
	outer, err := nl.ParseRouteAttr(b[genlHeader:])
	if err != nil {
		return e, false, err
	}
	for _, o := range outer {
		if o.Attr.Type&^unix.NLA_F_NESTED != attrAddr {
			continue
		}
		inner, err := nl.ParseRouteAttr(o.Value)
		if err != nil {
			return e, false, err
		}
		for _, a := range inner {
			e.read(a)
		}
		ok = e.Addr.IsValid()
	}
	return e, ok, nil
}

func (e *Endpoint) read(a syscall.NetlinkRouteAttr) {
	v := a.Value
	switch t := a.Attr.Type; {
	case t == addrID && len(v) >= 1:
		e.ID = v[0]
	case (t == addrV4 && len(v) == 4) || (t == addrV6 && len(v) == 16):
		e.Addr, _ = netip.AddrFromSlice(v)
	case t == addrFlags && len(v) >= 4:
		e.Flags = Flags(binary.NativeEndian.Uint32(v))
	case t == addrIndex && len(v) >= 4:
		e.Index = int(binary.NativeEndian.Uint32(v))
	}
}
