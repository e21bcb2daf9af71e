package recording

import (
	"bytes"
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/pcap"
	"farlink/emulator/trace/lines"
)

// boxed writes fates as the capture of a box has them.
func boxed(t testing.TB, fates []link.Fate, arrived func(seq uint64) link.Time) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := pcap.NewWriter(&out, pcap.Header{}, pcap.Interface{Name: "a", LinkType: pcap.LinkEthernet})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fates {
		p := pcap.Packet{Time: 1e18 + int64(f.Packet.When), Data: []byte{byte(f.Packet.Seq)}, Length: int(f.Packet.Size), Comment: "so it went"}
		if at := arrived(f.Packet.Seq); at >= 0 {
			p.Comment += Note(link.Up, at, f)
		}
		if err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// TestTape: the fates of a run, through the capture of a box, are the same
// recording; replayed on the packets as they came they are so again.
func TestTape(t *testing.T) {
	arrivals := linkArrivals()
	want, log := record(t, harsh(), arrivals, link.Time(60*link.Second))
	doc := boxed(t, log.Fates, func(seq uint64) link.Time { return arrivals[seq].When })
	tape, err := ReadTape(lines.File{Name: "x", Reader: bytes.NewReader(doc)}, link.Up, 0)
	if err != nil || tape.Packets() != len(arrivals) || tape.LeftOut != 0 {
		t.Fatal(err, tape)
	}
	var got, came bytes.Buffer
	if err := tape.Record(&got); err != nil {
		t.Fatal(err)
	}
	if err := tape.Arrivals(&came); err != nil {
		t.Fatal(err)
	}
	recording, err := Read(lines.File{Name: "y", Reader: bytes.NewReader(got.Bytes())})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := record(t, NewReplay(recording), shifted(t, came.Bytes()), link.Time(60*link.Second))
	if !bytes.Equal(again, got.Bytes()) {
		t.Error("the recording of the replay is another")
	}
	if bytes.Count(want, []byte("\n")) != bytes.Count(got.Bytes(), []byte("\n")) {
		t.Error("the tape tells of more or fewer fates than there were")
	}
}

// linkArrivals are packets of which the first comes at 3 ms.
func linkArrivals() []link.Packet {
	var out []link.Packet
	for i := range uint64(2000) {
		out = append(out, link.Packet{Seq: i, When: link.Time(3*link.Millisecond) + link.Time(i*1_700_001), Body: link.Body{Size: 1000}})
	}
	return out
}

// shifted reads the packets of a capture as arrivals from 0 on.
func shifted(t *testing.T, doc []byte) (out []link.Packet) {
	t.Helper()
	in, err := pcap.NewReader(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	base := int64(-1)
	for {
		p, err := in.Next()
		if err != nil {
			return out
		}
		if base < 0 {
			base = p.Time
		}
		if p.ID != uint64(len(out)) || p.Data[0] != byte(p.ID) {
			t.Fatalf("packet %d of the arrivals is number %d with byte %d", len(out), p.ID, p.Data[0])
		}
		out = append(out, link.Packet{Seq: p.ID, When: link.Time(p.Time - base), Body: link.Body{Size: uint16(p.Length)}})
	}
}

// By hand: 5 and 6 are a stretch, 8 to 10 a longer one; 9 left twice, 10 was
// lost. 11's arrival is not known; 3 went through another link.
func TestTapeStretch(t *testing.T) {
	fate := func(seq uint64, left link.Time, m link.Mark, lost link.Reason) link.Fate {
		return link.Fate{Packet: link.Packet{Seq: seq, When: left, Body: link.Body{Size: 60, Mark: m}}, Cause: link.Cause{Reason: lost}}
	}
	arrived := func(seq uint64) link.Time {
		if seq == 11 {
			return -1
		}
		return link.Time(100 * seq)
	}
	doc := boxed(t, []link.Fate{fate(5, 510, 0, 0), fate(6, 610, 0, 0), fate(3, 620, link.Mark(0).OnLink(1), 0), fate(10, 1000, 0, link.QueueFull),
		fate(8, 1005, link.Corrupted, 0), fate(9, 1010, 0, 0), fate(9, 1020, link.Duplicate, 0), fate(11, 1030, 0, 0)}, arrived)
	tape, err := ReadTape(lines.File{Name: "x", Reader: bytes.NewReader(doc)}, link.Up, 0)
	if err != nil || tape.LeftOut != 2 || tape.Packets() != 3 {
		t.Fatal(err, tape)
	}
	var got bytes.Buffer
	if err := tape.Record(&got); err != nil {
		t.Fatal(err)
	}
	const want = recordHeader + "\n2,200,200,60,queue_full,\n0,0,205,60,delivered,corrupted\n1,100,210,60,delivered,\n1,100,220,60,delivered,duplicate\n"
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	if _, err := ReadTape(lines.File{Name: "x", Reader: bytes.NewReader(doc)}, link.Down, 0); err == nil || !strings.Contains(err.Error(), "want the capture of a box") {
		t.Errorf("the other way: %v", err)
	}
}

func TestTapeFaults(t *testing.T) {
	for note, want := range map[string]string{
		"1,2":                        "as many fields as seq,",
		"x,1,2,3,delivered,":         `parsing "x"`,
		"1,9,2,3,delivered,":         "no fate before the arrival",
		"1,1,2,65536,delivered,":     "a size of at most 65535",
		"1,1,2,3,eaten,":             `fate "eaten"`,
		"1,1,2,3,delivered,shiny":    `mark "shiny"`,
		"1,-1,2,3,delivered,":        "want a whole number",
		"18446744073709551616,,,,,,": "as many fields",
	} {
		var out bytes.Buffer
		w, err := pcap.NewWriter(&out, pcap.Header{}, pcap.Interface{LinkType: pcap.LinkEthernet})
		if err != nil {
			t.Fatal(err)
		}
		w.Write(pcap.Packet{Time: 1, Data: []byte{0}, Length: 60, Comment: noteMark + "up 0 " + note})
		if _, err := ReadTape(lines.File{Name: "x", Reader: &out}, link.Up, 0); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x: packet 0: ") {
			t.Errorf("%s: %v, want %s", note, err, want)
		}
	}
}

func FuzzTape(f *testing.F) {
	at := func(seq uint64) link.Time { return link.Time(seq) }
	f.Add(boxed(f, []link.Fate{{Packet: link.Packet{Seq: 1, When: 5, Body: link.Body{Size: 60}}}}, at))
	f.Fuzz(func(t *testing.T, doc []byte) {
		tape, err := ReadTape(lines.File{Name: "x", Reader: bytes.NewReader(doc)}, link.Up, 0)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := tape.Record(&out); err != nil {
			t.Fatal(err)
		}
		r, err := Read(lines.File{Name: "y", Reader: &out})
		if err != nil || r.Packets() != tape.Packets() {
			t.Fatalf("%d packets on the tape; its recording: %v", tape.Packets(), err)
		}
		if err := tape.Arrivals(&out); err != nil {
			t.Fatal(err)
		}
	})
}
