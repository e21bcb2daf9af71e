package pcap

import (
	"encoding/binary"
	"io"
	"math"
	"math/bits"
)

// Block types and the option codes that are read or written.
const (
	blockSection    = 0x0A0D0D0A
	blockInterface  = 1
	blockObsolete   = 2
	blockSimple     = 3
	blockStatistics = 5
	blockEnhanced   = 6

	byteOrderMagic = 0x1A2B3C4D

	optEnd         = 0
	optComment     = 1
	optHardware    = 2
	optOS          = 3
	optApplication = 4
	optName        = 2
	optDescription = 3
	optResolution  = 9
	optOffset      = 14
	optFlags       = 2
	optDrops       = 4
	optPacketID    = 5
	optVerdict     = 7
)

// resolution is how time stamps of an interface count.
type resolution struct {
	perSecond uint64 // units in a second; 0 stands for 10^6, the default
	offset    int64  // seconds added
}

// nextBlock reads blocks until one is a packet.
func (r *Reader) nextBlock() (Packet, error) {
	for {
		if end, err := r.atEnd(); err != nil {
			return Packet{}, err
		} else if end {
			return Packet{}, io.EOF
		}
		kind, body, err := r.block()
		if err != nil {
			return Packet{}, err
		}
		switch kind {
		case blockInterface:
			err = r.addInterface(body)
		case blockEnhanced:
			return r.enhanced(body)
		case blockSimple:
			return r.simple(body)
		case blockObsolete:
			return r.obsolete(body)
		}
		if err != nil {
			return Packet{}, err
		}
	}
}

// block reads one block. Section headers are dealt with here; the body of a
// type that is of no use is passed over and nil.
func (r *Reader) block() (kind uint32, body []byte, err error) {
	h, err := r.in.Peek(4)
	if err != nil {
		return 0, nil, r.fault(io.ErrUnexpectedEOF, "block header: %d of 8 bytes", len(h))
	}
	if binary.BigEndian.Uint32(h) == blockSection {
		return blockSection, nil, r.openSection()
	}
	if h, err = r.take(0, 8, "block header"); err != nil {
		return 0, nil, err
	}
	kind, total := r.order.Uint32(h), r.order.Uint32(h[4:])
	if total < 12 || total%4 != 0 {
		return 0, nil, r.fault(nil, "block of type %#x: length %d, want a multiple of 4 from 12", kind, total)
	}
	switch kind {
	case blockInterface, blockEnhanced, blockSimple, blockObsolete:
		body, err = r.body(int64(total) - 12)
	default:
		err = r.skip(int64(total)-12, "block")
	}
	if err != nil {
		return 0, nil, err
	}
	return kind, body, r.trailer(total)
}

// body reads the body of a block of n bytes.
func (r *Reader) body(n int64) ([]byte, error) {
	if n > maxBlock {
		return nil, r.fault(nil, "block of %d bytes, want at most %d", n+12, maxBlock+12)
	}
	return r.take(0, int(n), "block")
}

// trailer reads the length that ends a block.
func (r *Reader) trailer(total uint32) error {
	t, err := r.in.Peek(4)
	if err != nil {
		return r.fault(io.ErrUnexpectedEOF, "block trailer: %d of 4 bytes", len(t))
	}
	if again := r.order.Uint32(t); again != total {
		return r.fault(nil, "block length %d at its start, %d at its end", total, again)
	}
	return r.skip(4, "block trailer")
}

// openSection reads a section header and forgets the interfaces of the
// section before.
func (r *Reader) openSection() error {
	r.start = r.offset
	h, err := r.take(0, 12, "section header")
	if err != nil {
		return err
	}
	switch uint32(byteOrderMagic) {
	case binary.LittleEndian.Uint32(h[8:]):
		r.order = binary.LittleEndian
	case binary.BigEndian.Uint32(h[8:]):
		r.order = binary.BigEndian
	default:
		return r.fault(nil, "section header: byte-order magic %#x, want %#x", h[8:12], byteOrderMagic)
	}
	total := r.order.Uint32(h[4:])
	if total < 28 || total%4 != 0 {
		return r.fault(nil, "section header: length %d, want a multiple of 4 from 28", total)
	}
	v, err := r.take(12, 4, "section header")
	if err != nil {
		return err
	}
	if major := r.order.Uint16(v); major != 1 {
		return r.fault(nil, "pcapng version %d.%d, want 1.x", major, r.order.Uint16(v[2:]))
	}
	r.faces = r.faces[:0]
	if err := r.skip(int64(total)-20, "section header"); err != nil {
		return err
	}
	return r.trailer(total)
}

// addInterface reads the body of an interface description.
func (r *Reader) addInterface(b []byte) error {
	if len(b) < 8 {
		return r.fault(nil, "interface description of %d bytes, want at least 20", len(b)+12)
	}
	if len(r.faces) == maxInterfaces {
		return r.fault(nil, "more than %d interfaces in a section", maxInterfaces)
	}
	face := Interface{LinkType: r.order.Uint16(b), SnapLen: r.order.Uint32(b[4:])}
	var wrong error
	err := r.options(b[8:], func(code uint16, v []byte) {
		switch {
		case code == optName:
			face.Name = text(v)
		case code == optDescription:
			face.Description = text(v)
		case code == optResolution && len(v) == 1:
			face.resolution.perSecond, wrong = r.perSecond(v[0])
		case code == optOffset && len(v) == 8:
			face.resolution.offset = int64(r.order.Uint64(v))
		}
	})
	if err != nil || wrong != nil {
		return firstOf(err, wrong)
	}
	r.faces = append(r.faces, face)
	return nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// text keeps the first bytes of a text option.
func text(v []byte) string { return string(v[:min(len(v), maxName)]) }

// perSecond reads if_tsresol: a power of ten, or of two if the high bit is set.
func (r *Reader) perSecond(v byte) (uint64, error) {
	exponent := v & 0x7F
	switch {
	case v&0x80 != 0 && exponent <= 63:
		return 1 << exponent, nil
	case v&0x80 == 0 && exponent <= 19:
		n := uint64(1)
		for range exponent {
			n *= 10
		}
		return n, nil
	}
	return 0, r.fault(nil, "time resolution %#02x: want at most 10^-19 or 2^-63 s", v)
}

// options calls yield for each option of a block.
func (r *Reader) options(b []byte, yield func(code uint16, value []byte)) error {
	for len(b) >= 4 {
		code, n := r.order.Uint16(b), int(r.order.Uint16(b[2:]))
		if code == optEnd {
			return nil
		}
		padded := (n + 3) &^ 3
		if 4+padded > len(b) {
			return r.fault(nil, "option %d of %d bytes goes beyond its block", code, n)
		}
		yield(code, b[4:4+n])
		b = b[4+padded:]
	}
	if len(b) != 0 {
		return r.fault(nil, "%d bytes behind the options", len(b))
	}
	return nil
}

// nanoseconds converts a time stamp of the interface.
func (r *Reader) nanoseconds(face int, high, low uint32) (int64, error) {
	res := r.faces[face].resolution
	if res.perSecond == 0 {
		res.perSecond = 1e6
	}
	ticks := uint64(high)<<32 | uint64(low)
	hi, lo := bits.Mul64(ticks%res.perSecond, 1e9)
	nanos, _ := bits.Div64(hi, lo, res.perSecond)
	seconds := ticks / res.perSecond
	const limit int64 = math.MaxInt64/1_000_000_000 - 1
	if seconds > uint64(limit) || res.offset > limit || res.offset < -limit || int64(seconds)+res.offset > limit {
		return 0, r.fault(nil, "time stamp %d s + %d s is beyond the year 2262", seconds, res.offset)
	}
	return (int64(seconds)+res.offset)*1e9 + int64(nanos), nil
}

// known checks an interface number.
func (r *Reader) known(face uint32) error {
	if int64(face) >= int64(len(r.faces)) {
		return r.fault(nil, "packet of interface %d, but the section describes %d", face, len(r.faces))
	}
	return nil
}

// enhanced reads the body of an enhanced packet block.
func (r *Reader) enhanced(b []byte) (Packet, error) {
	if len(b) < 20 {
		return Packet{}, r.fault(nil, "enhanced packet block of %d bytes, want at least 32", len(b)+12)
	}
	return r.packet(r.order.Uint32(b), 0, b[4:])
}

// obsolete reads the body of the packet block that EPB replaced: 16 bits of
// interface and 16 of drops stand where EPB has the interface.
func (r *Reader) obsolete(b []byte) (Packet, error) {
	if len(b) < 20 {
		return Packet{}, r.fault(nil, "packet block of %d bytes, want at least 32", len(b)+12)
	}
	drops := uint64(r.order.Uint16(b[2:]))
	if drops == 0xFFFF { // unknown
		drops = 0
	}
	return r.packet(uint32(r.order.Uint16(b)), drops, b[4:])
}

// packet reads what enhanced and obsolete blocks have in common, from the
// time stamp on.
func (r *Reader) packet(face uint32, drops uint64, b []byte) (Packet, error) {
	if err := r.known(face); err != nil {
		return Packet{}, err
	}
	at, err := r.nanoseconds(int(face), r.order.Uint32(b), r.order.Uint32(b[4:]))
	if err != nil {
		return Packet{}, err
	}
	kept, length := r.order.Uint32(b[8:]), r.order.Uint32(b[12:])
	b = b[16:]
	padded := (uint64(kept) + 3) &^ 3
	if kept > maxPacket || padded > uint64(len(b)) {
		return Packet{}, r.fault(nil, "packet of %d bytes in a block with room for %d", kept, len(b))
	}
	p := Packet{Interface: int(face), Time: at, Data: b[:kept], Length: wireLength(kept, length), Drops: drops}
	return p, r.packetOptions(b[padded:], &p)
}

func (r *Reader) packetOptions(b []byte, p *Packet) error {
	if len(b) == 0 {
		return nil
	}
	return r.options(b, func(code uint16, v []byte) {
		switch {
		case code == optComment && p.Comment == "":
			p.Comment = string(v)
		case code == optFlags && len(v) == 4:
			p.Direction = Direction(r.order.Uint32(v)&3) % 3
		case code == optDrops && len(v) == 8:
			p.Drops = r.order.Uint64(v)
		case code == optPacketID && len(v) == 8:
			p.ID, p.HasID = r.order.Uint64(v), true
		case code == optVerdict && len(v) == 9:
			// The code's own byte order is the section's.
			p.Verdict = Verdict{Known: true, Kind: v[0], Code: r.order.Uint64(v[1:])}
		}
	})
}

// simple reads the body of a simple packet block: no time, the first
// interface, cut at its snap length.
func (r *Reader) simple(b []byte) (Packet, error) {
	if err := r.known(0); err != nil {
		return Packet{}, err
	}
	if len(b) < 4 {
		return Packet{}, r.fault(nil, "simple packet block of %d bytes, want at least 16", len(b)+12)
	}
	length := r.order.Uint32(b)
	kept := length
	if snap := r.faces[0].SnapLen; snap != 0 {
		kept = min(kept, snap)
	}
	if uint64(kept) > uint64(len(b)-4) {
		return Packet{}, r.fault(nil, "packet of %d bytes in a block with room for %d", kept, len(b)-4)
	}
	return Packet{Time: NoTime, Data: b[4 : 4+kept], Length: wireLength(kept, length)}, nil
}
