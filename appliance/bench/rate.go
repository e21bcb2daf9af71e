package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/netlab"
)

// rate offers more than a link carries and measures, by the kernel's stamps
// at the receiver, how many bits came between the first frame of a window and
// the last.
func rate(ctx context.Context, b *Bench) error {
	cases := []struct {
		rate            link.Rate
		size            int
		second, shorter float64 // bounds in % over 1 s and over 100 ms; 0 is none
	}{
		{64 * link.KilobitPerSecond, 100, 0.2, 1},
		{1 * link.MegabitPerSecond, 500, 0.2, 1},
		{10 * link.MegabitPerSecond, 1514, 0.2, 1},
		{100 * link.MegabitPerSecond, 1514, 0.2, 1},
		{300 * link.MegabitPerSecond, 1514, 0.2, 1},
		{900 * link.MegabitPerSecond, 1514, 1, 0},
	}
	for _, c := range cases {
		var second, shorter []float64
		for range b.Rounds {
			s, h, err := rateOnce(ctx, c.rate, c.size)
			if err != nil {
				return fmt.Errorf("%v: %w", c.rate, err)
			}
			second, shorter = append(second, s), append(shorter, h)
		}
		b.atMost(fmt.Sprintf("rate error at %v over 1 s", c.rate), "%", second, c.second)
		if c.shorter > 0 {
			b.atMost(fmt.Sprintf("rate error at %v over 100 ms", c.rate), "%", shorter, c.shorter)
		}
	}
	return nil
}

// rateOnce returns the error in % over one second and the worst of the
// hundred-millisecond windows' 90 %.
func rateOnce(ctx context.Context, r link.Rate, size int) (second, shorter float64, err error) {
	doc, err := paced(r)
	if err != nil {
		return 0, 0, err
	}
	rig, err := newRig(ctx, doc)
	if err != nil {
		return 0, 0, err
	}
	defer rig.Close()
	// Twice the rate, so that a sender that stalls leaves the link a queue;
	// near line rate the machine cannot send as much.
	offered := min(2*float64(r), max(float64(r)*1.1, 600e6)) / 8 / float64(size)
	got, err := netlab.Stream(rig.A, rig.B, netlab.StreamOptions{
		Rate: int(offered) + 1, For: 1500 * time.Millisecond, Size: size, Wait: 400 * time.Millisecond,
	})
	if err != nil {
		return 0, 0, err
	}
	var stamps []int64
	for _, at := range got.CameAt {
		// The queue fills in the first 200 ms.
		if at > 0 && at > got.SentAt[0]+200e6 {
			stamps = append(stamps, at)
		}
	}
	second = rateErrors(stamps, size, r, time.Second)[0]
	all := rateErrors(stamps, size, r, 100*time.Millisecond)
	return second, Median(all), nil
}

// rateErrors returns, for each whole window, by how many percent the rate
// between its first and last frame differs from r.
func rateErrors(stamps []int64, size int, r link.Rate, window time.Duration) (errors []float64) {
	for first := 0; first < len(stamps)-1; {
		last := first
		for last+1 < len(stamps) && stamps[last]-stamps[first] < int64(window) {
			last++
		}
		if stamps[last]-stamps[first] < int64(window) {
			break
		}
		bits := float64((last - first) * size * 8)
		got := bits / (float64(stamps[last]-stamps[first]) / 1e9)
		errors = append(errors, 100*math.Abs(got/float64(r)-1))
		first = last
	}
	if len(errors) == 0 {
		return []float64{math.Inf(1)}
	}
	return errors
}

// burst sends 30 KB at once into 500 kbit/s: it takes 480 ms.
func burst(ctx context.Context, b *Bench) error {
	doc, err := paced(500 * link.KilobitPerSecond)
	if err != nil {
		return err
	}
	r, err := newRig(ctx, doc)
	if err != nil {
		return err
	}
	defer r.Close()
	var took []float64
	for range b.Rounds {
		got, err := netlab.Stream(r.A, r.B, netlab.StreamOptions{Rate: 20000, For: 1500 * time.Microsecond, Size: 1000, Wait: 700 * time.Millisecond})
		if err != nil {
			return err
		}
		if got.Received != 30 {
			return fmt.Errorf("%d of a burst of 30 frames came", got.Received)
		}
		took = append(took, 100*math.Abs(float64(got.CameAt[29]-got.SentAt[0])/1e6/480-1))
	}
	b.atMost("30 KB burst at 500 kbit/s against 480 ms", "% off", took, 2)
	return nil
}
