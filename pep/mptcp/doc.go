// Package mptcp speaks MPTCP v1 (RFC 8684) by the kernel's sockets: mode
// "wire". A device with two addresses (a phone or a router on two VLANs or
// ports) is met by a Terminator, which goes on to the server by plain TCP, or
// the other way round.
//
//	device ══ MPTCP, subflows over the carriers ══▶ Terminator ── TCP, original addresses ──▶ server
//	device ── TCP ──▶ Terminator ══ MPTCP over the carriers ══▶ Terminator or server
//
// The packet scheduler is the kernel's own ("linux-default": the subflow with
// the least queued per rate, kept for a burst of 64 KB); no other can be loaded
// into a kernel of this series. What can be chosen: congestion control,
// priority of paths, and how much a socket may queue, which is what bounds
// latency: TCP_NOTSENT_LOWAT has no effect on subflows.
package mptcp

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Scheduler is the name of the only scheduler.
const Scheduler = "linux-default"

// sysctls of a namespace in which a Terminator lives.
var sysctls = []struct{ name, value string }{
	{"net/mptcp/enabled", "1"},
	// SYNs that vanish with MP_CAPABLE and pass without make the kernel give
	// up MPTCP for an hour, for the whole namespace. On a bench where links
	// are cut on purpose a minute is enough; writing it ends a time-out that
	// runs.
	{"net/mptcp/blackhole_timeout", "60"},
	// A path that was silent is tried each second, not at ever longer
	// intervals.
	{"net/ipv4/tcp_rto_max_ms", "1000"},
	{"net/ipv4/conf/all/rp_filter", "0"},
}

// Prepare sets up the calling thread's namespace. direct false tells devices
// (the C flag of RFC 8684, 3.1) not to join by the server's address, which
// they might reach past the Terminator: they join the addresses that are
// announced.
func Prepare(direct bool) error {
	for _, s := range sysctls {
		if err := os.WriteFile("/proc/sys/"+s.name, []byte(s.value), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("prepare for MPTCP: %w", err)
		}
	}
	join := "0"
	if direct {
		join = "1"
	}
	if err := os.WriteFile("/proc/sys/net/mptcp/allow_join_initial_addr_port", []byte(join), 0); err != nil {
		return fmt.Errorf("prepare for MPTCP: %w", err)
	}
	return nil
}

// control runs f on the descriptor of a socket.
func control(c syscall.RawConn, f func(fd int) error) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = f(int(fd)) })
	return errors.Join(err, failed)
}

// shape sets congestion control and send buffer of a socket, and with it of
// all its subflows.
func shape(fd int, congestion string, buffer int) error {
	var errs []error
	if congestion != "" {
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, congestion); err != nil {
			errs = append(errs, fmt.Errorf("congestion control %s: %w", congestion, err))
		}
	}
	if buffer > 0 {
		// The kernel doubles what is asked for.
		errs = append(errs, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, buffer/2))
	}
	return errors.Join(errs...)
}
