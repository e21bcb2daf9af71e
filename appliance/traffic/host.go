package traffic

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"farlink/emulator/netspace"
)

// do runs f where the host's sockets belong.
func (h Host) do(f func() error) error {
	if h.Netns == "" {
		return f()
	}
	return netspace.Do(h.Netns, f)
}

// listen opens a listener at the host on any port.
func (h Host) listen(ctx context.Context, congestion string) (l net.Listener, err error) {
	c := net.ListenConfig{Control: controlled(congestion)}
	c.SetMultipathTCP(false) // its sockets do not tell tcp_info
	err = h.do(func() error {
		l, err = c.Listen(ctx, "tcp", net.JoinHostPort(h.Address, "0"))
		return err
	})
	return l, err
}

// dial connects from the host to an address.
func (h Host) dial(ctx context.Context, address, congestion string) (c net.Conn, err error) {
	d := net.Dialer{Control: controlled(congestion)}
	d.SetMultipathTCP(false)
	err = h.do(func() error {
		c, err = d.DialContext(ctx, "tcp", address)
		return err
	})
	return c, err
}

// controlled sets the congestion control of a socket before it is used.
func controlled(congestion string) func(string, string, syscall.RawConn) error {
	if congestion == "" {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) (err error) {
		if bad := c.Control(func(fd uintptr) {
			err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, congestion)
		}); bad != nil {
			return bad
		}
		if err != nil {
			return &missingControl{congestion, err}
		}
		return nil
	}
}

// missingControl is a congestion control that this kernel does not have.
type missingControl struct {
	name string
	err  error
}

func (m *missingControl) Error() string {
	return "congestion control " + m.name + ": " + m.err.Error() + "; want one of net.ipv4.tcp_available_congestion_control"
}

func (m *missingControl) Unwrap() error { return m.err }

// abort closes a connection without a farewell: what waits in its buffers
// does not run on into the next measurement.
func abort(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // closed already is as good
	}
	_ = c.Close()
}
