package carriers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"farlink/appliance/machine"
	"farlink/emulator/wire"
	"farlink/pep/multipath"
)

// The test binary is the engine too.
func TestMain(m *testing.M) {
	if wire.IsEngine() {
		os.Exit(wire.Main(machine.Build, machine.OpenFeed))
	}
	os.Exit(m.Run())
}

func up(t *testing.T, c multipath.Config, names ...string) *Lab {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("needs root")
		}
		t.Skip("needs root for namespaces")
	}
	l, err := Up(context.Background(), Options{Name: fmt.Sprintf("mp%x", rand.Uint32N(1<<24)), Profiles: names, Seed: 1, Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Over the two operators as cells (LTE), the relays carry more than either
// alone; a carrier that falls silent costs a short stall and no reset, and is
// used again when it is back.
func TestTwoOperators(t *testing.T) {
	l := up(t, multipath.Config{}, "lte/skt", "lte/kt")
	b, err := l.Bulk()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	got, err := b.Goodput(t.Context(), 2*time.Second, 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f Mbit/s of 54.1, delay p95 %v", got, l.Proxy.Delays().Quantile(0.95))
	if got < 40 { // more than the better one carries; the bench holds the share against 90 %
		t.Errorf("%.1f Mbit/s over both, want more than 40", got)
	}
	if err := l.Cut(1, true); err != nil {
		t.Fatal(err)
	}
	stall := b.Stall(2 * time.Second)
	alone, err := b.Goodput(t.Context(), 0, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Cut(1, false); err != nil {
		t.Fatal(err)
	}
	again, err := b.Goodput(t.Context(), 2500*time.Millisecond, time.Second)
	t.Logf("cut: stall %v, then %.1f Mbit/s; back: %.1f Mbit/s", stall, alone, again)
	if err != nil || stall > 1500*time.Millisecond || alone < 8 || again < 25 {
		t.Errorf("stall %v, %.1f Mbit/s alone, %.1f again, %v", stall, alone, again, err)
	}
	if s := l.Router.Stats(); s.Resets != 0 || len(s.Connections) != 1 {
		t.Errorf("router %+v", s)
	}
}
