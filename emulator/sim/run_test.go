package sim

import (
	"encoding/json"
	"math"
	"reflect"
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

// TestConstant: 1,000-byte frames at 800 kbit/s are one each 10 ms; over
// 1 Mbit/s one takes 8 ms, then 20 ms of path: 28 ms, never a queue.
func TestConstant(t *testing.T) {
	e := newPair(way{rate: link.MegabitPerSecond, limit: 10, delay: 20 * link.Millisecond}, way{})
	c := &Constant{Name: "cbr", Way: link.Down, Size: 1000, Rate: 800 * link.KilobitPerSecond, Stop: link.Time(10 * link.Second)}
	r := run(t, Config{Emulator: e, Senders: []Sender{c}, Until: link.Time(11 * link.Second), Series: true})
	d := r.Down
	if d.In != 1000 || d.Delivered != 1000 || d.Delay.Min != 28 || d.Delay.P50 != 28 || d.Delay.Max != 28 || d.Delay.Mean != 28 {
		t.Errorf("%+v, want 1000 frames of 28 ms", d)
	}
	// 8 Mbit in 11 s.
	if math.Abs(d.Rate-8e6/11) > 1e-6 {
		t.Errorf("rate %v, want %v", d.Rate, 8e6/11)
	}
	// Ten frames a bucket of 100 ms are offered; each leaves 28 ms later, so
	// that in the first bucket those sent by 70 ms have left: eight.
	offered, delivered := r.Series.Column("down.offered_bps").Values, r.Series.Column("down.delivered_bps").Values
	if len(offered) != 110 || offered[0] != 800e3 || delivered[0] != 640e3 || delivered[1] != 800e3 || offered[105] != 0 {
		t.Errorf("%d buckets, offered %v, delivered %v %v", len(offered), offered[0], delivered[0], delivered[1])
	}
	if q := r.Series.Column("down.one_way_extra_ms").Values[5]; q != 0 {
		t.Errorf("extra delay %v, want 0", q)
	}
	// At 100 ms the eleventh frame has just come.
	if p := r.Series.Column("down.queue_bytes"); p == nil || p.Values[0] != 1000 || p.Values[109] != 0 {
		t.Errorf("queue probe %+v", p)
	}
}

// TestConstantDoesNotDrift: at 3 bit/s a frame of 60 bytes is due each 160 s;
// at 7 Mbit/s after n frames exactly n·480/7 us, rounded down.
func TestConstantDoesNotDrift(t *testing.T) {
	for _, n := range []int64{1, 7, 1_000_000, 7_000_000} {
		want := link.Duration(n * 480 * 1000 / 7)
		if got := spread(n, 60, 7*link.MegabitPerSecond); got < want-1 || got > want+1 {
			t.Errorf("after %d frames %d ns, want %d", n, got, want)
		}
	}
}

// TestQueueFull: five frames at once into a queue of three at 1 Mbit/s with
// 8 ms a frame: three leave at 8, 16, 24 ms, two are lost.
func TestQueueFull(t *testing.T) {
	e := newPair(way{}, way{rate: link.MegabitPerSecond, limit: 3})
	b := &Burst{Name: "burst", Way: link.Up, Size: 1000, Count: 5, Start: 100}
	r := run(t, Config{Emulator: e, Senders: []Sender{b}, Until: link.Time(link.Second), Series: true})
	want := []Loss{{Reason: "queue_full", Stage: "up/queue", Packets: 2}}
	if !reflect.DeepEqual(r.Up.Losses, want) || r.Up.LossRatio != 0.4 || r.Up.LostBytes != 2000 {
		t.Errorf("losses %+v, ratio %v", r.Up.Losses, r.Up.LossRatio)
	}
	if d := r.Up.Delay; d.Min != 8 || d.Max != 24 || d.Mean != 16 || d.Count != 3 {
		t.Errorf("delay %+v, want 8, 16, 24 ms", d)
	}
	// The mean of 8, 16, 24 is 8 ms above the least.
	if got := r.Series.Column("up.one_way_extra_ms").Values[0]; got != 8 {
		t.Errorf("extra delay %v, want 8 ms", got)
	}
	if got := r.Series.Column("up.loss_packets").Values[0]; got != 2 {
		t.Errorf("lost %v, want 2", got)
	}
}

// TestBurstRepeats: at 0, 100, 200 ms; the stop at 300 ms is not one.
func TestBurstRepeats(t *testing.T) {
	b := &Burst{Name: "burst", Way: link.Down, Size: 60, Count: 2, Every: 100 * link.Millisecond, Stop: link.Time(300 * link.Millisecond)}
	r := run(t, Config{Emulator: newPair(way{}, way{}), Senders: []Sender{b}, Until: link.Time(link.Second)})
	if r.Down.Delivered != 6 {
		t.Errorf("%d frames, want 6", r.Down.Delivered)
	}
}

// TestPoisson: 1,000 frames of 1,000 bytes a second for 20 s. The count's
// standard deviation is sqrt(20000) = 141.4; the share of gaps above the mean is
// 1/e, which makes the buckets' counts vary.
func TestPoisson(t *testing.T) {
	p := &Poisson{Name: "poisson", Way: link.Down, Size: 1000, Rate: 8 * link.MegabitPerSecond, Draw: link.NewDraw(7, "poisson")}
	r := run(t, Config{Emulator: newPair(way{}, way{}), Senders: []Sender{p}, Until: link.Time(20 * link.Second), Series: true})
	if got := float64(r.Down.In); math.Abs(got-20000) > 4*141.4 {
		t.Errorf("%v frames, want 20000 +- 566", got)
	}
	// The variance of the 200 buckets' counts equals their mean of 100:
	// sigma of that estimate is 100·sqrt(2/199) = 10.
	var sum float64
	for _, v := range r.Series.Column("down.offered_bps").Values {
		n := float64(v) / 80000 // frames in 100 ms
		sum += (n - 100) * (n - 100)
	}
	if variance := sum / 200; math.Abs(variance-100) > 40 {
		t.Errorf("variance of counts %v, want 100 +- 40", variance)
	}
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

// TestWindow: only what leaves inside the window counts for rate and delay.
func TestWindow(t *testing.T) {
	e := newPair(way{delay: 500 * link.Millisecond}, way{})
	b := &Burst{Name: "b", Way: link.Down, Size: 1000, Count: 1, Every: link.Second}
	r := run(t, Config{Emulator: e, Senders: []Sender{b}, From: link.Time(2 * link.Second), Until: link.Time(4 * link.Second)})
	// Leaving at 2.5 and 3.5 s: 16 kbit in 2 s.
	if r.Down.Rate != 8000 || r.Down.Delay.Count != 2 || r.Down.Delivered != 4 || r.Down.Held != 1 {
		t.Errorf("%+v", r.Down)
	}
}

// TestSameAgain: the same seeds give the same result, to the last byte.
func TestSameAgain(t *testing.T) {
	var out [2][]byte
	for i := range out {
		a := air{lose: 0.02, double: 0.01, draw: link.NewDraw(3, "air")}
		e := newPair(way{rate: 5 * link.MegabitPerSecond, limit: 40, air: a, delay: 40 * link.Millisecond}, way{air: a})
		senders := []Sender{
			&Poisson{Name: "p", Way: link.Down, Size: 700, Rate: 2 * link.MegabitPerSecond, Draw: link.NewDraw(3, "p")},
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

// TestSeriesNames: two figures of one name do not mix; what is missing is null.
func TestSeriesNames(t *testing.T) {
	r := newRecorder(link.Second)
	r.sample("down.", link.Probe{Name: "x", Value: 1})
	r.sample("down.", link.Probe{Name: "x", Value: 2})
	r.sampled++
	r.sample("down.", link.Probe{Name: "y", Value: 3})
	r.sampled++
	s := r.series(2)
	for name, want := range map[string]string{"down.x": "[1,null]", "down.x#2": "[2,null]", "down.y": "[null,3]"} {
		b, err := json.Marshal(s.Column(name).Values)
		if err != nil || string(b) != want {
			t.Errorf("%s: %s, %v, want %s", name, b, err, want)
		}
	}
	if s.Column("z") != nil {
		t.Error("a column that is not there was found")
	}
}

func TestValue(t *testing.T) {
	var back []Value
	if err := json.Unmarshal([]byte("[1.5,null,-2]"), &back); err != nil {
		t.Fatal(err)
	}
	if back[0] != 1.5 || !math.IsNaN(float64(back[1])) || back[2] != -2 {
		t.Errorf("%v", back)
	}
}

func BenchmarkRun(b *testing.B) {
	const count = 1_000_000
	for b.Loop() {
		e := newPair(way{rate: link.GigabitPerSecond, limit: 1000, delay: 20 * link.Millisecond}, way{})
		c := &Constant{Name: "cbr", Way: link.Down, Size: 1000, Rate: 800 * link.MegabitPerSecond, Stop: count * 10_000}
		r, err := Run(Config{Emulator: e, Senders: []Sender{c}, Until: link.Time(20 * link.Second), Series: true})
		if err != nil || r.Down.Delivered != count {
			b.Fatal(r.Down.Delivered, err)
		}
	}
	b.ReportMetric(float64(b.N)*count/b.Elapsed().Seconds(), "packets/s")
}
