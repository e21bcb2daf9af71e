package sim

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/pcap"
)

// capture writes packets of the given sizes at the given milliseconds after
// 1,000,000 s.
func capture(t testing.TB, linkType uint16, packets ...[2]int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pcap.NewWriter(&b, pcap.Header{}, pcap.Interface{LinkType: linkType})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range packets {
		data := bytes.Repeat([]byte{0x45, byte(i)}, (p[1]+1)/2)[:p[1]]
		if err := w.Write(pcap.Packet{Time: 1_000_000e9 + int64(p[0])*1e6, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// comments writes each record of a capture as text.
func comments(t *testing.T, b []byte) []string {
	t.Helper()
	r, err := pcap.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%.3f %s %s #%d %d/%d drops %d: %s", float64(p.Time-1_000_000e9)/1e6,
			r.Interfaces()[p.Interface].Name, p.Direction, p.ID, len(p.Data), p.Length, p.Drops, p.Comment))
	}
}

// TestReplay: 1,000-byte packets at 1 Mbit/s take 8 ms each, the queue holds
// two, the path takes 20 ms.
//
//	at 0 three arrive: #0 leaves at 28, #1 at 36, #2 finds the queue full;
//	at 10 #0 is out of the queue and #1 being sent until 16: #3 leaves at 24 + 20.
func TestReplay(t *testing.T) {
	in := capture(t, pcap.LinkEthernet, [2]int{0, 1000}, [2]int{0, 1000}, [2]int{0, 1000}, [2]int{10, 1000})
	for w, want := range map[link.Way][]string{
		link.Up: {
			"0.000 a in #2 1000/1000 drops 0: lost queue_full at up/queue",
			"28.000 b out #0 1000/1000 drops 1: delivered +28.000 ms",
			"36.000 b out #1 1000/1000 drops 0: delivered +36.000 ms",
			"44.000 b out #3 1000/1000 drops 0: delivered +34.000 ms",
		},
		link.Down: {
			"0.000 b in #2 1000/1000 drops 0: lost queue_full at down/queue",
			"28.000 a out #0 1000/1000 drops 1: delivered +28.000 ms",
			"36.000 a out #1 1000/1000 drops 0: delivered +36.000 ms",
			"44.000 a out #3 1000/1000 drops 0: delivered +34.000 ms",
		},
	} {
		l := way{rate: link.MegabitPerSecond, limit: 2, delay: 20 * link.Millisecond}
		var out bytes.Buffer
		sum, err := Replay{Emulator: newPair(l, l), Way: w}.Run(bytes.NewReader(in), &out)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(comments(t, out.Bytes()), "\n"); got != strings.Join(want, "\n") {
			t.Errorf("%s: got\n%s", w, got)
		}
		if sum.Way != w.String() || sum.In != 4 || sum.Delivered != 3 || sum.Lost != 1 || sum.Held != 0 || sum.Seconds != 0.044 || sum.Delay.Max != 36 {
			t.Errorf("summary %+v", sum)
		}
	}
}

// TestReplayMarks: copies and corruption show, and a corrupted frame does not
// spoil the other copy.
func TestReplayMarks(t *testing.T) {
	in := capture(t, pcap.LinkEthernet, [2]int{0, 64})
	a := air{double: 1, corrupt: 1, draw: link.NewDraw(1, "air")}
	var out bytes.Buffer
	sum, err := Replay{Emulator: newPair(way{}, way{air: a}), Way: link.Up}.Run(bytes.NewReader(in), &out)
	if err != nil {
		t.Fatal(err)
	}
	want := "0.000 b out #0 64/64 drops 0: delivered +0.000 ms corrupted\n" +
		"0.000 b out #0 64/64 drops 0: delivered +0.000 ms corrupted duplicate"
	if got := strings.Join(comments(t, out.Bytes()), "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
	r, _ := pcap.NewReader(&out)
	for range 2 {
		p, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		flipped := 0
		for i, b := range p.Data {
			flipped += bits.OnesCount8(b ^ [2]byte{0x45, 0}[i%2])
		}
		if flipped != 1 {
			t.Errorf("%d bits flipped, want one", flipped)
		}
	}
	if sum.Duplicated != 1 || sum.Corrupted != 2 || sum.Delivered != 1 {
		t.Errorf("%+v", sum)
	}
}

// TestReplayOddCaptures: cut packets keep their length, other link types
// become Ethernet, time does not run backwards, what never comes out is told.
func TestReplayOddCaptures(t *testing.T) {
	var in bytes.Buffer
	w, err := pcap.NewWriter(&in, pcap.Header{}, pcap.Interface{LinkType: pcap.LinkRaw})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []pcap.Packet{
		{Time: 1_000_000e9 + 5e6, Data: []byte{0x45, 1}, Length: 100},
		{Time: 1_000_000e9, Data: []byte{0x60, 2}},
		{Time: 1_000_000e9 + 6e6, Data: []byte{0x45}, Length: 90000},
	} {
		if err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	// At 8 kbit/s nothing but the two short ones ends within the limit.
	e := newPair(way{}, way{rate: 8 * link.KilobitPerSecond, limit: 9})
	sum, err := Replay{Emulator: e, Way: link.Up, Limit: link.Second}.Run(&in, &out)
	if err != nil {
		t.Fatal(err)
	}
	want := "119.000 b out #0 16/114 drops 0: delivered +114.000 ms\n" +
		"135.000 b out #1 16/16 drops 0: delivered +130.000 ms\n" +
		"1006.000 a in #2 15/65535 drops 0: held in up"
	if got := strings.Join(comments(t, out.Bytes()), "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
	if sum.Backwards != 1 || sum.Cut != 1 || sum.Held != 1 {
		t.Errorf("%+v", sum)
	}
}

// golden is the digest of the capture that TestReplayGolden writes. It may
// change only when the written format does.
const golden = "c2303f144e45002894c115a506da77b00e7b65a7cd70f9b64cf9e126638ebf8e"

func goldenReplay(t testing.TB, in []byte, out io.Writer) *Summary {
	t.Helper()
	a := air{lose: 0.05, double: 0.02, corrupt: 0.03, draw: link.NewDraw(42, "air")}
	e := newPair(way{rate: 8 * link.MegabitPerSecond, limit: 30, air: a, delay: 250 * link.Millisecond}, way{})
	sum, err := Replay{Emulator: e, Way: link.Down, Header: pcap.Header{Comment: "seed 42"}}.Run(bytes.NewReader(in), out)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestReplayGolden: the same seed gives the same file, byte for byte, on
// every machine.
func TestReplayGolden(t *testing.T) {
	var packets [][2]int
	draw := link.NewDraw(1, "capture")
	for i := range 2000 {
		packets = append(packets, [2]int{i, 60 + int(draw.Uint64(uint64(i))%1455)})
	}
	in := capture(t, pcap.LinkEthernet, packets...)
	var out bytes.Buffer
	sum := goldenReplay(t, in, &out)
	if got := fmt.Sprintf("%x", sha256.Sum256(out.Bytes())); got != golden {
		t.Errorf("digest %s, want %s", got, golden)
	}
	if sum.In != 2000 || sum.Held != 0 || sum.Delivered+sum.Lost != 2000 || sum.Lost == 0 || sum.Duplicated == 0 || sum.Corrupted == 0 {
		t.Errorf("%+v", sum)
	}
}

// failing is a disk that fills up.
type failing struct{ left int }

var errFull = errors.New("no space left")

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestReplayFaults(t *testing.T) {
	in := capture(t, pcap.LinkEthernet, [2]int{0, 100}, [2]int{1, 100}, [2]int{2, 0})
	far := capture(t, pcap.LinkEthernet, [2]int{0, 100}, [2]int{367 * 24 * 3600 * 1000, 100})
	for _, c := range []struct {
		name string
		in   []byte
		out  io.Writer
		want string
	}{
		{"not a capture", []byte("hello"), io.Discard, "neither pcap nor pcapng"},
		{"cut", in[:len(in)-1], io.Discard, "unexpected EOF"},
		{"empty packet", in, io.Discard, "packet 2 of the capture is empty"},
		{"radio", capture(t, 105, [2]int{0, 100}), io.Discard, "packet 0 of the capture: link type 105"},
		{"a year", far, io.Discard, "want at most a year"},
		{"full disk at once", in, &failing{10}, "no space left"},
		{"full disk later", in[:len(in)-32], &failing{300}, "no space left"},
	} {
		_, err := Replay{Emulator: newPair(way{}, way{}), Way: link.Up}.Run(bytes.NewReader(c.in), c.out)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestDelivered(t *testing.T) {
	for ns, want := range map[link.Time]string{
		0: "+0.000 ms", 1: "+0.000001 ms", 250_003_000: "+250.003 ms", 12_345_678: "+12.345678 ms", 1_000_500_000: "+1000.500 ms",
	} {
		if got := string(delivered(nil, link.Packet{When: ns + 7}, 7)); got != "delivered "+want {
			t.Errorf("%d ns: %q, want %q", ns, got, want)
		}
	}
}

// FuzzReplay: no capture, however broken, makes it panic or lose count.
func FuzzReplay(f *testing.F) {
	f.Add(capture(f, pcap.LinkEthernet, [2]int{0, 100}, [2]int{3, 60}))
	f.Add(capture(f, pcap.LinkRaw, [2]int{5, 100}, [2]int{3, 60}))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := way{rate: link.MegabitPerSecond, limit: 3, air: air{lose: 0.1, double: 0.1, draw: link.NewDraw(1, "x")}, delay: link.Second}
		sum, err := Replay{Emulator: newPair(l, l), Way: link.Up}.Run(bytes.NewReader(b), io.Discard)
		if err == nil && sum.In != sum.Delivered+sum.Lost+sum.Held {
			t.Fatalf("%+v", sum)
		}
	})
}

func BenchmarkReplay(b *testing.B) {
	packets := make([][2]int, 200_000)
	for i := range packets {
		packets[i] = [2]int{i / 10, 1000}
	}
	in := capture(b, pcap.LinkEthernet, packets...)
	b.ResetTimer()
	for b.Loop() {
		l := way{rate: 100 * link.MegabitPerSecond, limit: 300, delay: 20 * link.Millisecond}
		sum, err := Replay{Emulator: newPair(l, l), Way: link.Up}.Run(bytes.NewReader(in), io.Discard)
		if err != nil || sum.Delivered != 200_000 {
			b.Fatal(sum, err)
		}
	}
	b.ReportMetric(float64(b.N)*200_000/b.Elapsed().Seconds(), "packets/s")
}
