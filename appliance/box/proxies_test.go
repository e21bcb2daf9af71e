package box

import (
	"testing"
	"testing/synctest"
	"time"

	"farlink/appliance"
)

// Proxies that come or go need an engine on another path. That engine is not
// counted among those that were lost; one that dies later is.
func TestProxiesAreNoRestart(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		before := bench.last()
		if _, err := b.PatchPEP(t.Context(), "", []byte(`{"near": true, "far": true}`), appliance.Options{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if bench.last() == before {
			t.Fatal("the engine is on the path of before")
		}
		if n := b.State().Pairs[0].Engine.Restarts; n != 0 {
			t.Errorf("%d restarts counted of an engine that was ended on purpose", n)
		}
		close(bench.last().done)
		time.Sleep(time.Second) // longer than the first attempts are apart
		synctest.Wait()
		if n := b.State().Pairs[0].Engine.Restarts; n != 1 {
			t.Errorf("%d restarts counted of an engine that died, want 1", n)
		}
	})
}
