package api

import (
	"strings"
	"testing"
	"time"
)

// TestHistory: 200 s of samples, each of 1 Mbit/s more than the one before,
// with 1 loss and a queue of as many ms.
func TestHistory(t *testing.T) {
	var h history
	begin := time.Unix(1000, 0)
	for i := range 2000 {
		at := begin.Add(time.Duration(i+1) * sampleEvery)
		w := WaySample{Offered: float64(i) * 1e6, QueueMS: float64(i), Lost: 1, Causes: map[string]uint64{"random": 1}}
		h.add(Sample{Time: at, Pairs: []PairSample{{Name: "main", Down: w, Readings: map[string]float64{"x": 1}}}})
	}
	end := begin.Add(200 * time.Second)
	if got := h.since("main", end.Add(-10*time.Second)); len(got) != 101 || got[100].at != end {
		t.Errorf("10 s: %d samples", len(got))
	}
	got := h.since("main", begin)
	fine := h.pairs["main"].fine.items
	if n := len(got) - len(fine); got[n].at != fine[0].at || got[0].at != begin.Add(time.Second) {
		t.Fatalf("%d samples, %d of them fine", len(got), len(fine))
	}
	// Samples 0..9 become one: mean 4.5 Mbit/s, greatest queue 9 ms.
	if d := got[0].Down; d.Offered != 4.5e6 || d.QueueMS != 9 || d.Lost != 10 || d.Causes["random"] != 10 {
		t.Errorf("%+v", d)
	}
	for i := 1; i < len(got); i++ {
		if !got[i].at.After(got[i-1].at) {
			t.Fatalf("sample %d at %s after %s", i, got[i].at, got[i-1].at)
		}
	}
	if got[0].Readings != nil {
		t.Error("readings are kept")
	}
	c := columns("main", got[:2])
	if len(c.Time) != 2 || c.Down.Queue[1] != 19 || c.Lost["down.random"][1] != 10 || c.Time[0] != 1001 {
		t.Errorf("%+v", c)
	}
}

func TestSeriesAndEvents(t *testing.T) {
	b := newBench(t)
	b.until("two samples", func() bool {
		return len(decoded[Series](t, b.ask(readToken, "GET", "/api/v1/series?window=10s", "").body).Time) >= 2
	})
	if got := b.ask(readToken, "GET", "/api/v1/series?window=9h", ""); got.StatusCode != 422 || !strings.Contains(got.body, "query.window") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := b.ask(readToken, "GET", "/api/v1/series?pair=none", ""); got.StatusCode != 404 {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := b.ask(readToken, "GET", "/api/v1/events", ""); !strings.Contains(got.body, `"kind":"engine"`) {
		t.Errorf("%s", got.body)
	}
}
