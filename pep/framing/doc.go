// Package framing is what the two ends of a multipath relay say to each other
// over N byte streams (TCP subflows), and the books that each end keeps:
// chunks sent (Book) and chunks that came out of order (Reorder).
//
//	 0       1       2               4               8
//	┌───────┬───────┬───────────────┬───────────────┐
//	│ type  │ flags │ zero          │ payload bytes │
//	├───────┴───────┴───────────────┴───────────────┤
//	│ data sequence number (bytes)                  │
//	├───────────────────────────────┬───────────────┤
//	│ stamp, µs of the sender       │ CRC-32C       │
//	└───────────────────────────────┴───────────────┘  24 bytes, big endian
//
// This is farlink's own protocol between two relays, not MPTCP: on the wire
// each subflow is an ordinary TCP connection. The CRC is over the header
// (without itself) and the payload.
package framing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Type is what a frame is.
type Type uint8

// The types of frames.
const (
	Data    Type = iota + 1 // bytes of the connection at a sequence number; flag Last: its end
	Ack                     // all below the number are there; payload: up to where the peer may send
	Connect                 // to the proxy, once a connection: where to
	Opened                  // from the proxy: the server has answered
	Reset                   // the connection is over; payload: why; flag Last: it had ended properly
	end
)

// Last is the flag of the chunk that ends a direction. It takes one number.
const Last = 1

// Sizes in bytes.
const (
	HeaderSize  = 24
	MostPayload = 64 << 10
)

// Frame is a frame; Payload is a view that is overwritten by the next read.
type Frame struct {
	Type    Type
	Flags   uint8
	DSN     uint64
	Stamp   uint32
	Payload []byte
}

// Errors of frames.
var (
	ErrCorrupt = errors.New("corrupt frame")
	ErrUnknown = errors.New("unknown frame")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header writes the header of a frame into h, which is HeaderSize long.
func (f *Frame) Header(h []byte) {
	h[0], h[1], h[2], h[3] = byte(f.Type), f.Flags, 0, 0
	binary.BigEndian.PutUint32(h[4:], uint32(len(f.Payload)))
	binary.BigEndian.PutUint64(h[8:], f.DSN)
	binary.BigEndian.PutUint32(h[16:], f.Stamp)
	sum := crc32.Update(crc32.Checksum(h[:20], castagnoli), castagnoli, f.Payload)
	binary.BigEndian.PutUint32(h[20:], sum)
}

// Append writes the frame at the end of b.
func (f *Frame) Append(b []byte) []byte {
	var h [HeaderSize]byte
	f.Header(h[:])
	return append(append(b, h[:]...), f.Payload...)
}

// Reader reads frames of one stream.
type Reader struct {
	from   io.Reader
	header [HeaderSize]byte
	body   []byte
}

// NewReader reads from a stream; give it one with a buffer.
func NewReader(from io.Reader) *Reader { return &Reader{from: from, body: make([]byte, 0, 8<<10)} }

// Next reads a frame. io.EOF is the end between two frames; any other error
// leaves the stream of no use.
func (r *Reader) Next() (f Frame, err error) {
	if _, err := io.ReadFull(r.from, r.header[:]); err != nil {
		return f, err
	}
	h := r.header[:]
	f = Frame{Type: Type(h[0]), Flags: h[1], DSN: binary.BigEndian.Uint64(h[8:]), Stamp: binary.BigEndian.Uint32(h[16:])}
	size := binary.BigEndian.Uint32(h[4:])
	switch {
	case size > MostPayload:
		return f, fmt.Errorf("%w: %d bytes of payload, at most %d", ErrCorrupt, size, MostPayload)
	case f.Type == 0 || f.Type >= end:
		return f, fmt.Errorf("%w: type %d", ErrUnknown, f.Type)
	}
	if int(size) > cap(r.body) {
		r.body = make([]byte, size)
	}
	f.Payload = r.body[:size]
	if _, err := io.ReadFull(r.from, f.Payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return f, err
	}
	want := binary.BigEndian.Uint32(h[20:])
	if got := crc32.Update(crc32.Checksum(h[:20], castagnoli), castagnoli, f.Payload); got != want {
		return f, fmt.Errorf("%w: CRC %08x of type %d at %d, want %08x", ErrCorrupt, got, f.Type, f.DSN, want)
	}
	return f, nil
}

// AckFrame says that all below dsn is there and that the peer may send up to
// limit.
func AckFrame(dsn, limit uint64) Frame {
	return Frame{Type: Ack, DSN: dsn, Payload: binary.BigEndian.AppendUint64(nil, limit)}
}

// Limit reads the payload of an Ack.
func (f *Frame) Limit() (uint64, error) {
	if len(f.Payload) != 8 {
		return 0, fmt.Errorf("%w: acknowledgement with %d bytes, want 8", ErrCorrupt, len(f.Payload))
	}
	limit := binary.BigEndian.Uint64(f.Payload)
	if limit < f.DSN {
		return 0, fmt.Errorf("%w: window ends at %d, before %d", ErrCorrupt, limit, f.DSN)
	}
	return limit, nil
}
