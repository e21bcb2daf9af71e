package pcap

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Writer writes one section of pcapng, little endian, with nanoseconds. It
// makes one Write per block and does not allocate once its buffer has grown;
// buffering is the caller's matter.
type Writer struct {
	out   io.Writer
	buf   []byte
	faces int
}

// Header describes a capture as a whole. Empty fields are not written.
type Header struct {
	Comment     string // what the capture shows: profile, seed
	Application string // what wrote it: "farlink 1.0"
}

// NewWriter writes the section header and the interfaces, in the order in
// which packets will number them.
func NewWriter(out io.Writer, h Header, faces ...Interface) (*Writer, error) {
	w := &Writer{out: out, faces: len(faces)}
	w.begin(blockSection)
	w.u32(byteOrderMagic)
	w.u16(1)
	w.u16(0)
	w.u32(0xFFFFFFFF) // section length unknown: -1
	w.u32(0xFFFFFFFF)
	w.options(func() {
		w.textOption(optComment, h.Comment)
		w.textOption(optApplication, h.Application)
	})
	if err := w.end(); err != nil {
		return nil, fmt.Errorf("section header: %w", err)
	}
	for _, f := range faces {
		if err := w.describe(f); err != nil {
			return nil, fmt.Errorf("interface %q: %w", f.Name, err)
		}
	}
	return w, nil
}

// describe writes an interface description.
func (w *Writer) describe(f Interface) error {
	w.begin(blockInterface)
	w.u16(f.LinkType)
	w.u16(0)
	w.u32(f.SnapLen)
	w.options(func() {
		w.textOption(optName, f.Name)
		w.textOption(optDescription, f.Description)
		w.option(optResolution, 1)
		w.buf = append(w.buf, 9, 0, 0, 0) // 10^-9 s, padded
	})
	return w.end()
}

// Write writes a packet as an enhanced packet block. Length 0 stands for
// len(Data). Times before 1970 cannot be written.
func (w *Writer) Write(p Packet) error {
	switch {
	case p.Interface < 0 || p.Interface >= w.faces:
		return fmt.Errorf("packet of interface %d, want one of %d", p.Interface, w.faces)
	case p.Time < 0:
		return fmt.Errorf("packet at %d ns, want a time from 1970 on", p.Time)
	case len(p.Data) > maxPacket:
		return fmt.Errorf("packet of %d bytes, want at most %d", len(p.Data), maxPacket)
	}
	w.begin(blockEnhanced)
	w.u32(uint32(p.Interface))
	w.u32(uint32(uint64(p.Time) >> 32))
	w.u32(uint32(p.Time))
	w.u32(uint32(len(p.Data)))
	w.u32(uint32(max(p.Length, len(p.Data))))
	w.padded(p.Data)
	w.packetOptions(&p)
	return w.end()
}

func (w *Writer) packetOptions(p *Packet) {
	before := len(w.buf)
	w.textOption(optComment, p.Comment)
	if p.Direction != Unknown {
		w.option(optFlags, 4)
		w.u32(uint32(p.Direction))
	}
	if p.Drops != 0 {
		w.option(optDrops, 8)
		w.u64(p.Drops)
	}
	if p.HasID {
		w.option(optPacketID, 8)
		w.u64(p.ID)
	}
	if p.Verdict.Known {
		w.option(optVerdict, 9)
		w.buf = append(w.buf, p.Verdict.Kind)
		w.u64(p.Verdict.Code)
		w.buf = append(w.buf, 0, 0, 0)
	}
	if len(w.buf) > before {
		w.u32(optEnd)
	}
}

// Statistics is the sum of what an interface saw.
type Statistics struct {
	Time     int64 // ns since 1970
	Received uint64
	Dropped  uint64
	Comment  string
}

// Options of the interface statistics block.
const (
	optReceived = 4
	optDropped  = 5
)

// WriteStatistics writes an interface statistics block.
func (w *Writer) WriteStatistics(face int, s Statistics) error {
	if face < 0 || face >= w.faces {
		return fmt.Errorf("statistics of interface %d, want one of %d", face, w.faces)
	}
	w.begin(blockStatistics)
	w.u32(uint32(face))
	w.u32(uint32(uint64(s.Time) >> 32))
	w.u32(uint32(s.Time))
	w.options(func() {
		w.textOption(optComment, s.Comment)
		w.option(optReceived, 8)
		w.u64(s.Received)
		w.option(optDropped, 8)
		w.u64(s.Dropped)
	})
	return w.end()
}

// begin starts a block; its length is filled in by end.
func (w *Writer) begin(kind uint32) {
	w.buf = w.buf[:0]
	w.u32(kind)
	w.u32(0)
}

// end completes the block and writes it.
func (w *Writer) end() error {
	total := uint32(len(w.buf) + 4)
	binary.LittleEndian.PutUint32(w.buf[4:], total)
	w.u32(total)
	_, err := w.out.Write(w.buf)
	return err
}

func (w *Writer) u16(v uint16) { w.buf = binary.LittleEndian.AppendUint16(w.buf, v) }
func (w *Writer) u32(v uint32) { w.buf = binary.LittleEndian.AppendUint32(w.buf, v) }
func (w *Writer) u64(v uint64) { w.buf = binary.LittleEndian.AppendUint64(w.buf, v) }

// padded appends bytes up to a multiple of four.
func (w *Writer) padded(b []byte) {
	w.buf = append(w.buf, b...)
	for range -len(b) & 3 {
		w.buf = append(w.buf, 0)
	}
}

// option appends an option's head; its value of n bytes follows.
func (w *Writer) option(code uint16, n int) {
	w.u16(code)
	w.u16(uint16(n))
}

// textOption appends a text unless it is empty; what does not fit the 16 bits
// of its length is cut.
func (w *Writer) textOption(code uint16, s string) {
	if s == "" {
		return
	}
	s = s[:min(len(s), 65535)]
	w.option(code, len(s))
	w.buf = append(w.buf, s...)
	for range -len(s) & 3 {
		w.buf = append(w.buf, 0)
	}
}

// options appends what add appends and, if that is anything, the end mark.
func (w *Writer) options(add func()) {
	before := len(w.buf)
	if add(); len(w.buf) > before {
		w.u32(optEnd)
	}
}
