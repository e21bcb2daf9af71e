package box

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"farlink/appliance"
)

// An engine that hangs makes the verdict INVALID while it does, with what
// became of the frames; afterwards the count of faults stays.
func TestHangIsInvalid(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		valid := appliance.Verdict{Word: appliance.Valid}
		bench.last().say(Snapshot{Verdict: valid, Fallen: true, Silent: 600 * time.Millisecond, Unshaped: 40})
		if s := b.State().Pairs[0]; s.Verdict.Word != appliance.Invalid || s.Verdict.Reason != "engine hung for 600ms: 40 frames passed in bypass" || s.Engine.Faults != 1 {
			t.Errorf("while it hangs: %+v, %+v", s.Verdict, s.Engine)
		}
		time.Sleep(600 * time.Millisecond)
		bench.last().say(Snapshot{Verdict: valid, Fallen: true, Silent: 1200 * time.Millisecond, Unshaped: 100})
		_ = b.State()
		bench.last().say(Snapshot{Verdict: valid, Unshaped: 100})
		time.Sleep(watching + 1)
		synctest.Wait()
		s := b.State().Pairs[0]
		if s.Verdict != valid || s.Word != appliance.Emulating || s.Engine.Faults != 1 || s.Engine.Fault != "engine hung for 1.2s: 100 frames passed in bypass" {
			t.Errorf("afterwards: %s %+v, %+v", s.Word, s.Verdict, s.Engine)
		}
	})
}

// A hang too short to be seen shows by the frames that met the fallback, and
// is told.
func TestShortHangIsAFault(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		told := b.Subscribe(0)
		defer told.Close()
		bench.last().say(Snapshot{Verdict: appliance.Verdict{Word: appliance.Valid}, Silent: 300 * time.Millisecond, Unshaped: 7})
		time.Sleep(watching + 1)
		synctest.Wait()
		want := "engine hung for 300ms: 7 frames passed in bypass"
		if e := b.State().Pairs[0].Engine; e.Faults != 1 || e.Fault != want {
			t.Errorf("%+v", e)
		}
		later := b.Subscribe(0)
		defer later.Close()
		if last := later.Past[len(later.Past)-1]; last.Kind != appliance.KindEngine || last.Text != want {
			t.Errorf("told %+v", last)
		}
	})
}

// Without an engine the verdict is INVALID; the next one is VALID again, but
// the fault stays written down with the frames that nobody shaped.
func TestGoneEngineIsInvalid(t *testing.T) {
	running(t, func(t *testing.T, b *Box, bench *testBench) {
		bench.last().say(Snapshot{Verdict: appliance.Verdict{Word: appliance.Valid}})
		bench.mu.Lock()
		bench.unshaped = 250
		bench.mu.Unlock()
		close(bench.last().done)
		synctest.Wait()
		if v := b.State().Pairs[0].Verdict; v.Word != appliance.Invalid || !strings.HasPrefix(v.Reason, "engine was gone") {
			t.Errorf("while it is gone: %+v", v)
		}
		if !b.State().Pairs[0].PortsTaken {
			t.Error("the ports are not at fault, and still taken")
		}
		time.Sleep(firstRetry + 1)
		synctest.Wait()
		s := b.State().Pairs[0]
		if s.Verdict.Word != appliance.Valid || s.Engine.Faults != 1 || s.Engine.Fault != "engine was gone for 100ms (engine ended: killed): 250 frames passed in bypass" {
			t.Errorf("afterwards: %+v, %+v", s.Verdict, s.Engine)
		}
	})
}

// What the user asks for himself is no fault.
func TestBypassAskedForIsNoFault(t *testing.T) {
	running(t, func(t *testing.T, b *Box, _ *testBench) {
		apply(t, b, `{"mode": "bypass", "profile": "clear"}`, appliance.Options{})
		apply(t, b, `{"mode": "cut", "profile": "clear"}`, appliance.Options{})
		if s := b.State().Pairs[0]; s.Engine.Faults != 0 || s.Verdict.Word != appliance.Valid || s.ETag != "v2" {
			t.Errorf("%+v", s)
		}
	})
}

// A state that cannot be written is told, in events and in the state, until it
// can be again.
func TestStateCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		runningIn(t, dir, func(t *testing.T, b *Box, _ *testBench) {
			os.RemoveAll(dir)
			w := appliance.Want{Link: appliance.Link{Profile: "geo/qirse-sat"}}
			if _, err := b.Apply(t.Context(), "", w, appliance.Options{}); err == nil {
				t.Error("applied")
			}
			if b.State().Storage == "" {
				t.Error("the state says nothing")
			}
			time.Sleep(storing + 1)
			synctest.Wait()
			os.Mkdir(dir, 0o755)
			time.Sleep(storing + 1)
			synctest.Wait()
			if s := b.State().Storage; s != "" {
				t.Errorf("afterwards: %s", s)
			}
			s := b.Subscribe(0)
			defer s.Close()
			var texts []string
			for _, e := range s.Past {
				if e.Kind == appliance.KindStorage {
					texts = append(texts, e.Text)
				}
			}
			if len(texts) != 2 || !strings.HasPrefix(texts[0], "the state cannot be written") || texts[1] != "the state can be written again" {
				t.Errorf("%q", texts)
			}
		})
	})
}
