package relay

import (
	"io"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pool is one of kernel pipes. A stream holds one only while bytes are in
// it, so that an idle connection costs none. Where more would be held than
// there are descriptors for, since many receivers do not read, bytes wait in
// buffers instead.
type Pool struct {
	free chan pipe
	held atomic.Int64 // pipes there are, in use or free
	most int64
}

// pipe is where bytes are between two sockets: in a kernel pipe, or in copied
// where there was none. urgent says that the one byte in copied is urgent.
type pipe struct {
	read, write int
	copied      []byte
	urgent      bool
}

const (
	pipeSize = 256 << 10
	// MostPipes are enough for any number of connections: few have bytes on the
	// way at a time.
	MostPipes = 1024
	copySize  = 16 << 10
)

// NewPool returns a pool of so many pipes at most, of two descriptors each.
func NewPool(most int) *Pool {
	return &Pool{free: make(chan pipe, most), most: int64(most)}
}

// take returns an empty pipe, ok false where there may be no more of them.
func (ps *Pool) take() (p pipe, ok bool) {
	select {
	case p := <-ps.free:
		return p, true
	default:
	}
	var fds [2]int
	if ps.held.Add(1) > ps.most || unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK) != nil {
		ps.held.Add(-1)
		return pipe{}, false
	}
	// Refused beyond the user's share of pipe pages: a small pipe works too.
	unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, pipeSize)
	return pipe{read: fds[0], write: fds[1]}, true
}

// give returns an empty pipe to the pool.
func (ps *Pool) give(p pipe) {
	select {
	case ps.free <- p:
	default:
		ps.discard(p)
	}
}

// discard closes a pipe.
func (ps *Pool) discard(p pipe) {
	unix.Close(p.read)
	unix.Close(p.write)
	ps.held.Add(-1)
}

// Close empties the pool; it fills again as pipes are needed.
func (ps *Pool) Close() {
	for {
		select {
		case p := <-ps.free:
			ps.discard(p)
		default:
			return
		}
	}
}

// fill waits until the socket has bytes and takes them out of it. io.EOF is
// the peer's FIN.
func (ps *Pool) fill(from syscall.RawConn) (p pipe, n int64, err error) {
	wait := from.Read(func(fd uintptr) bool {
		p, n, err = ps.receive(int(fd))
		return err != unix.EAGAIN
	})
	if wait != nil {
		err = wait
	}
	return p, n, err
}

// receive takes out of a socket what it has. The kernel's splice never passes
// an urgent byte, not even one that is read in line (tcp_read_sock).
func (ps *Pool) receive(fd int) (p pipe, n int64, err error) {
	if atMark(fd) {
		p = pipe{copied: make([]byte, 1), urgent: true}
		n, err = read(fd, p.copied)
		return p, n, err
	}
	p, ok := ps.take()
	if !ok {
		p = pipe{copied: make([]byte, copySize)}
		n, err = read(fd, p.copied)
		return p, n, err
	}
	n, err = splice(fd, p.write, pipeSize)
	if err == nil && n > 0 {
		return p, n, nil
	}
	ps.give(p) // nothing is in it
	if err == nil && atMark(fd) {
		return ps.receive(fd)
	}
	if err == nil {
		err = io.EOF
	}
	return p, 0, err
}

// atMark reports whether the next byte of a socket is urgent.
func atMark(fd int) bool {
	mark, err := unix.IoctlGetInt(fd, unix.SIOCATMARK)
	return err == nil && mark == 1
}

func read(fd int, to []byte) (int64, error) {
	for {
		n, _, err := unix.Recvfrom(fd, to, unix.MSG_DONTWAIT)
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = io.EOF
		}
		return int64(max(n, 0)), err
	}
}

// empty puts n bytes into the socket, waiting for room, and returns the pipe
// to the pool.
func (ps *Pool) empty(p pipe, to syscall.RawConn, n int64) error {
	for n > 0 {
		var moved int64
		var err error
		wait := to.Write(func(fd uintptr) bool {
			moved, err = p.send(int(fd), int(n))
			return err != unix.EAGAIN
		})
		if wait != nil {
			err = wait
		}
		if err != nil {
			if p.copied == nil {
				ps.discard(p) // bytes are left in it
			}
			return err
		}
		n -= moved
		if p.copied != nil {
			p.copied = p.copied[moved:]
		}
	}
	if p.copied == nil {
		ps.give(p)
	}
	return nil
}

// send puts what there is room for, of the n bytes that are left, into a
// socket.
func (p pipe) send(fd, n int) (int64, error) {
	if p.copied == nil {
		return splice(p.read, fd, n)
	}
	flags := unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL
	if p.urgent {
		flags |= unix.MSG_OOB
	}
	for {
		moved, err := unix.SendmsgN(fd, p.copied[:n], nil, nil, flags)
		if err != unix.EINTR {
			return int64(max(moved, 0)), err
		}
	}
}

func splice(from, to, n int) (int64, error) {
	for {
		moved, err := unix.Splice(from, nil, to, nil, n, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		if err != unix.EINTR {
			return moved, err
		}
	}
}
