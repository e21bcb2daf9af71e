package wire

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
	"farlink/emulator/netlab"
)

// A document that could hold more than there is memory is refused with the
// figure, and the present one goes on.
func TestTooLargeADocumentIsRefused(t *testing.T) {
	c := Config{Memory: 64 << 20, Doc: (&plain{}).doc()}
	r := newRig(t, netlab.Options{}, c)
	_, err := r.Apply((&plain{BoundBytes: 40e6}).doc())
	if err == nil || !strings.Contains(err.Error(), "40MB") || !strings.Contains(err.Error(), "33") {
		t.Errorf("%v; want both figures: 40 MB and 32 MiB", err)
	}
	bothWays(t, r.Lab, []netlab.Kind{netlab.Sized(100)})
}

// 300 ms at 1 Gbit/s is 37.5 MB on the way: more than the UMEM's half, so
// most of it lies in the ring. Here the same 30,000 frames at less than the
// rate and more than the delay: all are sent before the first is due, however
// slow the sender, so as much is held, and none is lost.
func TestLongDelayIsHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 3 * link.Second}).doc()})
	f, err := netlab.Flood(r.A, r.B, netlab.FloodOptions{Size: 1250, Rate: 35000, Most: 30000, For: 2900 * time.Millisecond, Wait: 3200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(120 * time.Millisecond)
	b := r.Stats().Ways[link.Up].Book
	if b.Engine.Loss() > 0 || b.Broken > 0 || f.Received+10 < f.Sent { // a few may be the stacks' own, late
		t.Errorf("sent %d, received %d, engine %+v", f.Sent, f.Received, b.Engine)
	}
	if b.QueueMax < 30e6 {
		t.Errorf("at most %d bytes of %d frames were held; want 30 MB or more", b.QueueMax, f.Sent)
	}
	if b.Held > 10 {
		t.Errorf("%d frames still held", b.Held)
	}
}

// Memory that runs out is the engine's own loss, and the run is invalid.
func TestFullMemoryIsBooked(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Memory: 2 << 20, Frames: 4096, Ring: 1024, Doc: (&plain{Delay: link.Second}).doc()})
	f, err := netlab.Flood(r.A, r.B, netlab.FloodOptions{Size: 1250, Rate: 10000, Most: 4000, For: 900 * time.Millisecond, Wait: 1200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Stats()
	b := s.Ways[link.Up].Book
	if b.Engine.StoreFull == 0 || s.Verdict != ledger.Invalid || b.Broken > 0 {
		t.Errorf("%v %q, engine %+v", s.Verdict, s.Reason, b.Engine)
	}
	if lost := f.Sent - f.Received; lost > b.Engine.Loss()+3 || lost+3 < b.Engine.Loss() {
		t.Errorf("lost %d, booked %+v", lost, b.Engine)
	}
}

// An engine that is not let run loses what its rings cannot hold; every such
// frame is booked.
func TestFullRingsAreBooked(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Patience: 10 * time.Second, Doc: (&plain{}).doc()})
	syscall.Kill(r.Report().PID, syscall.SIGSTOP)
	f, err := netlab.Flood(r.A, r.B, netlab.FloodOptions{Rate: 50000, Most: 10000, For: 5 * time.Second})
	syscall.Kill(r.Report().PID, syscall.SIGCONT)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	s := r.Stats()
	b := s.Ways[link.Up].Book
	// 10,000 came, 4,096 fit the receive ring.
	if loss := b.Engine.Loss(); loss < 5000 || loss > f.Sent {
		t.Errorf("of %d sent the engine booked %d lost: %+v", f.Sent, loss, b.Engine)
	}
	if b.In+b.Engine.Loss() < f.Sent || b.In+b.Engine.Loss() > f.Sent+20 {
		t.Errorf("sent %d, in %d, lost %d", f.Sent, b.In, b.Engine.Loss())
	}
	if s.Verdict != ledger.Invalid || b.Broken > 0 {
		t.Errorf("%v %s", s.Verdict, s.Reason)
	}
}

// Frames cost no allocation: 20,000 of them make fewer than 500, which are
// the publications and the asking.
func TestFramesAllocateNothing(t *testing.T) {
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 100 * link.Millisecond, LoseNth: 7, CopyNth: 9}).doc()})
	flood := func() {
		if _, err := netlab.Flood(r.A, r.B, netlab.FloodOptions{Size: 300, Rate: 50000, Most: 20000, For: 5 * time.Second, Wait: 150 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
	}
	flood() // queues grow once, to their high-water mark
	before, err := r.Memory()
	if err != nil {
		t.Fatal(err)
	}
	in := r.Stats().Ways[link.Up].Book.In
	flood()
	after, err := r.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Stats().Ways[link.Up].Book.In - in; n < 19000 {
		t.Errorf("only %d of 20,000 frames went through", n)
	}
	if n := after.Allocations - before.Allocations; n > 500 {
		t.Errorf("%d allocations", n)
	}
}
