package pep

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// How a split connection ended.
const (
	endOpen int32 = iota
	endClosed
	endReset
)

// stream is one direction of a split connection.
type stream struct {
	from, to *net.TCPConn
	bytes    atomic.Uint64
	done     atomic.Bool // its FIN is passed on
}

// relay moves bytes both ways until both directions have ended: a FIN is
// passed on by itself, a reset after what was read before it.
func (s *Split) relay(pool *pipes) {
	s.up.from, s.up.to = s.client, s.server
	s.down.from, s.down.to = s.server, s.client
	var both sync.WaitGroup
	for _, st := range []*stream{&s.up, &s.down} {
		both.Add(1)
		go func() {
			defer both.Done()
			s.finish(st, st.run(pool))
		}()
	}
	both.Wait()
	s.ended.CompareAndSwap(endOpen, endClosed)
	s.client.Close()
	s.server.Close()
}

// finish passes on how a direction ended.
func (s *Split) finish(st *stream, err error) {
	opposite := &s.up
	if st == opposite {
		opposite = &s.down
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
	if !s.ended.CompareAndSwap(endOpen, endReset) {
		return
	}
	// What a sender was told is received must arrive before the reset.
	end := time.Now().Add(drainTime)
	drain(s.client, end)
	drain(s.server, end)
	abort(s.client)
	abort(s.server)
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
	i := tcpInfo(c)
	return i == nil || i.State == unix.BPF_TCP_CLOSE
}

// run moves bytes until the sender's FIN (nil) or an error.
func (st *stream) run(pool *pipes) error {
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
