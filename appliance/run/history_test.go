package run

import (
	"testing"
	"time"
)

// TestHistory: 200 s of samples, each of 1 Mbit/s more than the one before,
// with 1 loss and a queue of as many ms.
func TestHistory(t *testing.T) {
	var h History
	begin := time.Unix(1000, 0)
	for i := range 2000 {
		at := begin.Add(time.Duration(i+1) * Every)
		w := WaySample{Offered: float64(i) * 1e6, QueueMS: float64(i), Lost: 1, Causes: map[string]uint64{"random": 1}}
		h.Add(Sample{Time: at, Pairs: []PairSample{{Name: "main", Down: w, Readings: map[string]float64{"x": 1}}}})
	}
	end := begin.Add(200 * time.Second)
	if got := h.Since("main", end.Add(-10*time.Second)); len(got) != 101 || got[100].At != end {
		t.Errorf("10 s: %d samples", len(got))
	}
	got := h.Since("main", begin)
	fine := h.pairs["main"].fine.items
	if n := len(got) - len(fine); got[n].At != fine[0].At || got[0].At != begin.Add(time.Second) {
		t.Fatalf("%d samples, %d of them fine", len(got), len(fine))
	}
	// Samples 0..9 become one: mean 4.5 Mbit/s, greatest queue 9 ms.
	if d := got[0].Down; d.Offered != 4.5e6 || d.QueueMS != 9 || d.Lost != 10 || d.Causes["random"] != 10 {
		t.Errorf("%+v", d)
	}
	for i := 1; i < len(got); i++ {
		if !got[i].At.After(got[i-1].At) {
			t.Fatalf("sample %d at %s after %s", i, got[i].At, got[i-1].At)
		}
	}
	if got[0].Readings != nil {
		t.Error("readings are kept")
	}
	c := Columns("main", got[:2])
	if len(c.Time) != 2 || c.Down.Queue[1] != 19 || c.Lost["down.random"][1] != 10 || c.Time[0] != 1001 {
		t.Errorf("%+v", c)
	}
}
