package pcap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Reader reads the packets of a capture of either format.
type Reader struct {
	in     *bufio.Reader
	offset int64 // of the next byte
	start  int64 // of the record being read, for errors
	order  binary.ByteOrder
	buf    []byte // body of the record being read; reused
	faces  []Interface

	ng     bool
	nanos  int64 // classic: ns per unit of the fraction
	failed error // once the file is at fault nothing more is read
}

// First words of a file, as a big-endian reader sees them.
const (
	magicMicros    = 0xA1B2C3D4
	magicNanos     = 0xA1B23C4D
	magicMicrosLE  = 0xD4C3B2A1
	magicNanosLE   = 0x4D3CB2A1
	magicModified  = 0xA1B2CD34 // Kuznetzov's patched libpcap, 1999
	magicModLE     = 0x34CDB2A1
	magicSection   = 0x0A0D0D0A // pcapng; the same in both orders
	magicGzip      = 0x1F8B
	classicFileLen = 24
	classicHeadLen = 16
)

// NewReader tells the format by its first bytes and reads its header. It
// buffers by itself.
func NewReader(r io.Reader) (*Reader, error) {
	in := &Reader{in: bufio.NewReaderSize(r, 64<<10)}
	first, err := in.in.Peek(4)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, in.fault(err, "file header: %d bytes, want a pcap or pcapng file", len(first))
	}
	switch magic := binary.BigEndian.Uint32(first); magic {
	case magicSection:
		in.ng = true
		err = in.openSection()
	case magicMicros, magicNanos:
		in.order = binary.BigEndian
		err = in.openClassic(magic)
	case magicMicrosLE, magicNanosLE:
		in.order = binary.LittleEndian
		err = in.openClassic(binary.LittleEndian.Uint32(first))
	case magicModified, magicModLE:
		return nil, in.fault(nil, "modified pcap (magic %#08x) is not supported; convert it with editcap", magic)
	default:
		if magic>>16 == magicGzip {
			return nil, in.fault(nil, "the file is compressed with gzip; gunzip it first")
		}
		return nil, in.fault(nil, "magic %#08x is neither pcap nor pcapng", magic)
	}
	if err != nil {
		return nil, err
	}
	return in, nil
}

// Interfaces returns the interfaces known so far in the current section; a
// classic file has one. The slice is valid until the next call of Next.
func (r *Reader) Interfaces() []Interface { return r.faces }

// Offset returns how many bytes of the file have been read.
func (r *Reader) Offset() int64 { return r.offset }

// Next returns the next packet, and io.EOF behind the last. Data is valid
// until the following call. After an error every call returns that error.
func (r *Reader) Next() (Packet, error) {
	if r.failed != nil {
		return Packet{}, r.failed
	}
	read := r.nextClassic
	if r.ng {
		read = r.nextBlock
	}
	p, err := read()
	r.failed = err
	return p, err
}

// fault returns an Error at the record being read.
func (r *Reader) fault(cause error, format string, args ...any) error {
	return &Error{Offset: r.start, Text: fmt.Sprintf(format, args...), Cause: cause}
}

// take reads n bytes into the buffer at its place at.
func (r *Reader) take(at, n int, what string) ([]byte, error) {
	r.grow(at + n)
	got, err := io.ReadFull(r.in, r.buf[at:at+n])
	r.offset += int64(got)
	if err == nil {
		return r.buf[at : at+n], nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return nil, r.fault(err, "%s: %d of %d bytes", what, got, n)
}

// grow makes room for n bytes, keeping what is there.
func (r *Reader) grow(n int) {
	if n > len(r.buf) {
		bigger := make([]byte, max(n, 2*len(r.buf), 4096))
		copy(bigger, r.buf)
		r.buf = bigger
	}
}

// skip passes over n bytes.
func (r *Reader) skip(n int64, what string) error {
	for n > 0 {
		got, err := r.in.Discard(int(min(n, 1<<30)))
		r.offset += int64(got)
		n -= int64(got)
		if err != nil {
			return r.fault(io.ErrUnexpectedEOF, "%s: %d bytes missing", what, n)
		}
	}
	return nil
}

// atEnd reports whether the file ends here, between two records.
func (r *Reader) atEnd() (bool, error) {
	r.start = r.offset
	if _, err := r.in.Peek(1); errors.Is(err, io.EOF) {
		return true, nil
	} else if err != nil {
		return false, r.fault(err, "next record")
	}
	return false, nil
}

// openClassic reads the file header of a classic capture.
func (r *Reader) openClassic(magic uint32) error {
	h, err := r.take(0, classicFileLen, "file header")
	if err != nil {
		return err
	}
	if major := r.order.Uint16(h[4:]); major != 2 {
		return r.fault(nil, "pcap version %d.%d, want 2.x", major, r.order.Uint16(h[6:]))
	}
	r.nanos = 1000
	if magic == magicNanos {
		r.nanos = 1
	}
	// The upper half of the last word holds FCS length and other hints.
	r.faces = []Interface{{LinkType: uint16(r.order.Uint32(h[20:])), SnapLen: r.order.Uint32(h[16:])}}
	return nil
}

// nextClassic reads one record of a classic capture.
func (r *Reader) nextClassic() (Packet, error) {
	if end, err := r.atEnd(); err != nil {
		return Packet{}, err
	} else if end {
		return Packet{}, io.EOF
	}
	h, err := r.take(0, classicHeadLen, "record header")
	if err != nil {
		return Packet{}, err
	}
	kept, length := r.order.Uint32(h[8:]), r.order.Uint32(h[12:])
	at := int64(r.order.Uint32(h))*1e9 + int64(r.order.Uint32(h[4:]))*r.nanos
	if kept > maxPacket {
		return Packet{}, r.fault(nil, "record of %d bytes, want at most %d", kept, maxPacket)
	}
	data, err := r.take(classicHeadLen, int(kept), "packet")
	if err != nil {
		return Packet{}, err
	}
	return Packet{Time: at, Data: data, Length: wireLength(kept, length)}, nil
}

// wireLength is the original length, which some writers leave 0 or smaller
// than what they kept.
func wireLength(kept, length uint32) int {
	return int(max(kept, min(length, 1<<30)))
}
