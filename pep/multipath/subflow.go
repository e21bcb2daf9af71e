package multipath

import (
	"errors"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/link"
	"farlink/pep/framing"
	"farlink/pep/schedule"
)

// subflow is one path of one connection: a kernel TCP socket.
type subflow struct {
	index   int
	carrier string
	backup  bool
	conn    *net.TCPConn
	raw     syscall.RawConn
	law     string // its congestion control

	mu      sync.Mutex // of writing
	pending []byte     // what the socket did not take of a frame

	sent, received atomic.Uint64 // bytes of frames

	// Of the pump alone.
	path     schedule.Path
	acked    uint64
	progress time.Time // when something was last acknowledged
	lost     bool      // its chunks were given to others
	quiet    bool      // all that was written is acknowledged
	trial    time.Time // until then only a backup
}

func newSubflow(index int, carrier string, conn *net.TCPConn, law string) (*subflow, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &subflow{index: index, carrier: carrier, conn: conn, raw: raw, law: law, progress: time.Now()}, nil
}

// errFull is a socket that takes nothing now.
var errFull = errors.New("socket full")

// send writes a frame, or nothing of it: what the socket takes only a part of
// is kept and goes first next time.
func (f *subflow) send(frame *framing.Frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.flushLocked(); err != nil {
		return err
	}
	var header [framing.HeaderSize]byte
	frame.Header(header[:])
	n, err := f.write(header[:], frame.Payload)
	if err != nil {
		return err
	}
	if n < len(header) {
		f.pending = append(append(f.pending[:0], header[n:]...), frame.Payload...)
	} else if n -= len(header); n < len(frame.Payload) {
		f.pending = append(f.pending[:0], frame.Payload[n:]...)
	}
	f.sent.Add(uint64(framing.HeaderSize + len(frame.Payload)))
	return nil
}

// insist writes a frame that must go, if late.
func (f *subflow) insist(frame *framing.Frame) error {
	err := f.send(frame)
	if !errors.Is(err, errFull) {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) < mostPending {
		f.pending = frame.Append(f.pending)
	}
	return nil
}

// mostPending bounds what waits for a socket: acknowledgements are cumulative,
// a later one says as much.
const mostPending = 256 << 10

// flush writes what is left of frames.
func (f *subflow) flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.flushLocked()
}

// late reports whether the socket has yet to take something.
func (f *subflow) late() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pending) > 0
}

func (f *subflow) flushLocked() error {
	if len(f.pending) == 0 {
		return nil
	}
	n, err := f.write(f.pending, nil)
	if err != nil {
		return err
	}
	f.pending = f.pending[:copy(f.pending, f.pending[n:])]
	if len(f.pending) > 0 {
		return errFull
	}
	return nil
}

// write gives the socket what it takes at once.
func (f *subflow) write(a, b []byte) (n int, err error) {
	var failed error
	err = f.raw.Control(func(fd uintptr) {
		n, failed = unix.SendmsgBuffers(int(fd), [][]byte{a, b}, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	})
	switch {
	case errors.Is(failed, unix.EAGAIN), errors.Is(failed, unix.EINTR):
		return 0, errFull
	case failed != nil:
		return 0, failed
	}
	return n, err
}

// info reads TCP_INFO.
func (f *subflow) info() (info *unix.TCPInfo, err error) {
	var failed error
	err = f.raw.Control(func(fd uintptr) {
		info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	})
	return info, errors.Join(err, failed)
}

// staleLeast is the least time without any acknowledgement after which a path
// is held for silent.
const staleLeast = 150 * time.Millisecond

// look reads TCP_INFO into the path. It reports an error when the socket is
// no more.
func (f *subflow) look(now time.Time) error {
	info, err := f.info()
	if err != nil {
		return err
	}
	if info.State != established && info.State != closeWait {
		return net.ErrClosed
	}
	full := f.late()
	p := &f.path
	*p = schedule.Path{
		SRTT: link.Duration(info.Rtt) * link.Microsecond, RTTVar: link.Duration(info.Rttvar) * link.Microsecond,
		MSS: int(info.Snd_mss), Cwnd: int(info.Snd_cwnd), NotSent: int(info.Notsent_bytes),
		Inflight: int(info.Unacked) - int(info.Sacked) - int(info.Lost) + int(info.Retrans),
		Ssthresh: int(min(info.Snd_ssthresh, math.MaxInt32)), Rate: link.Rate(info.Delivery_rate * 8),
		Paced: f.law == "bbr" || f.law == "xlayer", Full: full, Backup: f.backup || now.Before(f.trial),
	}
	if p.Paced {
		p.Pacing = link.Rate(info.Pacing_rate * 8)
	}
	if info.Ca_state == caLoss {
		p.State = schedule.Loss
	}
	f.quiet = info.Unacked == 0 && info.Notsent_bytes == 0 && !full
	if info.Bytes_acked != f.acked || info.Unacked == 0 {
		f.acked, f.progress = info.Bytes_acked, now
	}
	silent := now.Sub(f.progress)
	if silent > max(2*time.Duration(p.SRTT+4*p.RTTVar), staleLeast) || info.Retransmits > 0 && silent > staleLeast/2 {
		p.State = schedule.Stale
	}
	return nil
}

// Of linux/tcp.h.
const (
	established = 1
	closeWait   = 8
	caLoss      = 4
)

// shut ends the sending.
func (f *subflow) shut() { f.conn.CloseWrite() }
