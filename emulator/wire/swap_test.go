package wire

import (
	"testing"
	"time"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
	"farlink/emulator/netlab"
)

// Changes under load: no frame is lost, copied or overtaken, each change is
// quick, and delays never go down with a change that keeps them.
func TestSwapUnderLoad(t *testing.T) {
	for _, shared := range []bool{false, true} {
		doc := (&plain{Delay: 10 * link.Millisecond, Shared: shared}).doc()
		r := newRig(t, netlab.Options{}, Config{Doc: doc})
		var slowest link.Duration
		n := 0
		s := streaming(t, r.Lab, netlab.StreamOptions{Rate: 15000, For: 1500 * time.Millisecond}, func() {
			begun := time.Now() // 600 ms do; a busy machine is given longer for as many changes
			for gone := time.Duration(0); gone < 600*time.Millisecond || n < 50 && gone < 1300*time.Millisecond; n++ {
				a, err := r.Apply(doc)
				if err != nil {
					t.Fatal(err)
				}
				slowest = max(slowest, a.Switch)
				gone = time.Since(begun)
			}
		})
		if s.Lost() > 0 || s.Reordered > 0 || s.Duplicated > 0 {
			t.Errorf("coupled %v, %d changes: of %d frames %d lost, %d reordered, %d twice", shared, n, len(s.SentAt), s.Lost(), s.Reordered, s.Duplicated)
		}
		if n < 50 {
			t.Errorf("only %d changes in 1.3 s", n)
		}
		if slowest > 50*link.Millisecond {
			t.Errorf("slowest change %v", slowest)
		}
		time.Sleep(120 * time.Millisecond)
		if st := r.Stats(); st.Ways[link.Up].Book.Broken > 0 || st.Ways[link.Up].Checks[0].Early > 0 {
			t.Errorf("%v %s, early %d", st.Verdict, st.Reason, st.Ways[link.Up].Checks[0].Early)
		}
		t.Logf("coupled %v: %d changes, slowest switch %v", shared, n, slowest)
	}
}

// A change of delay takes effect for the frames that come after it.
func TestApplyTakesEffect(t *testing.T) {
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 5 * link.Millisecond}).doc()})
	for _, delay := range []link.Duration{50, 1} {
		if _, err := r.Apply((&plain{Delay: delay * link.Millisecond}).doc()); err != nil {
			t.Fatal(err)
		}
		d, err := netlab.Probe(r.A, r.B, netlab.ProbeOptions{Count: 10, Wait: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if least := d.Quantile(0); least < time.Duration(delay)*time.Millisecond || least > time.Duration(delay+10)*time.Millisecond {
			t.Errorf("asked %d ms, least delay %v", delay, least)
		}
		w := r.Stats().Ways[link.Up].Checks[0]
		if w.Timed < 10 || w.Early != 0 || w.Least < delay*link.Millisecond {
			t.Errorf("self-check: %d timed, %d early, least %v", w.Timed, w.Early, w.Least)
		}
	}
	if _, err := r.Apply([]byte(`{"Fail":"bad document"}`)); err == nil || err.Error() != "bad document" {
		t.Errorf("%v; want the builder's own words", err)
	}
	bothWays(t, r.Lab, []netlab.Kind{netlab.Sized(100)})
}

// A new run begins with an empty book and an empty link.
func TestRunBeginsAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 10 * link.Second}).doc()})
	if _, err := netlab.Probe(r.A, r.B, netlab.ProbeOptions{Count: 10, Every: 1e6, Wait: 1e6}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(120 * time.Millisecond)
	if b := r.Stats().Ways[link.Up].Book; b.Held < 10 || b.HeldBytes < 1000 {
		t.Errorf("held %d frames, %d bytes", b.Held, b.HeldBytes)
	}
	if _, err := r.Run((&plain{}).doc()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(120 * time.Millisecond)
	s := r.Stats()
	if b := s.Ways[link.Up].Book; b.Held != 0 || b.In > 5 || b.Broken > 0 || s.Runs != 2 || s.Now > link.Time(2*link.Second) {
		t.Errorf("run %d at %v: %d in, %d held", s.Runs, s.Now, b.In, b.Held)
	}
}

// Losses and copies of the model stand in the book, apart from the engine's.
func TestModelledLossIsNotTheEngines(t *testing.T) {
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{LoseNth: 4}).doc()})
	s := streaming(t, r.Lab, netlab.StreamOptions{Rate: 4000, For: 200 * time.Millisecond}, func() {})
	time.Sleep(150 * time.Millisecond)
	st := r.Stats()
	b := st.Ways[link.Up].Book
	if b.Lost[link.Pattern] != b.In/4 || b.Losses() != b.In/4 || b.Broken > 0 || b.Engine.Loss() > 0 {
		t.Errorf("in %d, lost %v, engine %+v", b.In, b.Lost, b.Engine)
	}
	// Every fourth of what came in, less the stacks' own frames among the fourths.
	if lost := s.Lost(); lost < 190 || lost > 201 {
		t.Errorf("%d of 800 lost", lost)
	}
	// The probe is of the last publication, the book of the last batch.
	if p := st.Ways[link.Up].Probes; len(p) != 2 || p[1].Value < 800 || p[1].Value > float64(b.In) {
		t.Errorf("probes %v, in %d", st.Ways[link.Up].Probes, b.In)
	}
	if st.Verdict == ledger.Invalid {
		t.Error(st.Reason)
	}
}
