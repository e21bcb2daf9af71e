package queue

import (
	"math"
	"testing"

	"farlink/emulator/link"
)

// filled returns a room in which bytes wait, whose RED looks at the present
// queue alone: least 10 kB, most 30 kB, probability 0.1 there.
func filled(bytes int) (*Room, *red) {
	r := NewRoom(Config{Rate: 12_112_000, Limit: Limit{Packets: 999}, Discipline: "red",
		RED: &REDConfig{Least: 10_000, Most: 30_000, Probability: 0.1, Weight: 1}}, link.NewDraw(1, "q"))
	for ; bytes > 0; bytes -= 1000 {
		r.Push(link.Packet{Body: link.Body{Size: 1000}})
	}
	return &r, r.aqm.(*red)
}

// TestREDProbability: half-way between least and most the probability is
// 0.05, so the gap between two signals is uniform in 1..20; at most 0.1; at
// 1.5·most, gently, 0.1 + 0.9/2 = 0.55: a gap of 1 at 0.55 or else 2; from
// 2·most on all go, marks or not; below least none does.
func TestREDProbability(t *testing.T) {
	for _, c := range []struct {
		bytes int
		want  []float64 // share of each gap, 1 and up
	}{
		{20_000, even(20)}, {30_000, even(10)}, {45_000, []float64{0.55, 0.45}}, {9_000, nil},
	} {
		room, red := filled(c.bytes)
		gaps := make([]int, 100)
		gap, signals := 0, 0
		for i := range uint64(100_000) {
			gap++
			switch red.arrive(link.Packet{Seq: i}, room) {
			case signal:
				gaps[gap-1]++
				gap = 0
				signals++
			case drop:
				t.Fatalf("%d B: dropped below twice the most", c.bytes)
			}
		}
		x := 0.0
		for i, share := range c.want {
			want := share * float64(signals)
			x += (float64(gaps[i]) - want) * (float64(gaps[i]) - want) / want
			gaps[i] = 0
		}
		for i, n := range gaps {
			if n > 1 { // the first gap began before the first packet
				t.Errorf("%d B: %d gaps of %d", c.bytes, n, i+1)
			}
		}
		if x > 45 { // of 19 degrees of freedom, once in a thousand
			t.Errorf("%d B: chi-square of the gaps %.1f", c.bytes, x)
		}
		if (signals > 0) != (c.want != nil) {
			t.Errorf("%d B: %d signals", c.bytes, signals)
		}
	}
	room, red := filled(60_000)
	for i := range uint64(100) {
		if red.arrive(link.Packet{Seq: i, Body: link.Body{Mark: link.ECT}}, room) != drop {
			t.Fatal("kept at twice the most")
		}
	}
}

func even(n int) []float64 {
	shares := make([]float64, n)
	for i := range shares {
		shares[i] = 1 / float64(n)
	}
	return shares
}

// TestREDAverage: from 0, 10 kB seen three times at a weight of 0.002 make
// 10,000·(1-0.998³) = 59.88 B. Then 100 ms idle at 12.112 Mbit/s, a full
// frame a millisecond, are as 100 packets: 59.88·0.998^100 = 49.02 B.
func TestREDAverage(t *testing.T) {
	room, red := filled(10_000)
	red.weight = 0.002
	for range 3 {
		red.arrive(link.Packet{}, room)
	}
	if math.Abs(red.average-59.88) > 0.01 {
		t.Errorf("average %.3f B, want 59.88", red.average)
	}
	for room.Len() > 0 {
		room.Take(0, nil)
	}
	red.arrive(link.Packet{When: link.Time(100 * link.Millisecond)}, room)
	if math.Abs(red.average-49.02) > 0.01 {
		t.Errorf("average %.3f B after 100 ms idle, want 49.02", red.average)
	}
}

// TestREDDefaults: of a limit of 120 kB, most is a quarter and least a third
// of that.
func TestREDDefaults(t *testing.T) {
	r := newRED(Config{Limit: Limit{Bytes: 120_000}}, link.NewDraw(1, "r"))
	if r.most != 30_000 || r.least != 10_000 || r.peak != 0.1 || r.weight != 0.002 {
		t.Errorf("defaults %+v", r)
	}
}
