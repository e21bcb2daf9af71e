package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"farlink/pep/intercept"
)

// pepSoak opens and closes 100,000 connections and looks for what is left of
// them.
func pepSoak(_ context.Context, b *Bench) error {
	const n, warm, servers = 100_000, 2000, 8 // several, so that clients' ports suffice
	r, err := newRelaying()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Configure(splitting("cubic")); err != nil {
		return err
	}
	var to [servers]net.Listener
	for i := range to {
		if to[i], err = echo(r.B); err != nil {
			return err
		}
		defer to[i].Close()
	}
	one := func(i int) error { return r.once(to[i%servers].Addr(), i%5 == 0) }
	spread(warm, one)
	before, err := r.idle()
	if err != nil {
		return err
	}
	begun := time.Now()
	good := spread(n, one)
	rate := n / time.Since(begun).Seconds()
	b.atLeast("good of 100,000 connections", "", []float64{float64(good)}, n)
	b.atLeast("opened, used and closed", "/s", []float64{rate}, 800)
	after, err := r.idle()
	if err != nil {
		return err
	}
	b.atMost("split connections left", "", []float64{float64(after.flows)}, 0)
	b.atMost("descriptors left", "", []float64{float64(after.files - before.files)}, 0)
	// What has ended is known for another 65 s, for its last segments.
	for end := time.Now().Add(100 * time.Second); after.known > 0 && time.Now().Before(end); time.Sleep(time.Second) {
		if after.known, err = intercept.Known(r.pins); err != nil {
			return err
		}
	}
	b.atMost("entries left in the table of flows", "", []float64{float64(after.known)}, 0)
	return nil
}

// once opens a connection, exchanges a byte and closes, or resets, it.
func (r *relaying) once(to net.Addr, reset bool) error {
	c, err := dial(r.A, to)
	if err != nil {
		return err
	}
	defer c.Close()
	if reset {
		c.(*net.TCPConn).SetLinger(0)
	}
	return answered(c, nil)
}

// left is what a proxy has of connections.
type left struct{ flows, files, known int }

// idle waits until nothing is split any more, and a little longer.
func (r *relaying) idle() (l left, err error) {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		s, err := r.Status()
		if err != nil {
			return l, err
		}
		if l.flows = s.Flows; l.flows == 0 || time.Now().After(end) {
			break
		}
	}
	time.Sleep(2500 * time.Millisecond)
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.PID()))
	if err != nil {
		return l, err
	}
	known, err := intercept.Known(r.pins)
	l.files, l.known = len(files), known
	return l, err
}
