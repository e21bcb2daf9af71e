package sim

import (
	"errors"
	"math"
	"testing"

	"farlink/emulator/link"
)

// TestMeasure: 10 Mbit/s down and 2 Mbit/s up, 250 ms each way, 1 % loss down.
//
// Idle RTT: 98 bytes take 784 bit / 2 Mbit/s = 392 us up and 78.4 us down, and
// 500 ms of path: 500.4704 ms. Saturated: each way its rate, down less 1 %.
func TestMeasure(t *testing.T) {
	build := func() (Emulator, error) {
		return newPair(
			way{rate: 10 * link.MegabitPerSecond, limit: 200, air: air{lose: 0.01, draw: link.NewDraw(1, "air")}, delay: 250 * link.Millisecond},
			way{rate: 2 * link.MegabitPerSecond, limit: 50, delay: 250 * link.Millisecond}), nil
	}
	f, err := Measure(build, Effort{})
	if err != nil {
		t.Fatal(err)
	}
	if f.IdleRTT.Min != 500.4704 || f.IdleRTT.P50 != 500.4704 || f.IdleRTT.Max != 500.4704 {
		t.Errorf("idle RTT %+v, want 500.4704 ms", f.IdleRTT)
	}
	// 20 s at 10 Mbit/s are 16,512 frames: 4 sigma of the loss are
	// 4·sqrt(0.01·0.99/16512) = 0.31 %.
	if math.Abs(f.DownLoss-0.01) > 0.0031 || f.UpLoss != 0 {
		t.Errorf("loss %v down, %v up, want 0.01 and 0", f.DownLoss, f.UpLoss)
	}
	if math.Abs(f.DownRate/9.9e6-1) > 0.0031 || math.Abs(f.UpRate/2e6-1) > 0.0005 {
		t.Errorf("rate %v down, %v up, want 9.9e6 and 2e6", f.DownRate, f.UpRate)
	}
	// 60 pings, each lost with probability 1 %.
	if f.PingLoss < 0 || f.PingLoss > 0.1 {
		t.Errorf("ping loss %v", f.PingLoss)
	}
}

// TestMeasureSlowAndFast: Greedy finds rates from 64 kbit/s to 500 Mbit/s, with
// the longest delay at hand.
func TestMeasureSlowAndFast(t *testing.T) {
	for _, c := range []struct {
		rate  link.Rate
		limit int
		delay link.Duration
	}{
		{64 * link.KilobitPerSecond, 20, 600 * link.Millisecond},
		{100 * link.MegabitPerSecond, 2000, 600 * link.Millisecond},
		{500 * link.MegabitPerSecond, 5000, 10 * link.Millisecond},
	} {
		w := way{rate: c.rate, limit: c.limit, delay: c.delay}
		build := func() (Emulator, error) { return newPair(w, w), nil }
		f, err := Measure(build, Effort{Idle: 3 * link.Second, Saturated: 5 * link.Second})
		if err != nil {
			t.Fatal(err)
		}
		// At 64 kbit/s a frame takes 189 ms: one more or less in 5 s is 4 %.
		tolerance := math.Max(0.001, 1514*8/(float64(c.rate)*5))
		if math.Abs(f.DownRate/float64(c.rate)-1) > tolerance || math.Abs(f.UpRate/float64(c.rate)-1) > tolerance {
			t.Errorf("%v: measured %v down, %v up", c.rate, f.DownRate, f.UpRate)
		}
	}
}

func TestMeasureNoLink(t *testing.T) {
	want := errors.New("no such profile")
	if _, err := Measure(func() (Emulator, error) { return nil, want }, Effort{}); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
