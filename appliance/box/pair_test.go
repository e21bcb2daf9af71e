package box

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"farlink/appliance"
)

// An engine that moves frames otherwise than the one before says so, and the
// state says why.
func TestDriverChanges(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		next := func(driver, why string) {
			bench.mu.Lock()
			bench.driver, bench.why = driver, why
			bench.mu.Unlock()
			close(bench.last().done)
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		next("native XDP, copy", "")
		next("native XDP, copy", "")
		next("generic XDP, copy", "p0 is a veth whose peer does not poll")
		if e := b.State().Pairs[0].Engine; e.Driver != "generic XDP, copy" || !strings.Contains(e.DriverWhy, "does not poll") {
			t.Errorf("%+v", e)
		}
		s := b.Subscribe(0)
		defer s.Close()
		var texts []string
		for _, e := range s.Past {
			if e.Kind == appliance.KindEngine {
				text, _, _ := strings.Cut(e.Text, "; engine was gone")
				texts = append(texts, text)
			}
		}
		want := []string{"engine started", "engine started again: native XDP, copy", "engine started again: native XDP, copy",
			"engine started again: generic XDP, copy, before it was native XDP, copy; p0 is a veth whose peer does not poll"}
		if !slices.Equal(texts, want) {
			t.Errorf("%q, want %q", texts, want)
		}
	})
}

// A port whose far end leaves checksums to a card is warned of once, and until
// that has changed.
func TestPortWarnings(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		const sums = "eth1 is a veth whose peer h0 leaves checksums to a card"
		for _, now := range []string{sums, sums, ""} {
			bench.changed(PortChange{Port: "eth1", There: true, Carrier: true, Unfinished: now})
			synctest.Wait()
			if got := strings.Join(b.State().Pairs[0].PortWarnings, "|"); got != now {
				t.Errorf("warnings %q, want %q", got, now)
			}
		}
		s := b.Subscribe(0)
		defer s.Close()
		var texts []string
		for _, e := range s.Past {
			if e.Kind == appliance.KindPort {
				texts = append(texts, e.Text)
			}
		}
		if want := []string{"warning: " + sums, "what comes in at eth1 has its checksums now"}; !slices.Equal(texts, want) {
			t.Errorf("%q, want %q", texts, want)
		}
	})
}
