package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/netlab"
)

// kill ends the engine by force at random instants and measures until frames
// pass again.
func kill(ctx context.Context, b *Bench) error {
	return outage(ctx, b, b.Kills, "gap after kill -9 of the engine", 50, func(r *rig) error {
		return unix.Kill(r.Report().PID, unix.SIGKILL)
	})
}

// hang stops the engine where it is: it does not beat any more.
func hang(ctx context.Context, b *Bench) error {
	return outage(ctx, b, min(b.Kills, 10), "gap after the engine hangs", 300, func(r *rig) error {
		return unix.Kill(r.Report().PID, unix.SIGSTOP)
	})
}

func outage(ctx context.Context, b *Bench, times int, name string, bound float64, strike func(*rig) error) error {
	_, r, err := shippedRig(ctx, "clear")
	if err != nil {
		return err
	}
	defer r.Close()
	var gaps []float64
	for range times {
		gap, err := r.strike(strike, time.Duration(bound)*time.Millisecond)
		if err != nil {
			return err
		}
		gaps = append(gaps, gap)
		unix.Kill(r.Report().PID, unix.SIGKILL)
		<-r.Done()
		if err := r.start(ctx); err != nil {
			return fmt.Errorf("take over after it: %w", err)
		}
	}
	worst := 0.0
	for _, g := range gaps {
		worst = max(worst, g)
	}
	b.atMost(name, "ms", gaps, bound)
	b.note(name+", worst", "ms", []float64{worst})
	return nil
}

// strike streams frames, strikes at a random instant and returns the ms until
// one that was sent after it comes; it watches for twice as long as that may
// take, and a little.
func (r *rig) strike(strike func(*rig) error, most time.Duration) (float64, error) {
	type result struct {
		s   netlab.Streamed
		err error
	}
	done := make(chan result, 1)
	go func() {
		s, err := netlab.Stream(r.A, r.B, netlab.StreamOptions{Rate: 2000, For: 300*time.Millisecond + 2*most})
		done <- result{s, err}
	}()
	time.Sleep(100*time.Millisecond + time.Duration(rand.IntN(100))*time.Millisecond)
	at := time.Now()
	if err := strike(r); err != nil {
		return 0, err
	}
	got := <-done
	if got.err != nil {
		return 0, got.err
	}
	gap := got.s.PassedAgain(at)
	if gap < 0 {
		return 0, errors.New("no frame passed after it")
	}
	return float64(gap) / 1e6, nil
}
