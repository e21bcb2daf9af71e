package opportunity

import (
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// recorded is the file of the link sheet's vectors CR-1 and CR-2:
//
//	0 20 0 1 1
//	100 40 0 2 2
//	200 40 0
//
// with an opportunity of 1,400 bytes each 10 ms under load.
func recorded() TrainConfig {
	ms := link.Millisecond
	return TrainConfig{
		Lines: []TrainLine{
			{At: 0, Delay: 20 * ms, Offsets: []link.Duration{0, ms, ms}},
			{At: 100 * ms, Delay: 40 * ms, Offsets: []link.Duration{0, 2 * ms, 2 * ms}},
			{At: 200 * ms, Delay: 40 * ms, Offsets: []link.Duration{0}},
		},
		Heavy: DeliveryConfig{Times: []int64{10}},
	}
}

// leave returns when packets of 1,014 bytes that come at the given
// milliseconds leave, in milliseconds.
func leave(c TrainConfig, arrivals ...int64) []int64 {
	s := NewTrain(c, link.NewDraw(1, "train"))
	log := &linktest.Log{}
	for i, ms := range arrivals {
		s.Put(link.Packet{When: link.Time(ms) * link.Time(link.Millisecond), Seq: uint64(i), Body: link.Body{Size: 1014}}, log)
	}
	s.Run(link.Time(100*link.Second), log)
	var out []int64
	for _, p := range log.Delivered() {
		out = append(out, int64(p.When/link.Time(link.Millisecond)))
	}
	return out
}

func TestTrain(t *testing.T) {
	for _, c := range []struct {
		name           string
		arrivals, want []int64
	}{
		{"CR-1: the first packet has the base delay", []int64{0}, []int64{20}},
		{"CR-2: between two lines the base delay is interpolated", []int64{50}, []int64{80}},
		// Three of a train leave at 20, 21, 21. The fourth and fifth end
		// the light way at 20, kept in order 21, and find opportunities of
		// 1,400 bytes at 30 and 40: the fourth's 1,000 bytes at 30, the
		// fifth's 400 at 30 and 600 at 40.
		{"what comes when the train is over waits for opportunities", []int64{0, 0, 0, 0, 0}, []int64{20, 21, 21, 30, 40}},
		// At 1 the offsets 0 of the first is gone and 1 is in use; at 2 all
		// are behind: 2 + 20 = 22 is the light way's end, 30 the opportunity.
		{"offsets that have passed are gone", []int64{0, 1, 2}, []int64{20, 21, 30}},
		// The packet at 150 comes more than 100 ms after the departure at 20
		// (150 + 20 > 120): it begins a train with base 40.
		{"a pause begins a new train", []int64{0, 150}, []int64{20, 190}},
		// At 210 the round of 200 ms has begun anew: base 20 + 20·10/100.
		{"rounds", []int64{210}, []int64{232}},
	} {
		got := leave(recorded(), c.arrivals...)
		for i := range c.want {
			if len(got) != len(c.want) || got[i] != c.want[i] {
				t.Errorf("%s: left at %v, want %v", c.name, got, c.want)
				break
			}
		}
	}
}

// TestTrainSizes: 1,014 bytes of frame are 1,000 of IP, the tenth class.
func TestTrainSizes(t *testing.T) {
	c := recorded()
	c.Sizes = make([]link.Duration, 14)
	c.Sizes[9] = 7 * link.Millisecond
	if got := leave(c, 0); got[0] != 27 {
		t.Errorf("left at %d, want 20 + 7", got[0])
	}
}

func TestTrainCheck(t *testing.T) {
	ms := link.Millisecond
	var got []string
	report := func(path, value, want string) { got = append(got, path+" "+value) }
	TrainConfig{Lines: []TrainLine{{}, {}}, Heavy: DeliveryConfig{Times: []int64{1}}}.Check(report)
	TrainConfig{
		Lines: []TrainLine{{At: 5 * ms}, {At: 4 * ms, Delay: -1}, {Offsets: []link.Duration{2, 1}}},
		Sizes: []link.Duration{-1},
	}.Check(report)
	want := "line 2 lines; line.2.at 0ns; line.1.at 4ms; line.1.delay -1ns; line.2.at 0ns; line.2.offsets.1 1ns; sizes.0 -1ns; heavy.times_ms 0 values"
	if all := strings.Join(got, "; "); all != want {
		t.Errorf("got  %s\nwant %s", all, want)
	}
}

// TestTrainSucceed: a swap keeps every packet and its order.
func TestTrainSucceed(t *testing.T) {
	log := &linktest.Log{}
	was, is := NewTrain(recorded(), link.Draw{}), NewTrain(recorded(), link.Draw{})
	for i := range 8 {
		was.Put(link.Packet{When: link.Time(i), Seq: uint64(i), Body: link.Body{Size: 500}}, log)
	}
	at := link.Time(25 * link.Millisecond)
	was.Run(at, log)
	is.Inherit(at, was)
	was.Drain(func(p link.Packet) { is.Adopt(at, p) })
	is.Run(link.Time(link.Second), log)
	linktest.Conserved(t, log, 8, was)
	linktest.Ordered(t, log)
}
