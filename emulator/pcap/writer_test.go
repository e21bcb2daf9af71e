package pcap

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"farlink/emulator/need"
)

// TestEmptySection is vector PN-1 of the link sheet.
func TestEmptySection(t *testing.T) {
	var b bytes.Buffer
	if _, err := NewWriter(&b, Header{}); err != nil {
		t.Fatal(err)
	}
	want := "0a0d0d0a" + "1c000000" + "4d3c2b1a" + "01000000" + "ffffffffffffffff" + "1c000000"
	if got := hex.EncodeToString(b.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestEnhanced is PN-2 (60 bytes, no options: 32 + 60 = 92) and PN-3 (1 s and
// 1 ns with resolution 9: high 0, low 0x3B9ACA01).
func TestEnhanced(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{}, Interface{LinkType: LinkEthernet})
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := w.Write(Packet{Time: 1_000_000_001, Data: make([]byte, 60)}); err != nil {
		t.Fatal(err)
	}
	got := b.Bytes()
	if len(got) != 92 || binary.LittleEndian.Uint32(got[4:]) != 92 {
		t.Errorf("block of %d bytes, says %d, want 92", len(got), binary.LittleEndian.Uint32(got[4:]))
	}
	if high, low := binary.LittleEndian.Uint32(got[12:]), binary.LittleEndian.Uint32(got[16:]); high != 0 || low != 0x3B9ACA01 {
		t.Errorf("time %#x %#x, want 0 0x3B9ACA01", high, low)
	}
}

var (
	faces   = []Interface{{Name: "a", LinkType: LinkEthernet}, {Name: "b", Description: "network side", LinkType: LinkEthernet, SnapLen: 128}}
	packets = []Packet{
		{Interface: 0, Time: 5, Data: []byte("lost"), Length: 4, Comment: "lost queue_full at up/queue", Direction: Inbound, Verdict: Dropped, ID: 0, HasID: true},
		{Interface: 1, Time: 1_700_000_000_250_003_000, Data: []byte("abcde"), Length: 1514, Comment: "delivered +250.003 ms", Direction: Outbound, Drops: 1, ID: 1 << 40, HasID: true, Verdict: Redirected},
		{Interface: 1, Time: 1_700_000_000_250_003_001, Data: []byte{}, Length: 0},
	}
)

func writeAll(t *testing.T, out io.Writer) {
	t.Helper()
	w, err := NewWriter(out, Header{Comment: "seed 1", Application: "farlink"}, faces...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packets {
		if err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteStatistics(1, Statistics{Time: 9, Received: 2, Dropped: 1, Comment: "sum"}); err != nil {
		t.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	var b bytes.Buffer
	writeAll(t, &b)
	r, err := NewReader(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range packets {
		got, err := r.Next()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v\ngot  %+v\nwant %+v", err, got, want)
		}
	}
	if got := r.Interfaces()[1]; got.Name != "b" || got.Description != "network side" || got.SnapLen != 128 {
		t.Errorf("interface %+v", got)
	}
	if _, err := r.Next(); err != io.EOF || r.Offset() != int64(b.Len()) {
		t.Errorf("end: %v at %d of %d", err, r.Offset(), b.Len())
	}
}

func TestRefused(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{}, faces...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p    Packet
		want string
	}{
		{Packet{Interface: 2}, "packet of interface 2, want one of 2"},
		{Packet{Interface: -1}, "packet of interface -1"},
		{Packet{Time: -1}, "packet at -1 ns"},
		{Packet{Time: NoTime}, "want a time from 1970 on"},
		{Packet{Data: make([]byte, maxPacket+1)}, "packet of 262145 bytes"},
	} {
		if err := w.Write(c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.p.Interface, err, c.want)
		}
	}
	if err := w.WriteStatistics(2, Statistics{}); err == nil {
		t.Error("statistics of an unknown interface were written")
	}
}

// TestTshark: an independent reader agrees on every field.
func TestTshark(t *testing.T) {
	tshark := need.Program(t, "tshark")
	name := filepath.Join(t.TempDir(), "x.pcapng")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, f)
	f.Close()
	out, err := exec.Command(tshark, "-r", name, "-T", "fields", "-E", "separator=|",
		"-e", "frame.time_epoch", "-e", "frame.interface_name", "-e", "frame.cap_len", "-e", "frame.len",
		"-e", "frame.comment", "-e", "frame.packet_flags_direction", "-e", "frame.packet_id", "-e", "frame.drop_count",
		"-e", "frame.verdict.ebpf_xdp").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0.000000005|a|4|4|lost queue_full at up/queue|0x00000001|0||1",
		"1700000000.250003000|b|5|1514|delivered +250.003 ms|0x00000002|1099511627776|1|4",
		"1700000000.250003001|b|0|0|||||",
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Errorf("tshark line %d of\n%s\nwant %s", i, out, w)
		}
	}
}

func TestWriteAllocs(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{}, faces...)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { w.Write(packets[1]) }); n != 0 {
		t.Errorf("%v allocations per packet", n)
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(int64(1), []byte("data"), "comment", uint64(3), uint8(2))
	f.Fuzz(func(t *testing.T, at int64, data []byte, comment string, drops uint64, direction uint8) {
		if at < 0 || len(data) > maxPacket || len(comment) > 65535 {
			t.Skip()
		}
		if limit := int64(9223372035e9); at >= limit {
			t.Skip()
		}
		p := Packet{Time: at, Data: data, Length: len(data), Comment: comment, Drops: drops, Direction: Direction(direction % 3)}
		var b bytes.Buffer
		w, err := NewWriter(&b, Header{}, faces[0])
		if err == nil {
			err = w.Write(p)
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(&b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Next()
		if err != nil || !bytes.Equal(got.Data, data) {
			t.Fatalf("%v %+v", err, got)
		}
		got.Data, p.Data = nil, nil
		if !reflect.DeepEqual(got, p) {
			t.Fatalf("got %+v, want %+v", got, p)
		}
	})
}
