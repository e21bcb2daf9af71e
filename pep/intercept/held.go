package intercept

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"
)

// Held is a SYN that waits for the far side's answer.
type Held struct {
	Ends
	FromLAN bool
	Rule    int
	Since   uint64 // of its flow

	key   interceptTuple
	index int
	frame []byte
}

// States of a flow, as in words.h.
const (
	stateHeld = iota + 1
	stateOpen
	stateRefused
)

// Syns reads the SYNs that the programs hold, and lets them go on.
type Syns struct {
	space *Space
	ring  *ringbuf.Reader
	raw   map[int]int // packet sockets by ifindex
}

// Syns opens the queue of held SYNs. One reader at a time.
func (s *Space) Syns() (*Syns, error) {
	ring, err := ringbuf.NewReader(s.objects.Syns)
	if err != nil {
		return nil, fmt.Errorf("queue of held SYNs: %w", err)
	}
	q := &Syns{space: s, ring: ring, raw: map[int]int{}}
	for _, index := range []int{s.lan.Index, s.wan.Index} {
		fd, err := replaySocket(index)
		if err != nil {
			return nil, errors.Join(err, q.Close())
		}
		q.raw[index] = fd
	}
	return q, nil
}

// replaySocket sends frames that the program on the way out turns round, so
// that they come in by the port again.
func replaySocket(index int) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("packet socket: %w", err)
	}
	err = errors.Join(
		unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: index}),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, markReplay))
	if err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("packet socket: %w", err)
	}
	return fd, nil
}

// Close ends Next.
func (q *Syns) Close() error {
	err := q.ring.Close()
	for _, fd := range q.raw {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
}

// Next waits for the next held SYN; ringbuf.ErrClosed after Close.
func (q *Syns) Next() (Held, error) {
	record, err := q.ring.Read()
	if err != nil {
		return Held{}, err
	}
	var raw interceptHeld
	if len(record.RawSample) < int(unsafe.Sizeof(raw)) {
		return Held{}, fmt.Errorf("held SYN of %d bytes: want %d", len(record.RawSample), unsafe.Sizeof(raw))
	}
	raw = *(*interceptHeld)(unsafe.Pointer(&record.RawSample[0]))
	h := Held{key: raw.Tuple, index: int(raw.Ifindex), Rule: int(raw.Rule), Since: raw.Since, FromLAN: int(raw.Ifindex) == q.space.lan.Index}
	h.frame = append([]byte(nil), raw.Frame[:min(raw.Length, uint32(len(raw.Frame)))]...)
	var v6 bool
	h.frame, v6 = normalise(h.frame)
	a, b := ends(&raw.Tuple, v6)
	if raw.ClientIsA == 0 {
		a, b = b, a
	}
	h.Ends = Ends{Client: a, Server: b}
	return h, nil
}

// Open lets the SYN in: the listener answers it.
func (q *Syns) Open(h Held) error { return q.release(h, stateOpen) }

// Refuse has the SYN answered by a reset.
func (q *Syns) Refuse(h Held) error { return q.release(h, stateRefused) }

// Drop forgets the SYN: the client hears nothing.
func (q *Syns) Drop(h Held) error { return q.space.Forget(h.Ends, h.Since) }

// release sets the flow's state and replays the SYN.
func (q *Syns) release(h Held, state uint32) error {
	var f interceptFlow
	flows := q.space.objects.Flows
	if err := flows.Lookup(&h.key, &f); err != nil {
		return fmt.Errorf("release the SYN of %v: %w", h.Client, err)
	}
	if f.Since != h.Since {
		return fmt.Errorf("release the SYN of %v: it has begun anew", h.Client)
	}
	f.State = state
	if err := flows.Update(&h.key, &f, ebpf.UpdateExist); err != nil {
		return fmt.Errorf("release the SYN of %v: %w", h.Client, err)
	}
	if _, err := unix.Write(q.raw[h.index], h.frame); err != nil {
		return fmt.Errorf("replay the SYN of %v: %w", h.Client, err)
	}
	return nil
}

// makeTuple is the key of a connection, and whether its client is the a end.
func makeTuple(e Ends) (key interceptTuple, clientIsA bool) {
	client, server := words(e.Client.Addr()), words(e.Server.Addr())
	cp, sp := order(e.Client.Port()), order(e.Server.Port())
	if precedes(client, server, cp, sp) {
		return interceptTuple{A: client, B: server, A_port: cp, B_port: sp}, true
	}
	return interceptTuple{A: server, B: client, A_port: sp, B_port: cp}, false
}

// precedes is the order of parse.h: the words as they lie in memory.
func precedes(x, y [4]uint32, p, q uint16) bool {
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return p < q
}

// words is an address as four words in network order; IPv4 in the first.
func words(a netip.Addr) (w [4]uint32) {
	b := a.As16()
	if a.Is4() || a.Is4In6() {
		w[0] = binary.NativeEndian.Uint32(b[12:])
		return w
	}
	for i := range w {
		w[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return w
}

// order turns a port number into network order as it lies in memory, and
// back.
func order(p uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, p))
}

// ends are the two ends of a tuple.
func ends(t *interceptTuple, v6 bool) (a, b netip.AddrPort) {
	return netip.AddrPortFrom(address(t.A, v6), order(t.A_port)), netip.AddrPortFrom(address(t.B, v6), order(t.B_port))
}

func address(w [4]uint32, v6 bool) netip.Addr {
	var b [16]byte
	for i, x := range w {
		binary.NativeEndian.PutUint32(b[4*i:], x)
	}
	if v6 {
		return netip.AddrFrom16(b)
	}
	return netip.AddrFrom4([4]byte(b[:4]))
}
