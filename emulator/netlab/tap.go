package netlab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tap sends and receives whole Ethernet frames at an endpoint's interface.
type Tap struct {
	fd    int
	index int
	oob   [256]byte
}

// Frame is a frame as a tap saw it.
type Frame struct {
	Bytes    []byte // with its VLAN tag, even where the kernel took that off
	At       int64  // the kernel's stamp, CLOCK_REALTIME ns; 0 if it made none
	Outgoing bool   // sent from this interface, not received
}

// Tap opens a tap that sees every frame, promiscuously.
func (e End) Tap() (*Tap, error) {
	t := &Tap{fd: -1}
	err := e.Do(func() error {
		if err := t.open(e.Dev); err != nil {
			return err
		}
		return awaitStamps()
	})
	if err != nil {
		return nil, fmt.Errorf("tap on %s in %s: %w", e.Dev, e.Netns, err)
	}
	return t, nil
}

// ethAll is ETH_P_ALL in network byte order.
const ethAll = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8

func (t *Tap) open(dev string) error {
	i, err := net.InterfaceByName(dev)
	if err != nil {
		return err
	}
	t.index = i.Index
	if t.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	mreq := unix.PacketMreq{Ifindex: int32(i.Index), Type: unix.PACKET_MR_PROMISC}
	return errors.Join(
		unix.SetsockoptInt(t.fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
		unix.SetsockoptInt(t.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING_NEW, stamping),
		unix.SetsockoptInt(t.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20),
		unix.SetsockoptPacketMreq(t.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &mreq),
		unix.Bind(t.fd, &unix.SockaddrLinklayer{Protocol: ethAll, Ifindex: i.Index}),
	)
}

// stamping asks for the stamps that the kernel makes when a frame passes the
// interface. (SO_TIMESTAMPNS would make one up when the frame is read, if
// there was none.)
const stamping = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE

// awaitStamps waits until frames are stamped: the kernel begins to a little
// after the first socket that asks for it, for all interfaces at once.
func awaitStamps() error {
	near, far := &Tap{fd: -1}, &Tap{fd: -1}
	defer func() { near.Close(); far.Close() }()
	if err := errors.Join(near.open("lo"), far.open("lo")); err != nil {
		return err
	}
	frame, buf := probeFrame(ProbeOptions{Size: 60}), make([]byte, 256)
	for range 500 {
		if err := near.Send(frame); err != nil {
			return err
		}
		if f, err := far.Receive(buf, 10*time.Millisecond); err == nil && f.At != 0 {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("the kernel does not stamp frames")
}

// Close closes the tap.
func (t *Tap) Close() error { return unix.Close(t.fd) }

// Send sends one frame as it is.
func (t *Tap) Send(frame []byte) error {
	_, err := unix.Write(t.fd, frame)
	return err
}

// Receive returns the next frame in buf, or an error that is
// os.ErrDeadlineExceeded after timeout.
func (t *Tap) Receive(buf []byte, timeout time.Duration) (Frame, error) {
	poll := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(timeout); ; {
		left := time.Until(deadline)
		ts := unix.NsecToTimespec(max(0, left.Nanoseconds()))
		n, err := unix.Ppoll(poll, &ts, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Frame{}, err
		}
		if n == 0 {
			return Frame{}, errTimeout
		}
		return t.read(buf)
	}
}

var errTimeout = fmt.Errorf("no frame: %w", unix.ETIMEDOUT)

// IsTimeout reports whether Receive waited in vain.
func IsTimeout(err error) bool { return errors.Is(err, unix.ETIMEDOUT) }

func (t *Tap) read(buf []byte) (Frame, error) {
	// Room in front, to put a tag back without moving the whole frame.
	n, oobn, _, from, err := unix.Recvmsg(t.fd, buf[4:], t.oob[:], 0)
	if err != nil {
		return Frame{}, err
	}
	f := Frame{Bytes: buf[4 : 4+n]}
	if ll, ok := from.(*unix.SockaddrLinklayer); ok {
		f.Outgoing = ll.Pkttype == unix.PACKET_OUTGOING
	}
	messages, err := unix.ParseSocketControlMessage(t.oob[:oobn])
	if err != nil {
		return f, err
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPING_NEW:
			// struct scm_timestamping64: three times, software's first.
			ts := (*unix.Timespec)(unsafe.Pointer(&m.Data[0]))
			f.At = ts.Nano()
		case m.Header.Level == unix.SOL_PACKET && m.Header.Type == unix.PACKET_AUXDATA:
			f.retag(buf, (*unix.TpacketAuxdata)(unsafe.Pointer(&m.Data[0])))
		}
	}
	return f, nil
}

// retag puts a VLAN tag that the kernel took off back into the frame.
func (f *Frame) retag(buf []byte, aux *unix.TpacketAuxdata) {
	if aux.Status&unix.TP_STATUS_VLAN_VALID == 0 || len(f.Bytes) < 12 {
		return
	}
	copy(buf, f.Bytes[:12])
	binary.BigEndian.PutUint16(buf[12:], aux.Vlan_tpid)
	binary.BigEndian.PutUint16(buf[14:], aux.Vlan_tci)
	f.Bytes = buf[:len(f.Bytes)+4]
}
