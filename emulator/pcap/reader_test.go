package pcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

// file builds captures byte by byte, independent of Writer.
type file struct {
	bytes.Buffer
	order binary.AppendByteOrder
}

func (f *file) u16(v uint16) *file { f.Write(f.order.AppendUint16(nil, v)); return f }
func (f *file) u32(v ...uint32) *file {
	for _, v := range v {
		f.Write(f.order.AppendUint32(nil, v))
	}
	return f
}

// block appends a block with its two lengths.
func (f *file) block(kind uint32, body []byte) *file {
	total := uint32(len(body) + 12)
	f.u32(kind, total)
	f.Write(body)
	return f.u32(total)
}

func (f *file) section() *file {
	body := &file{order: f.order}
	body.u32(byteOrderMagic).u16(1).u16(0).u32(0xFFFFFFFF, 0xFFFFFFFF)
	return f.block(blockSection, body.Bytes())
}

func (f *file) face(linkType uint16, snap uint32, options ...byte) *file {
	body := &file{order: f.order}
	body.u16(linkType).u16(0).u32(snap)
	body.Write(options)
	return f.block(blockInterface, body.Bytes())
}

func (f *file) enhanced(face, high, low uint32, data string, options ...byte) *file {
	body := &file{order: f.order}
	body.u32(face, high, low, uint32(len(data)), uint32(len(data)))
	body.WriteString(data + "\x00\x00\x00"[:-len(data)&3])
	body.Write(options)
	return f.block(blockEnhanced, body.Bytes())
}

func (f *file) classic(magic, snap, linkType uint32) *file {
	return f.u32(magic).u16(2).u16(4).u32(0, 0, snap, linkType)
}

func readAll(t *testing.T, b []byte) ([]Packet, error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	var all []Packet
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		p.Data = bytes.Clone(p.Data)
		all = append(all, p)
	}
}

func TestClassic(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, c := range []struct {
			magic uint32
			want  int64 // 2 s and 5 units
		}{{magicMicros, 2_000_005_000}, {magicNanos, 2_000_000_005}} {
			f := &file{order: order}
			f.classic(c.magic, 65535, 1)
			f.u32(2, 5, 3, 60)
			f.WriteString("abc")
			f.u32(3, 0, 0, 0)
			got, err := readAll(t, f.Bytes())
			if err != nil || len(got) != 2 {
				t.Fatalf("%v %#x: %d packets, %v", order, c.magic, len(got), err)
			}
			if p := got[0]; p.Time != c.want || string(p.Data) != "abc" || p.Length != 60 {
				t.Errorf("%v %#x: got %+v, want time %d, abc, 60", order, c.magic, p, c.want)
			}
			if p := got[1]; p.Time != 3e9 || p.Length != 0 {
				t.Errorf("empty packet: %+v", p)
			}
		}
	}
}

func TestSections(t *testing.T) {
	f := &file{order: binary.LittleEndian}
	// Resolution 2^-10: code 9, length 1, value 0x8A, padded; then the end.
	f.section().face(1, 0, 9, 0, 1, 0, 0x8A, 0, 0, 0, 0, 0, 0, 0)
	f.enhanced(0, 0, 1024+512, "x")
	f.order = binary.BigEndian
	// Name "wan" (2), offset 100 s (14); microseconds by default.
	f.section().face(101, 0, 0, 2, 0, 3, 'w', 'a', 'n', 0, 0, 14, 0, 8, 0, 0, 0, 0, 0, 0, 0, 100)
	f.block(blockStatistics, make([]byte, 12)).block(0x0BAD, make([]byte, 8))
	f.enhanced(0, 0, 7, "yz")
	got, err := readAll(t, f.Bytes())
	if err != nil || len(got) != 2 {
		t.Fatalf("%d packets, %v", len(got), err)
	}
	// 1536 / 2^10 s = 1.5 s.
	if got[0].Time != 1_500_000_000 || string(got[0].Data) != "x" {
		t.Errorf("first %+v, want 1.5 s", got[0])
	}
	if got[1].Time != 100_000_007_000 || string(got[1].Data) != "yz" {
		t.Errorf("second %+v, want 100.000007 s", got[1])
	}
}

func TestInterfaces(t *testing.T) {
	f := &file{order: binary.LittleEndian}
	f.section().face(1, 0, 2, 0, 1, 0, 'a', 0, 0, 0).face(113, 96, 3, 0, 2, 0, 'h', 'i', 0, 0)
	f.enhanced(1, 0, 0, "")
	r, err := NewReader(&f.Buffer)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := r.Next(); err != nil || p.Interface != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	got := r.Interfaces()
	if len(got) != 2 || got[0].Name != "a" || got[1].Description != "hi" || got[1].LinkType != 113 || got[1].SnapLen != 96 {
		t.Errorf("interfaces %+v", got)
	}
}

func TestSimpleAndObsolete(t *testing.T) {
	f := &file{order: binary.LittleEndian}
	f.section().face(1, 4)
	simple := (&file{order: f.order}).u32(60)
	simple.WriteString("abcd")
	f.block(blockSimple, simple.Bytes())
	old := (&file{order: f.order}).u16(0).u16(3).u32(0, 9, 1, 1)
	old.WriteString("q\x00\x00\x00")
	f.block(blockObsolete, old.Bytes())
	got, err := readAll(t, f.Bytes())
	if err != nil || len(got) != 2 {
		t.Fatalf("%d packets, %v", len(got), err)
	}
	if p := got[0]; p.Time != NoTime || string(p.Data) != "abcd" || p.Length != 60 {
		t.Errorf("simple %+v", p)
	}
	if p := got[1]; p.Time != 9000 || string(p.Data) != "q" || p.Drops != 3 {
		t.Errorf("obsolete %+v", p)
	}
}

func TestFaults(t *testing.T) {
	le := func() *file { return &file{order: binary.LittleEndian} }
	for _, c := range []struct {
		name, want string
		build      func(f *file)
	}{
		{"empty", "byte 0: file header: 0 bytes", func(f *file) {}},
		{"text", "neither pcap nor pcapng", func(f *file) { f.WriteString("hello world") }},
		{"gzip", "gunzip it first", func(f *file) { f.WriteString("\x1f\x8b\x08\x00") }},
		{"modified", "editcap", func(f *file) { f.u32(magicModified) }},
		{"short header", "file header: 8 of 24 bytes: unexpected EOF", func(f *file) { f.u32(magicMicros, 1) }},
		{"version", "pcap version 9.4", func(f *file) { f.u32(magicMicros).u16(9).u16(4).u32(0, 0, 0, 1) }},
		{"record cut", "byte 24: record header: 4 of 16 bytes", func(f *file) { f.classic(magicMicros, 9, 1).u32(1) }},
		{"packet cut", "byte 24: packet: 0 of 5 bytes", func(f *file) { f.classic(magicMicros, 9, 1).u32(1, 1, 5, 5) }},
		{"packet huge", "record of 4294967295 bytes", func(f *file) { f.classic(magicMicros, 9, 1).u32(1, 1, 0xFFFFFFFF, 5) }},
		{"order", "byte-order magic", func(f *file) { f.u32(blockSection, 28, 5) }},
		{"section length", "length 24, want a multiple of 4 from 28", func(f *file) { f.u32(blockSection, 24, byteOrderMagic) }},
		{"ng version", "pcapng version 2.0", func(f *file) { f.u32(blockSection, 28, byteOrderMagic).u16(2).u16(0) }},
		{"section cut", "section header: 8 bytes missing", func(f *file) { f.u32(blockSection, 28, byteOrderMagic, 1) }},
		{"block length", "byte 28: block of type 0x6: length 13", func(f *file) { f.section().u32(6, 13) }},
		{"block small", "length 8", func(f *file) { f.section().u32(6, 8) }},
		{"block huge", "block of 4294967292 bytes", func(f *file) { f.section().u32(6, 0xFFFFFFFC) }},
		{"skipped huge", "bytes missing", func(f *file) { f.section().u32(77, 0xFFFFFFFC) }},
		{"trailer", "block length 12 at its start, 16 at its end", func(f *file) { f.section().u32(77, 12, 16) }},
		{"trailer cut", "block trailer: 0 of 4 bytes", func(f *file) { f.section().u32(77, 12) }},
		{"header cut", "block header: 3 of 8", func(f *file) { f.section().WriteString("abc") }},
		{"interface short", "interface description of 16 bytes", func(f *file) { f.section().block(1, make([]byte, 4)) }},
		{"resolution", "time resolution 0x7f", func(f *file) { f.section().face(1, 0, 9, 0, 1, 0, 0x7F, 0, 0, 0) }},
		{"option", "option 2 of 40 bytes goes beyond", func(f *file) { f.section().face(1, 0, 2, 0, 40, 0) }},
		{"no interface", "packet of interface 0, but the section describes 0", func(f *file) { f.section().enhanced(0, 0, 0, "") }},
		{"no interface, simple", "packet of interface 0", func(f *file) { f.section().block(3, make([]byte, 4)) }},
		{"enhanced short", "want at least 32", func(f *file) { f.section().face(1, 0).block(6, make([]byte, 16)) }},
		{"obsolete short", "want at least 32", func(f *file) { f.section().face(1, 0).block(2, make([]byte, 16)) }},
		{"simple short", "want at least 16", func(f *file) { f.section().face(1, 0).block(3, nil) }},
		{"simple long", "packet of 9 bytes in a block with room for 4", func(f *file) { f.section().face(1, 0).block(3, []byte{9, 0, 0, 0, 1, 2, 3, 4}) }},
		{"caplen", "packet of 1000 bytes in a block with room for 0", func(f *file) {
			f.section().face(1, 0).block(6, (le()).u32(0, 0, 0, 1000, 1000).Bytes())
		}},
		{"far future", "beyond the year 2262", func(f *file) { f.section().face(1, 0, 9, 0, 1, 0, 0, 0, 0, 0).enhanced(0, 9, 9, "") }},
	} {
		f := le()
		c.build(f)
		_, err := readAll(t, f.Bytes())
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestTooManyInterfaces(t *testing.T) {
	f := &file{order: binary.LittleEndian}
	f.section()
	for range maxInterfaces + 1 {
		f.face(1, 0)
	}
	if _, err := readAll(t, f.Bytes()); err == nil || !strings.Contains(err.Error(), "more than 1024 interfaces") {
		t.Errorf("error %v", err)
	}
}

// TestErrorStays: behind a fault nothing is read as if it were a record.
func TestErrorStays(t *testing.T) {
	f := &file{order: binary.LittleEndian}
	f.section().face(1, 0).block(6, make([]byte, 16)).enhanced(0, 0, 0, "ok")
	r, err := NewReader(&f.Buffer)
	if err != nil {
		t.Fatal(err)
	}
	_, first := r.Next()
	if _, again := r.Next(); first == nil || again != first {
		t.Errorf("first %v, then %v", first, again)
	}
}

// TestCutAnywhere: a capture cut at any byte gives the packets before the
// cut, then either a clean end or an error that says where.
func TestCutAnywhere(t *testing.T) {
	f := &file{order: binary.LittleEndian}
	f.section().face(1, 0).enhanced(0, 0, 1, "abc").enhanced(0, 0, 2, "defg")
	whole := f.Bytes()
	for n := range whole {
		got, err := readAll(t, whole[:n])
		clean := n == 28 || n == 48 || n == 48+36
		if clean != (err == nil) {
			t.Errorf("cut at %d: %d packets, %v", n, len(got), err)
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v is not an unexpected end", n, err)
		}
	}
}

// endless is a classic capture that never ends: memory must not grow.
type endless struct{ record []byte }

func (e endless) Read(b []byte) (int, error) {
	n := 0
	for len(b)-n >= len(e.record) {
		n += copy(b[n:], e.record)
	}
	return n, nil
}

func TestNoAllocs(t *testing.T) {
	head := &file{order: binary.LittleEndian}
	head.classic(magicNanos, 0, 1)
	record := (&file{order: binary.LittleEndian}).u32(1, 1, 8, 8, 0, 0).Bytes()
	r, err := NewReader(io.MultiReader(head, endless{record}))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { r.Next() }); n != 0 {
		t.Errorf("%v allocations per packet", n)
	}
}

func FuzzReader(f *testing.F) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		c := &file{order: order}
		c.classic(magicMicros, 65535, 1).u32(1, 1, 4, 4, 0)
		f.Add(c.Bytes())
		n := &file{order: order}
		n.section().face(1, 0).enhanced(0, 0, 1, "abc").block(3, make([]byte, 4)).section()
		f.Add(n.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader(bytes.NewReader(b))
		for n := 0; err == nil; n++ {
			var p Packet
			if p, err = r.Next(); err != nil {
				break
			}
			if p.Length < len(p.Data) || p.Interface >= len(r.Interfaces()) || n > len(b) {
				t.Fatalf("packet %+v of %d interfaces", p, len(r.Interfaces()))
			}
			if _, _, err := Ethernet(nil, r.Interfaces()[p.Interface].LinkType, p); err == nil && p.Length > 1<<30 {
				t.Fatalf("length %d", p.Length)
			}
		}
		var e *Error
		if !errors.Is(err, io.EOF) && !errors.As(err, &e) {
			t.Fatalf("error %T %v has no offset", err, err)
		}
	})
}
