// Package relay joins two TCP connections into one: bytes are spliced through
// kernel pipes, a FIN is passed on by itself (half-close), a reset behind what
// was acknowledged before it, an urgent byte as urgent.
//
//	client ── socket ─ splice ─▶ pipe ─ splice ─▶ socket ── server
//	                ◀─ splice ── pipe ◀─ splice ─
package relay

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// How a relay ended.
const (
	open int32 = iota
	ended
	reset
)

// Relay is two connections and what moves between them.
type Relay struct {
	Client, Server *net.TCPConn
	Up, Down       Stream // Up is from the client
	state          atomic.Int32
}

// Stream is one direction of a relay.
type Stream struct {
	from, to *net.TCPConn
	bytes    atomic.Uint64
	done     atomic.Bool
}

// Bytes is how many were moved.
func (st *Stream) Bytes() uint64 { return st.bytes.Load() }

// Done reports whether its FIN is passed on.
func (st *Stream) Done() bool { return st.done.Load() }

// Run moves bytes both ways until both directions have ended, and reports
// whether by a reset.
func (r *Relay) Run(pool *Pool) (wasReset bool) {
	r.Up.from, r.Up.to = r.Client, r.Server
	r.Down.from, r.Down.to = r.Server, r.Client
	var both sync.WaitGroup
	for _, st := range []*Stream{&r.Up, &r.Down} {
		both.Go(func() { r.finish(st, st.run(pool)) })
	}
	both.Wait()
	r.state.CompareAndSwap(open, ended)
	r.Client.Close()
	r.Server.Close()
	return r.state.Load() == reset
}

// Abort closes both with a reset.
func (r *Relay) Abort() {
	Abort(r.Client)
	Abort(r.Server)
}

// finish passes on how a direction ended.
func (r *Relay) finish(st *Stream, err error) {
	opposite := &r.Up
	if st == opposite {
		opposite = &r.Down
	}
	if err == nil && !opposite.done.Load() && closed(st.from) {
		err = unix.ECONNRESET // the kernel tells it once, and told the opposite stream
	}
	if err == nil {
		st.done.Store(true)
		err = st.to.CloseWrite()
		if err == nil || errors.Is(err, unix.ENOTCONN) {
			return
		}
	}
	if !r.state.CompareAndSwap(open, reset) {
		return
	}
	// What a sender was told is received must arrive before the reset.
	end := time.Now().Add(drainTime)
	drain(r.Client, end)
	drain(r.Server, end)
	r.Abort()
}

// drainTime bounds how long a reset waits for acknowledged bytes to arrive.
const drainTime = 30 * time.Second

// drain waits until the peer has acknowledged all that was sent to it. A
// connection that is closed already will have nothing acknowledged any more,
// though the kernel goes on counting it; who waited for that would go on
// taking from the link for nobody.
func drain(c *net.TCPConn, end time.Time) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	for ; time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		unsent := 0
		err := raw.Control(func(fd uintptr) { unsent, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
		if err != nil || unsent == 0 || closed(c) {
			return
		}
	}
}

// closed reports whether a connection has ended both ways, by reset or by
// FINs.
func closed(c *net.TCPConn) bool {
	i := Info(c)
	return i == nil || i.State == unix.BPF_TCP_CLOSE
}

// run moves bytes until the sender's FIN (nil) or an error.
func (st *Stream) run(pool *Pool) error {
	from, err := st.from.SyscallConn()
	if err != nil {
		return err
	}
	to, err := st.to.SyscallConn()
	if err != nil {
		return err
	}
	for {
		p, n, err := pool.fill(from)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := pool.empty(p, to, n); err != nil {
			return err
		}
		st.bytes.Add(uint64(n))
	}
}

// Info is TCP_INFO of a connection, nil once it is closed.
func Info(c *net.TCPConn) (i *unix.TCPInfo) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	raw.Control(func(fd uintptr) {
		if got, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			i = got
		}
	})
	return i
}

// Abort closes a connection with a reset.
func Abort(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}
