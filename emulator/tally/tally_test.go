package tally

import (
	"math"
	"reflect"
	"testing"

	"farlink/emulator/link"
)

// names are two links of two stages up, one link of one down.
type names struct{}

func (names) Links() []string { return []string{"sat", "lte"} }
func (names) Stages(w link.Way, i int) []string {
	if w == link.Down {
		return []string{"queue"}
	}
	return [][]string{{"queue", "loss"}, {"mac", "loss"}}[i]
}

func packet(when link.Time, size uint16, on int, marks link.Mark) link.Packet {
	return link.Packet{When: when, Body: link.Body{Size: size, Mark: marks.OnLink(on)}}
}

// TestTotals: five of 100..500 bytes come; 100 is delivered and doubled, 200
// delivered marked, 300 and 400 lost on different links, 500 stays inside.
func TestTotals(t *testing.T) {
	var y Tally
	for _, size := range []int{100, 200, 300, 400, 500} {
		y.Arrive(size)
	}
	ms := link.Time(link.Millisecond)
	y.Meet(link.Fate{Packet: packet(10*ms, 100, 0, link.Corrupted)}, 0, true)
	y.Meet(link.Fate{Packet: packet(12*ms, 100, 0, link.Duplicate|link.Corrupted)}, 0, true)
	y.Meet(link.Fate{Packet: packet(30*ms, 200, 1, link.CE|link.Reordered)}, 20*ms, false)
	y.Meet(link.Fate{Packet: packet(0, 300, 0, 0), Cause: link.Cause{Reason: link.Random, Stage: 1}}, 0, true)
	y.Meet(link.Fate{Packet: packet(0, 400, 1, 0), Cause: link.Cause{Reason: link.RetryLimit}}, 0, true)
	got := y.Totals(names{}, link.Up, link.Second)
	want := Totals{
		In: 5, InBytes: 1500, Delivered: 2, OutBytes: 400, Lost: 2, LostBytes: 700, Held: 1,
		Duplicated: 1, Corrupted: 2, Reordered: 1, CEMarked: 1,
		Losses:    []Loss{{"sat", "random", "up/loss", 1}, {"lte", "retry_limit", "up/mac", 1}},
		LossRatio: 0.5,
		Rate:      1600, // 200 measured bytes in a second
		Delay:     Distribution{Count: 2, Min: 10, Mean: 11, P50: got.Delay.P50, P90: 12, P99: 12, P999: 12, Max: 12},
	}
	if !reflect.DeepEqual(got, want) || math.Abs(got.Delay.P50-10) > 0.02 {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		w     link.Way
		stage uint8
		want  string
	}{{link.Down, 0, "down/queue"}, {link.Down, 12, "down/12"}, {link.Up, 1, "up/loss"}} {
		if got := Place(names{}, c.w, 0, link.Cause{Stage: c.stage}); got != c.want {
			t.Errorf("%v %d: %s, want %s", c.w, c.stage, got, c.want)
		}
	}
}

// TestRecorder: in steps of 1 s, 1,000 bytes offered at 0.5 s are delivered at
// 1.5 s, 500 offered at 1 s at 1.25 s; one is lost at 1.75 s.
func TestRecorder(t *testing.T) {
	r := NewRecorder(link.Second)
	at := func(ms int64) link.Time { return link.Time(ms) * link.Time(link.Millisecond) }
	r.Arrive(link.Down, at(500), 1000)
	r.Arrive(link.Down, at(1000), 500)
	r.Meet(link.Down, link.Fate{Packet: packet(at(1250), 500, 0, 0)}, at(1000))
	r.Meet(link.Down, link.Fate{Packet: packet(at(1500), 1000, 0, 0)}, at(500))
	r.Meet(link.Down, link.Fate{Packet: packet(at(1750), 9, 0, 0), Cause: link.Cause{Reason: link.Cut}}, at(1700))
	s := r.Series(2)
	for name, want := range map[string][]Value{
		"down.offered_bps": {8000, 4000}, "down.delivered_bps": {0, 12000}, "down.loss_packets": {0, 1},
		"up.offered_bps": {0, 0},
		// 250 and 1,000 ms: 625 in the mean, 375 above the least.
		"down.one_way_ms": {Value(math.NaN()), 625}, "down.one_way_extra_ms": {Value(math.NaN()), 375},
	} {
		for i, v := range s.Column(name).Values {
			if v != want[i] && !(math.IsNaN(float64(v)) && math.IsNaN(float64(want[i]))) {
				t.Errorf("%s[%d] is %v, want %v", name, i, v, want[i])
			}
		}
	}
}
