package box

import (
	"context"
	"strings"
	"testing"
	"time"

	"farlink/appliance"
	"farlink/emulator/link"
)

// document returns the document that the newest engine was given last.
func (b *testBench) document() string {
	b.mu.Lock()
	e := b.engines[len(b.engines)-1]
	b.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.documents[len(e.documents)-1]
}

// TestFade: for as long as it lasts the engine has one more line in the
// timeline of the main link, and then its own document again.
func TestFade(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		apply(t, b, `{"profile": "geo/ka-seoul-rain", "seed": 7}`, appliance.Options{})
		own := bench.document()
		d, err := b.Disrupt(context.Background(), "", appliance.Disruption{Kind: appliance.Fade, DB: 6, Duration: 30 * link.Second, Ramp: 2 * link.Second}, "anna")
		if err != nil || d.Ends.Sub(d.Begins) != 30*time.Second {
			t.Fatalf("%+v, %v", d, err)
		}
		if got := bench.document(); !strings.Contains(got, `"timeline":[{"at":"0","fade_db":6,"for":"30s","ramp":"2s"}]`) || !strings.Contains(got, `"seed":7`) {
			t.Errorf("document %s", got)
		}
		if s := b.State().Pairs[0]; s.Word != appliance.Emulating || s.Event == nil || s.Event.Kind != appliance.Fade {
			t.Errorf("%s, event %+v", s.Word, s.Event)
		}
		if _, err := b.Disrupt(context.Background(), "", appliance.Disruption{Kind: appliance.CutFor, Duration: link.Second}, ""); err != appliance.ErrBusy {
			t.Errorf("a second event: %v", err)
		}
		time.Sleep(31 * time.Second)
		if bench.document() != own || b.State().Pairs[0].Event != nil {
			t.Errorf("after it: %s", bench.document())
		}
		if _, err := b.Disrupt(context.Background(), "", appliance.Disruption{Kind: appliance.Fade, DB: 6, Duration: 30 * link.Second}, ""); err != nil {
			t.Fatal(err)
		}
		if err := b.Reset(context.Background(), ""); err != nil || b.State().Pairs[0].Event != nil {
			t.Errorf("reset: %v", err)
		}
	})
}

func TestHandOver(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		apply(t, b, `{"profile": "clear"}`, appliance.Options{})
		if _, err := b.Disrupt(context.Background(), "", appliance.Disruption{Kind: appliance.HandOver, Duration: 50 * link.Millisecond}, ""); err != nil {
			t.Fatal(err)
		}
		if got := bench.document(); !strings.Contains(got, `"timeline":[{"at":"0","handover":"50ms"}]`) {
			t.Errorf("document %s", got)
		}
		time.Sleep(time.Second)
		if got := bench.document(); strings.Contains(got, "timeline") {
			t.Errorf("after it: %s", got)
		}
		// A link without a carrier has nothing that fades, and says so.
		_, err := b.Disrupt(context.Background(), "", appliance.Disruption{Kind: appliance.Fade, DB: 6, Duration: link.Second}, "")
		if bad, ok := err.(appliance.Problems); !ok || bad[0].Path != "kind" || !strings.Contains(bad[0].Want, "carrier") {
			t.Errorf("fade of a wire: %v", err)
		}
		apply(t, b, `{"profile": "clear", "mode": "bypass"}`, appliance.Options{})
		if _, err := b.Disrupt(context.Background(), "", appliance.Disruption{Kind: appliance.HandOver, Duration: link.Second}, ""); err == nil {
			t.Error("handover of a link that nothing crosses")
		}
	})
}

func TestBendProblems(t *testing.T) {
	for want, d := range map[string]appliance.Disruption{
		"duration db": {Kind: appliance.Fade},
		"ramp":        {Kind: appliance.Fade, DB: 3, Duration: link.Second, Ramp: link.Second},
		"count":       {Kind: appliance.Fade, DB: 3, Duration: link.Second, Count: 2},
		"duration":    {Kind: appliance.HandOver, Duration: 11 * link.Second},
		"db":          {Kind: appliance.CutFor, Duration: link.Second, DB: 3},
		"db count":    {Kind: appliance.HandOver, Duration: link.Second, DB: 3, Up: 1},
	} {
		var paths []string
		for _, p := range d.Check() {
			paths = append(paths, p.Path)
		}
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("%+v: problems at %q, want %q", d, got, want)
		}
	}
}
