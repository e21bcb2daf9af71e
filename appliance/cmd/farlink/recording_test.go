package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recordedProfile is a link on which everything happens, of what does not
// depend on when a run began.
const recordedProfile = `name = "lab/recorded"
[up.queue]
rate = "4Mbit/s"
limit = "20packets"
[up]
shallow_queue = true
[up.loss]
probability = 0.05
[up.path]
delay = "40ms"
[up.path.jitter]
distribution = "uniform"
spread = "2ms"
[up.reorder]
probability = 0.1
delay = "20ms"
[up.duplicate]
probability = 0.1
`

// The channel of a run on the wire, saved from the box's capture, meets the
// packets of that run with the same fates again, bit for bit. The model of
// profile and seed does so too, which is what the wire claims to be, but for a
// full queue that frees a place within the microseconds between a frame's stamp
// and the engine's seeing it.
func TestRecordingOfARun(t *testing.T) {
	l := labUp(t)
	profile := write(t, "recorded.toml", recordedProfile)
	s, r := udp(t, l.Name+"-a", "10.77.0.1:5559"), udp(t, l.Name+"-b", "10.77.0.2:5559")
	file := func(name string) string { return filepath.Join(t.TempDir(), name) }
	time.Sleep(300 * time.Millisecond) // until the box records
	measured(t, func() string {        // a box that was not looked after may have missed frames, and says so
		must(t, "apply", "--lab", l.Name, "--seed", "7", "--new-run", profile)
		stop := make(chan struct{})
		go offer(s, r.LocalAddr(), 6e6, stop)
		time.Sleep(2 * time.Second)
		close(stop)
		time.Sleep(time.Second) // all are out, and the box has looked
		status, capture := ask(t, l, http.MethodGet, "/capture/pcap", "")
		if status != http.StatusOK {
			t.Fatalf("capture: %d %s", status, capture)
		}
		run, day, came := write(t, "run.pcapng", capture), file("day.csv"), file("came.pcapng")
		if _, said, status := farlink(t, "trace", "record", "--way", "up", "--out", day, "--came", came, run); status != 0 || !strings.HasSuffix(said, " 0 left out\n") {
			return said
		}
		again, model, out := file("again.csv"), file("model.csv"), file("out.pcapng")
		must(t, "replay", "--channel", day, "--way", "up", "--record", again, "--out", out, came)
		must(t, "replay", "--profile", profile, "--seed", "7", "--way", "up", "--record", model, "--out", out, came)
		was := text(t, day)
		for _, fate := range []string{"delivered,", "queue_full,", "random,", "duplicate", "reordered"} {
			if !strings.Contains(was, fate) {
				return "nothing in the recording is " + fate
			}
		}
		if is := text(t, again); is != was {
			return "the recording of the replay differs from the run's:\n" + difference(was, is)
		}
		n, of := unlike(was, text(t, model)), strings.Count(was, "\n")
		t.Logf("%d of %d fates are not those of the model", n, of)
		if n > of/50 {
			return fmt.Sprintf("%d of %d fates are not those of the model", n, of)
		}
		return ""
	})
}

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// unlike counts the lines of a that b has not.
func unlike(a, b string) (n int) {
	known := map[string]bool{}
	for line := range strings.Lines(b) {
		known[line] = true
	}
	for line := range strings.Lines(a) {
		if !known[line] {
			n++
		}
	}
	return n
}

// difference shows the first lines that are not the same.
func difference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return strings.Join(as[i:min(i+3, len(as))], "\n") + "\n—\n" + strings.Join(bs[i:min(i+3, len(bs))], "\n")
		}
	}
	return "one is longer"
}
