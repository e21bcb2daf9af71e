package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/netlab"
)

// startup measures, from the start of a daemon's process, until the first
// frame goes in that its link delays: not one that the kernel passes by.
func startup(ctx context.Context, b *Bench) error {
	var took []float64
	for range b.Rounds {
		ms, err := startOnce(ctx)
		if err != nil {
			return err
		}
		took = append(took, ms)
	}
	b.atMost("farlink serve forwards after its start", "ms", took, 1000)
	return nil
}

// startOnce starts a daemon of this binary on a lab of its own.
func startOnce(ctx context.Context) (ms float64, err error) {
	l, err := netlab.New(fmt.Sprintf("fs%x", rand.Uint32N(1<<24)), netlab.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	dir, err := os.MkdirTemp("", "farlink-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	config := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("name = %q\nstate = %q\n[api]\nlisten = \"127.0.0.1:0\"\n[[pairs]]\na = %q\nb = %q\nnetns = %q\n[pairs.boot]\nprofile = \"geo/qirse-sat\"\n",
		l.Box, filepath.Join(dir, "state"), l.PortA, l.PortB, l.Box)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return 0, err
	}
	stream := make(chan error, 1)
	var got netlab.Streamed
	go func() {
		var err error
		got, err = netlab.Stream(l.A, l.B, netlab.StreamOptions{Rate: 500, For: 4 * time.Second, Wait: time.Second})
		stream <- err
	}()
	time.Sleep(100 * time.Millisecond)
	var said bytes.Buffer
	daemon := exec.CommandContext(ctx, "/proc/self/exe", "serve", "--config", config)
	daemon.Stderr = &said
	began := time.Now()
	if err := daemon.Start(); err != nil {
		return 0, err
	}
	err = <-stream
	daemon.Process.Signal(unix.SIGTERM)
	if err := errors.Join(err, daemon.Wait()); err != nil {
		return 0, fmt.Errorf("%w: %s", err, said.Bytes())
	}
	return firstDelayed(got, began)
}

// firstDelayed returns how many ms after began the first frame was sent that
// took the 100 ms that no wire takes.
func firstDelayed(got netlab.Streamed, began time.Time) (float64, error) {
	for i, at := range got.CameAt {
		if at-got.SentAt[i] > 100e6 {
			return float64(got.SentAt[i]-began.UnixNano()) / 1e6, nil
		}
	}
	return 0, fmt.Errorf("none of %d frames went through the link in 4 s", len(got.SentAt))
}
