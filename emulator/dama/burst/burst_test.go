package burst

import (
	"math"
	"testing"

	"farlink/emulator/link"
)

// The reference sheet, 2.6: bursts for a 1500-byte packet (RLE, 2-byte type, 1-byte
// sequence number), bits per symbol, kbit/s per MBd.
func TestReferenceWaveforms(t *testing.T) {
	rle, _ := Encapsulate("rle")
	for _, v := range []struct {
		id, bursts int
		bits       float64
		kbps       float64
	}{
		{3, 42, 0.567, 567.2}, {4, 27, 0.881, 880.6}, {5, 19, 1.269, 1268.7}, {6, 17, 1.433, 1432.8},
		{7, 15, 1.612, 1611.9}, {8, 14, 1.716, 1716.4}, {9, 12, 1.940, 1940.3}, {10, 11, 2.149, 2149.3},
		{11, 9, 2.612, 2611.9}, {12, 8, 2.896, 2895.5}, {13, 13, 0.609, 608.9}, {14, 9, 0.931, 930.7},
		{15, 6, 1.307, 1306.9}, {16, 6, 1.475, 1475.2}, {17, 5, 1.649, 1648.5}, {18, 5, 1.757, 1757.4},
		{19, 4, 1.980, 1980.2}, {20, 4, 2.198, 2198.0}, {21, 3, 2.668, 2668.3}, {22, 3, 2.965, 2965.3},
	} {
		w, ok := Reference(v.id)
		if !ok || w.ID != v.id {
			t.Fatalf("waveform %d: %+v", v.id, w)
		}
		if got := rle.Bursts(1500, w.Payload); got != v.bursts {
			t.Errorf("waveform %d: %d bursts, want %d", v.id, got, v.bursts)
		}
		bits := float64(8*w.Payload) / float64(w.Symbols)
		if math.Abs(bits-v.bits) > 0.00051 || math.Abs(1000*bits-v.kbps) > 0.051 {
			t.Errorf("waveform %d: %.4f bit/symbol, want %.3f", v.id, bits, v.bits)
		}
	}
	for _, id := range []int{2, 23} {
		if _, ok := Reference(id); ok {
			t.Errorf("waveform %d exists", id)
		}
	}
}

// The reference sheet, 2.7: bytes on the air.
func TestEncapsulation(t *testing.T) {
	for _, v := range []struct {
		name string
		air  [3]float64 // of 40, 576, 1500 bytes of IP
	}{
		{"aal5", [3]float64{53, 689, 1696}},
		{"aal5-snap", [3]float64{106, 689, 1696}},
		{"mpe", [3]float64{188, 752, 1692}},
		{"mpe-packed", [3]float64{57.2, 604.9, 1549.0}},
		{"ule", [3]float64{55.2, 602.8, 1546.9}},
		{"gse", [3]float64{44, 580, 1504}},
		{"gse-label3", [3]float64{47, 583, 1507}},
		{"gse-label6", [3]float64{50, 586, 1510}},
		{"rle", [3]float64{44, 580, 1504}},
		{"rle-suppressed", [3]float64{42, 578, 1502}},
	} {
		e, ok := Encapsulate(v.name)
		if !ok {
			t.Fatalf("no encapsulation %q", v.name)
		}
		for i, l := range []int{40, 576, 1500} {
			if got := e.Air(l); math.Abs(got-v.air[i]) > 0.051 {
				t.Errorf("%s: %d bytes take %.2f, want %.1f", v.name, l, got, v.air[i])
			}
		}
	}
}

// A packet alone takes as many bursts as its cost says, whatever its size
// and the burst: filling burst after burst agrees with the formula.
func TestFillAgreesWithCost(t *testing.T) {
	for _, e := range encapsulations {
		for _, payload := range []int{38, 59, 188, 212, 376, 599} {
			room := e.Room(payload)
			if room == 0 {
				continue
			}
			for l := 1; l < 2000; l += 7 {
				p, n, used := Piece{Left: e.Size(l)}, 0, 0
				for done := false; !done; n++ {
					var u int
					u, done = e.Fill(&p, room)
					used += u
				}
				if used != e.Cost(l, room) || n != e.Bursts(l, payload) {
					t.Fatalf("%s, bursts of %d: %d bytes took %d bytes in %d bursts, want %d in %d",
						e.Name, payload, l, used, n, e.Cost(l, room), e.Bursts(l, payload))
				}
			}
		}
	}
}

// The reference sheet, 2.6: 49 slots of 536 symbols or 16 of 1616 in 26.5 ms at 1 MBd.
// RCS-13: nine bursts of 1616 symbols are 14544 and fit.
func TestGrid(t *testing.T) {
	f := 26500 * link.Microsecond
	if n := NewGrid(f, 1, 1, 1_000_000, 536); n.Slots() != 49 {
		t.Errorf("%d slots of 536 symbols, want 49", n.Slots())
	}
	g := NewGrid(f, 1, 1, 1_000_000, 1616)
	if g.Slots() != 16 || g.at[9] != 14544*link.Microsecond {
		t.Errorf("%d slots of 1616 symbols, nine take %v; want 16, 14.544ms", g.Slots(), g.at[9])
	}
}

// Whatever is allocated, no slot is used twice, and no terminal transmits
// twice at a time; its slots come in order of time.
func TestPlansAreDisjoint(t *testing.T) {
	d := link.NewDraw(5, "grid")
	for round := range uint64(300) {
		frames, carriers := 1+int(d.Uint64(round*9)%4), 1+int(d.Uint64(round*9+1)%5)
		g := NewGrid(100*link.Millisecond, frames, carriers, 10000*(1+int(d.Uint64(round*9+2)%7)), 50)
		seen, first := map[[2]int64]int{}, 0
		for terminal := 0; first < g.Total(); terminal++ {
			count := min(1+int(d.Uint64(round<<20+uint64(terminal))%uint64(g.Limit())), g.Total()-first)
			p, last, n := g.Plan(1000, first, count), link.Time(-1), 0
			for ; p.Left > 0; n++ {
				begin, end := g.Next(&p)
				if begin < last || begin < 1000 || end > link.Time(1000).Add(g.superframe) {
					t.Fatalf("round %d: slot %d..%d after %d", round, begin, end, last)
				}
				last = end
				seen[[2]int64{int64(p.frame), int64(begin)}]++
				g.Step(&p)
			}
			if n != count {
				t.Fatalf("round %d: %d slots of %d", round, n, count)
			}
			first += count
		}
		for at, n := range seen { // every slot is used, on every carrier once
			if n != carriers {
				t.Fatalf("round %d: %d bursts at %v on %d carriers", round, n, at, carriers)
			}
		}
	}
}

// DVB-RCS: 4 cells of 53 bytes at rate 3/4, two bits a symbol: 1130.67.
func TestTurbo(t *testing.T) {
	w, ok := Turbo("3/4", 53, 4, 60)
	if !ok || w.Payload != 212 || w.Symbols != 1131+60 || w.EsN0 != 7.16 {
		t.Errorf("4 ATM cells at 3/4: %+v", w)
	}
	if w, _ := Turbo("6/7", 188, 1, 0); w.EsN0 != 8.34 || w.Symbols != 878 {
		t.Errorf("an MPEG packet at 6/7: %+v, want 877.3 symbols, 8.34 dB", w)
	}
	if _, ok := Turbo("5/7", 188, 1, 0); ok {
		t.Error("code rate 5/7 exists")
	}
}

func TestBest(t *testing.T) {
	for _, v := range []struct {
		symbols int
		esn0    float64
		want    int
	}{{1616, 1.71, 14}, {1616, 1.70, 13}, {1616, 30, 22}, {1616, 10.5, 20}, {536, 5, 5}, {1616, -1, 0}} {
		if w, _ := Best(v.symbols, v.esn0); w.ID != v.want {
			t.Errorf("%d symbols at %v dB: waveform %d, want %d", v.symbols, v.esn0, w.ID, v.want)
		}
	}
}
