package capture

import (
	"testing"
	"time"

	"farlink/emulator/link"
)

// TestTriggerFigures: a rate is that of a second, a fall needs a height, and
// each fires once.
func TestTriggerFigures(t *testing.T) {
	const ms = link.Duration(time.Millisecond)
	rates := func(n int, bps float64) (all []Figures) {
		for range n {
			all = append(all, Figures{Delivered: [2]float64{link.Up: bps}})
		}
		return all
	}
	both := func(a, b []Figures) []Figures { return append(a, b...) }
	for name, c := range map[string]struct {
		trigger Trigger
		given   []Figures
		want    string
		at      int // figures given when it fires
	}{
		"round trip":         {Trigger{RTTAbove: 600 * ms}, []Figures{{RTT: 600 * ms}, {RTT: 601 * ms}, {RTT: 700 * ms}}, "rtt 601ms above 600ms", 2},
		"never so slow":      {Trigger{RTTAbove: 600 * ms}, []Figures{{RTT: 599 * ms}}, "", 0},
		"idle is no fall":    {Trigger{Way: link.Up, RateBelow: 1e6}, rates(40, 0), "", 0},
		"the other way":      {Trigger{Way: link.Down, RateAbove: 1e6}, rates(40, 8e6), "", 0},
		"less than a second": {Trigger{Way: link.Up, RateAbove: 1e6}, rates(9, 8e6), "", 0},
		// A second of 8 Mbit/s, then nothing: the mean is below 1 Mbit/s when
		// 9 of 10 tenths are empty (0.8 Mbit/s).
		"falls": {Trigger{Way: link.Up, RateBelow: 1e6}, both(rates(10, 8e6), rates(20, 0)), "rate up 800kbit/s below 1Mbit/s", 19},
		// Nothing, then 8 Mbit/s: above 5 Mbit/s when 7 of 10 are full (5.6).
		"rises": {Trigger{Way: link.Up, RateAbove: 5e6}, both(rates(10, 0), rates(10, 8e6)), "rate up 5.6Mbit/s above 5Mbit/s", 17},
	} {
		r := &Recorder{}
		r.Arm(true)
		fired, at := "", 0
		r.Watch(c.trigger, func(why string) { fired += why })
		for i, f := range c.given {
			r.Look(f)
			if fired != "" && at == 0 {
				at = i + 1
			}
		}
		if fired != c.want || at != c.at || r.Status().Waiting != (c.want == "") {
			t.Errorf("%s: %q after %d, want %q after %d", name, fired, at, c.want, c.at)
		}
	}
}

func TestTriggerMark(t *testing.T) {
	r := &Recorder{}
	fired := ""
	watch := func(text string) {
		r.Watch(Trigger{RunMark: text}, func(why string) { fired += why + ";" })
	}
	watch("moved")
	r.Marked("moved") // not armed
	r.Arm(true)
	r.Marked("begin")
	r.Marked("moved")
	r.Marked("moved")
	watch(AnyMark)
	r.Marked("whatever")
	if fired != "mark moved;mark whatever;" {
		t.Errorf("fired %q", fired)
	}
}
