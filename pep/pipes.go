package pep

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipes is a pool of kernel pipes. A stream holds one only while bytes are in
// it, so that an idle connection costs none.
type pipes struct{ free chan pipe }

type pipe struct{ read, write int }

const (
	pipeSize  = 256 << 10
	pipesKept = 1024
)

// take returns an empty pipe.
func (ps *pipes) take() (pipe, error) {
	select {
	case p := <-ps.free:
		return p, nil
	default:
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return pipe{}, err
	}
	// Refused beyond the user's share of pipe pages: a small pipe works too.
	unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, pipeSize)
	return pipe{fds[0], fds[1]}, nil
}

// give returns an empty pipe to the pool.
func (ps *pipes) give(p pipe) {
	select {
	case ps.free <- p:
	default:
		p.close()
	}
}

func (p pipe) close() {
	unix.Close(p.read)
	unix.Close(p.write)
}

// close empties the pool.
func (ps *pipes) close() {
	for {
		select {
		case p := <-ps.free:
			p.close()
		default:
			return
		}
	}
}

// fill waits until the socket has bytes and moves them into a pipe. io.EOF is
// the peer's FIN.
func (ps *pipes) fill(from syscall.RawConn) (p pipe, n int64, err error) {
	held := false
	wait := from.Read(func(fd uintptr) bool {
		if !held {
			if p, err = ps.take(); err != nil {
				return true
			}
			held = true
		}
		n, err = splice(int(fd), p.write, pipeSize)
		if n == 0 || err == unix.EAGAIN {
			n, err = urgent(int(fd), p)
		}
		if err == unix.EAGAIN {
			ps.give(p)
			held = false
			return false
		}
		return true
	})
	if wait != nil {
		err = wait
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil && held {
		ps.give(p) // nothing is in it
	}
	return p, n, err
}

// urgent moves the byte at which splice stops. The kernel's splice never
// passes an urgent byte, not even one that is read in line (tcp_read_sock);
// reading does.
func urgent(fd int, p pipe) (int64, error) {
	var one [1]byte
	n, _, err := unix.Recvfrom(fd, one[:], unix.MSG_DONTWAIT)
	if err != nil || n == 0 {
		return 0, err
	}
	n, err = unix.Write(p.write, one[:])
	return int64(n), err
}

// empty moves n bytes from the pipe into the socket, waiting for room, and
// returns the pipe to the pool.
func (ps *pipes) empty(p pipe, to syscall.RawConn, n int64) error {
	for n > 0 {
		var moved int64
		var err error
		wait := to.Write(func(fd uintptr) bool {
			moved, err = splice(p.read, int(fd), int(n))
			return err != unix.EAGAIN
		})
		if wait != nil {
			err = wait
		}
		if err != nil {
			p.close() // bytes are left in it
			return err
		}
		n -= moved
	}
	ps.give(p)
	return nil
}

func splice(from, to, n int) (int64, error) {
	for {
		moved, err := unix.Splice(from, nil, to, nil, n, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		if err != unix.EINTR {
			return moved, err
		}
	}
}
