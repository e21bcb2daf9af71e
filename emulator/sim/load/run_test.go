package load

import (
	"math"
	"reflect"
	"testing"

	"farlink/emulator/air"
	"farlink/emulator/link"
	"farlink/emulator/sim"
	"farlink/emulator/stage"
	"farlink/emulator/tally"
)

// way is what a test link does on one way.
type way struct {
	rate  link.Rate
	limit int // packets that may wait, beside the one in service
	lose  float64
	seed  uint64
	delay link.Duration
}

// newLink returns a link of real stages.
func newLink(down, up way) *sim.Channel {
	c := &sim.Channel{}
	for i, w := range [2]way{down, up} {
		draw := link.NewDraw(w.seed, "link")
		c.Ways[i] = link.NewChain(
			stage.NewQueue(stage.QueueConfig{Rate: w.rate, Limit: stage.Limit{Packets: w.limit}}, draw.Sub("queue")),
			air.NewLoss(air.LossConfig{Probability: w.lose}, draw.Sub("loss")),
			stage.NewPath(stage.PathConfig{Delay: w.delay}, draw.Sub("path")))
		c.Names[i] = []string{"queue", "loss", "path"}
	}
	return c
}

func run(t *testing.T, cfg sim.Config) *sim.Result {
	t.Helper()
	r, err := sim.Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestConstant: 1,000-byte frames at 800 kbit/s are one each 10 ms; over
// 1 Mbit/s one takes 8 ms, then 20 ms of path: 28 ms, never a queue.
func TestConstant(t *testing.T) {
	e := newLink(way{rate: link.MegabitPerSecond, limit: 10, delay: 20 * link.Millisecond}, way{})
	c := &Constant{Name: "cbr", Way: link.Down, Size: 1000, Rate: 800 * link.KilobitPerSecond, Stop: link.Time(10 * link.Second)}
	r := run(t, sim.Config{Emulator: e, Senders: []sim.Sender{c}, Until: link.Time(11 * link.Second), Series: true})
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

// TestQueueFull: five frames at once where two may wait beside the one in
// service; at 1 Mbit/s, 8 ms a frame, three leave at 8, 16, 24 ms, two are lost.
func TestQueueFull(t *testing.T) {
	e := newLink(way{}, way{rate: link.MegabitPerSecond, limit: 2})
	b := &Burst{Name: "burst", Way: link.Up, Size: 1000, Count: 5, Start: 100}
	r := run(t, sim.Config{Emulator: e, Senders: []sim.Sender{b}, Until: link.Time(link.Second), Series: true})
	want := []tally.Loss{{Reason: "queue_full", Stage: "up/queue", Packets: 2}}
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
	r := run(t, sim.Config{Emulator: newLink(way{}, way{}), Senders: []sim.Sender{b}, Until: link.Time(link.Second)})
	if r.Down.Delivered != 6 {
		t.Errorf("%d frames, want 6", r.Down.Delivered)
	}
}

// TestPoisson: 1,000 frames of 1,000 bytes a second for 20 s. The count's
// standard deviation is sqrt(20000) = 141.4; the share of gaps above the mean is
// 1/e, which makes the buckets' counts vary.
func TestPoisson(t *testing.T) {
	p := &Poisson{Name: "poisson", Way: link.Down, Size: 1000, Rate: 8 * link.MegabitPerSecond, Draw: link.NewDraw(7, "poisson")}
	r := run(t, sim.Config{Emulator: newLink(way{}, way{}), Senders: []sim.Sender{p}, Until: link.Time(20 * link.Second), Series: true})
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

// TestWindow: only what leaves inside the window counts for rate and delay.
func TestWindow(t *testing.T) {
	e := newLink(way{delay: 500 * link.Millisecond}, way{})
	b := &Burst{Name: "b", Way: link.Down, Size: 1000, Count: 1, Every: link.Second}
	r := run(t, sim.Config{Emulator: e, Senders: []sim.Sender{b}, From: link.Time(2 * link.Second), Until: link.Time(4 * link.Second)})
	// Leaving at 2.5 and 3.5 s: 16 kbit in 2 s.
	if r.Down.Rate != 8000 || r.Down.Delay.Count != 2 || r.Down.Delivered != 4 || r.Down.Held != 1 {
		t.Errorf("%+v", r.Down)
	}
}

func BenchmarkRun(b *testing.B) {
	const count = 1_000_000
	for b.Loop() {
		e := newLink(way{rate: link.GigabitPerSecond, limit: 1000, delay: 20 * link.Millisecond}, way{})
		c := &Constant{Name: "cbr", Way: link.Down, Size: 1000, Rate: 800 * link.MegabitPerSecond, Stop: count * 10_000}
		r, err := sim.Run(sim.Config{Emulator: e, Senders: []sim.Sender{c}, Until: link.Time(20 * link.Second), Series: true})
		if err != nil || r.Down.Delivered != count {
			b.Fatal(r.Down.Delivered, err)
		}
	}
	b.ReportMetric(float64(b.N)*count/b.Elapsed().Seconds(), "packets/s")
}
