package ports

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// Carries returns, by interface name, what passes the interfaces of the
// process's own namespace that must not be lost: ssh sessions, and the API
// at listen ("" or an unspecified address: on none in particular).
func Carries(listen string) map[string]string {
	carries := map[string]string{}
	for local, remote := range sshSessions() {
		if name := interfaceOf(local); name != "" {
			carries[name] = "the ssh session from " + remote.String()
		}
	}
	if at, err := netip.ParseAddrPort(listen); err == nil && !at.Addr().IsUnspecified() && !at.Addr().IsLoopback() {
		if name := interfaceOf(at.Addr()); name != "" && carries[name] == "" {
			carries[name] = "the API at " + listen
		}
	}
	return carries
}

// sshSessions returns the local and remote addresses of established TCP
// connections to port 22 and of the session this process was started from.
func sshSessions() map[netip.Addr]netip.Addr {
	sessions := map[netip.Addr]netip.Addr{}
	for _, path := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			if local, remote, ok := sshSession(s.Text()); ok {
				sessions[local] = remote
			}
		}
		f.Close()
	}
	// SSH_CONNECTION: client address, client port, server address, server port.
	if f := strings.Fields(os.Getenv("SSH_CONNECTION")); len(f) == 4 {
		remote, err1 := netip.ParseAddr(f[0])
		local, err2 := netip.ParseAddr(f[2])
		if err1 == nil && err2 == nil {
			sessions[local] = remote
		}
	}
	return sessions
}

// sshSession reads one line of /proc/net/tcp: number, local, remote, state
// (01 is established).
func sshSession(line string) (local, remote netip.Addr, ok bool) {
	f := strings.Fields(line)
	if len(f) < 4 || f[3] != "01" || !strings.HasSuffix(f[1], ":0016") {
		return local, remote, false
	}
	local, ok1 := kernelAddress(f[1])
	remote, ok2 := kernelAddress(f[2])
	return local, remote, ok1 && ok2
}

// kernelAddress reads "0100007F:0016": 32-bit words in host order, here
// little-endian.
func kernelAddress(text string) (netip.Addr, bool) {
	words, _, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(words)
	if err != nil || len(b)%4 != 0 {
		return netip.Addr{}, false
	}
	for i := 0; i < len(b); i += 4 {
		slices.Reverse(b[i : i+4])
	}
	a, ok := netip.AddrFromSlice(b)
	return a.Unmap(), ok
}

// interfaceOf returns the interface that has the address, "" if none has.
func interfaceOf(address netip.Addr) string {
	interfaces, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap() == address.Unmap() {
				return i.Name
			}
		}
	}
	return ""
}

// Lock takes the port for this process until it closes the lock or ends,
// however it ends. It is an abstract socket: nothing stays behind.
func (n *Namespace) Lock(port string) (net.Listener, error) {
	name := fmt.Sprintf("@farlink-port-%s-%s", n.fd.UniqueId(), port)
	l, err := net.Listen("unix", name)
	if err != nil {
		return nil, Refusal{port, "in use by another farlink", "a port of no other box (stop the other daemon, or name other ports)"}
	}
	return l, nil
}
