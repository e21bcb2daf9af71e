package sim

import (
	"encoding/json"
	"strings"
	"testing"

	"farlink/emulator/link"
)

func run(t *testing.T, cfg Config) *Result {
	t.Helper()
	r, err := Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range link.Ways {
		total := r.way(w)
		var flows int64
		for _, f := range r.Flows {
			flows += f.way(w).In
		}
		held, _ := cfg.Emulator.Held(w)
		if total.In != total.Delivered+total.Lost+total.Held || total.In != flows || total.Duplicated == 0 && total.Held != int64(held) {
			t.Errorf("%s: %d in, %d delivered, %d lost, %d held (the link says %d), %d of flows",
				w, total.In, total.Delivered, total.Lost, total.Held, held, flows)
		}
	}
	return r
}

// TestPing: 98 bytes at 1 Mbit/s take 784 us each way, and 30 + 70 ms of path.
func TestPing(t *testing.T) {
	e := newPair(
		way{rate: link.MegabitPerSecond, limit: 9, delay: 30 * link.Millisecond},
		way{rate: link.MegabitPerSecond, limit: 9, delay: 70 * link.Millisecond})
	p := &Ping{Name: "ping", From: link.Up, Size: 98, Every: link.Second}
	r := run(t, Config{Emulator: e, Senders: []Sender{p}, Until: link.Time(10*link.Second - 1)})
	rtt := r.Flows[0].RTT
	if rtt == nil || rtt.Count != 10 || rtt.Min != 101.568 || rtt.Max != 101.568 {
		t.Errorf("RTT %+v, want 10 of 101.568 ms", rtt)
	}
}

// TestDuplicates: an extra copy is counted as such, keeps the conservation
// and makes no second echo.
func TestDuplicates(t *testing.T) {
	e := newPair(way{}, way{air: air{double: 1, corrupt: 1, draw: link.NewDraw(1, "x")}, delay: link.Millisecond})
	p := &Ping{Name: "ping", From: link.Up, Size: 98, Every: link.Second}
	r := run(t, Config{Emulator: e, Senders: []Sender{p}, Until: link.Time(5*link.Second - 1)})
	if r.Up.Delivered != 5 || r.Up.Duplicated != 5 || r.Up.Corrupted != 10 || r.Up.OutBytes != 980 || r.Down.In != 5 {
		t.Errorf("up %+v, %d replies", r.Up, r.Down.In)
	}
}

// TestSameAgain: the same seeds give the same result, to the last byte.
func TestSameAgain(t *testing.T) {
	var out [2][]byte
	for i := range out {
		a := air{lose: 0.02, double: 0.01, draw: link.NewDraw(3, "air")}
		e := newPair(way{rate: 5 * link.MegabitPerSecond, limit: 40, air: a, delay: 40 * link.Millisecond}, way{air: a})
		senders := []Sender{
			&Ping{Name: "i", From: link.Down, Size: 98, Every: 20 * link.Millisecond},
			&Greedy{Name: "g", Way: link.Down, Size: 1514},
		}
		b, err := json.Marshal(run(t, Config{Emulator: e, Senders: senders, Until: link.Time(5 * link.Second), Series: true}))
		if err != nil {
			t.Fatal(err)
		}
		out[i] = b
	}
	if string(out[0]) != string(out[1]) {
		t.Error("two equal runs differ")
	}
	if !strings.Contains(string(out[0]), `"down.queue_bytes"`) {
		t.Error("the probe of the queue is missing")
	}
}

func TestRunRefused(t *testing.T) {
	for _, cfg := range []Config{{}, {Until: -1}, {From: 5, Until: 5}, {From: -1, Until: 5}} {
		if _, err := Run(cfg); err == nil {
			t.Errorf("%d..%d was run", cfg.From, cfg.Until)
		}
	}
}
