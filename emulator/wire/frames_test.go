package wire

import (
	"math/rand/v2"
	"testing"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
	"farlink/emulator/netlab"
	"farlink/emulator/wire/steer"
)

// eachAttach runs a test in both modes of attachment.
func eachAttach(t *testing.T, f func(t *testing.T, how steer.Attach)) {
	for _, how := range []steer.Attach{steer.Generic, steer.Native} {
		t.Run(string(how), func(t *testing.T) { f(t, how) })
	}
}

// bothWays sends the frames in both directions and wants each as it was.
func bothWays(t *testing.T, l *netlab.Lab, kinds []netlab.Kind) {
	t.Helper()
	for _, d := range []struct{ from, to netlab.End }{{l.A, l.B}, {l.B, l.A}} {
		problems, err := netlab.Untouched(d.from, d.to, kinds)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s to %s: %s", d.from.Dev, d.to.Dev, p)
		}
	}
}

// 14 kinds of frame in two directions: all 28 pass. (A kernel bridge passes
// 20.)
func TestEveryKindOfFramePasses(t *testing.T) {
	eachAttach(t, func(t *testing.T, how steer.Attach) {
		r := newRig(t, netlab.Options{}, Config{Attach: how, Doc: (&plain{Delay: link.Millisecond}).doc()})
		bothWays(t, r.Lab, netlab.Kinds())
	})
}

func TestEveryKindOfFramePassesTheBypass(t *testing.T) {
	r := newRig(t, netlab.Options{}, Config{})
	if err := r.SetMode(steer.Bypass); err != nil {
		t.Fatal(err)
	}
	bothWays(t, r.Lab, netlab.Kinds())
	if in := r.Stats().Ways[link.Up].Book.In; in > 20 {
		t.Errorf("%d frames went through the engine", in)
	}
}

// Sizes around every border: one chunk of the UMEM carries 1792 bytes in
// (2048 less the headroom) and 2048 out; a jumbo takes six and five.
func TestSizes(t *testing.T) {
	sizes := []netlab.Kind{}
	for _, n := range []int{15, 60, 64, 65, 128, 1514, 1518, 1791, 1792, 1793, 2047, 2048, 2049, 3584, 3585, 4096, 4097, 8192, 8193, 9000, 9214, 9216} {
		sizes = append(sizes, netlab.Sized(n))
	}
	eachAttach(t, func(t *testing.T, how steer.Attach) {
		r := newRig(t, netlab.Options{MTU: 9216}, Config{Attach: how, Doc: (&plain{Delay: link.Millisecond}).doc()})
		bothWays(t, r.Lab, sizes)
		if s := r.Stats(); s.Verdict == ledger.Invalid {
			t.Errorf("%v: %s", s.Verdict, s.Reason)
		}
	})
}

// Frames of random bytes, random lengths: what is not a protocol is still a
// frame.
func TestRandomFramesPass(t *testing.T) {
	r := newRig(t, netlab.Options{MTU: 4000}, Config{Doc: (&plain{}).doc()})
	draw := rand.New(rand.NewPCG(1, 2))
	var kinds []netlab.Kind
	for range 300 {
		k := netlab.Sized(15 + draw.IntN(4000))
		for i := range k.Frame {
			if i < 6 || i >= 12 {
				k.Frame[i] = byte(draw.Uint32())
			}
		}
		k.Frame[0] &^= 1 // a group address might be one of the hosts' own
		kinds = append(kinds, k)
	}
	bothWays(t, r.Lab, kinds)
	if s := r.Stats(); s.Verdict == ledger.Invalid {
		t.Errorf("%v: %s", s.Verdict, s.Reason)
	}
}

// A copy that is marked is changed alone; the frame itself stays whole.
func TestCopiesAndMarks(t *testing.T) {
	r := newRig(t, netlab.Options{MTU: 9216}, Config{Doc: (&plain{CopyNth: 1, Mark: link.Corrupted}).doc()})
	tap, err := r.A.Tap()
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	far, err := r.B.Tap()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	for _, n := range []int{100, 9000} {
		k := netlab.Sized(n)
		if err := tap.Send(k.Frame); err != nil {
			t.Fatal(err)
		}
		want := append([]byte{}, k.Frame...)
		want[n-1] ^= 1 // plain.Finish flips the last bit, in each copy once
		for _, which := range []string{"first", "second"} {
			if got := nextOf(t, far, want); got != string(want) {
				t.Errorf("%d bytes, %s: differs", n, which)
			}
		}
	}
	b := r.Stats().Ways[link.Up].Book
	if b.Copies < 2 || b.Out != b.In+b.Copies {
		t.Errorf("in %d, copies %d, out %d", b.In, b.Copies, b.Out)
	}
}

// nextOf returns the next frame with the addresses of like.
func nextOf(t *testing.T, tap *netlab.Tap, like []byte) string {
	t.Helper()
	buf := make([]byte, 1<<16)
	for {
		f, err := tap.Receive(buf, 1e9)
		if err != nil {
			t.Fatal(err)
		}
		if !f.Outgoing && len(f.Bytes) > 12 && string(f.Bytes[:12]) == string(like[:12]) {
			return string(f.Bytes)
		}
	}
}
