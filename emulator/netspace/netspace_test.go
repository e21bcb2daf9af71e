package netspace

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netns"

	"farlink/emulator/need"
)

// TestDo: code finds itself in the namespace that was made, with its loopback
// alone, and no goroutine is left there.
func TestDo(t *testing.T) {
	need.Root(t)
	name := fmt.Sprintf("ns%x", rand.Uint32N(1<<24))
	if err := Make(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { netns.DeleteNamed(name) })
	if err := Make(name); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("made twice: %v", err)
	}
	before := where(t)
	for range 20 { // among them some on the first thread of the process
		err := Do(name, func() error {
			if now := where(t); now == before {
				return fmt.Errorf("still in %s", now)
			}
			all, err := net.Interfaces()
			if err != nil || len(all) != 1 || all[0].Name != "lo" || all[0].Flags&net.FlagUp == 0 {
				return fmt.Errorf("%v, %w; want lo, up", all, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if now := where(t); now != before {
			t.Fatalf("left in %s, was in %s", now, before)
		}
	}
	if err := Do(name+"x", func() error { return nil }); err == nil || !strings.Contains(err.Error(), name+"x") {
		t.Errorf("a namespace that is not there: %v", err)
	}
}

// where is the namespace of the calling thread.
func where(t *testing.T) string {
	t.Helper()
	s, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Error(err)
	}
	return s
}
