package wire

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
	"farlink/emulator/need"
	"farlink/emulator/netlab"
	"farlink/emulator/wire/steer"
)

// streaming sends numbered frames from A to B while do runs.
func streaming(t *testing.T, l *netlab.Lab, o netlab.StreamOptions, do func()) netlab.Streamed {
	t.Helper()
	var s netlab.Streamed
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		s, err = netlab.Stream(l.A, l.B, o)
	}()
	time.Sleep(100 * time.Millisecond)
	do()
	<-done
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestModes(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 20 * link.Millisecond}).doc()})
	for _, c := range []struct {
		mode  steer.Mode
		least time.Duration // delay of those that pass
		pass  bool
	}{{steer.Bypass, 0, true}, {steer.Cut, 0, false}, {steer.Emulate, 20 * time.Millisecond, true}} {
		if err := r.SetMode(c.mode); err != nil {
			t.Fatal(err)
		}
		d, err := netlab.Probe(r.A, r.B, netlab.ProbeOptions{Count: 20, Wait: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if pass := len(d.NS) == 20; pass != c.pass || !pass && len(d.NS) != 0 {
			t.Errorf("%v: %d of 20 passed", c.mode, len(d.NS))
		}
		if got := d.Quantile(0); pass(d) && (got < c.least || got > c.least+15*time.Millisecond) {
			t.Errorf("%v: least delay %v", c.mode, got)
		}
	}
}

func pass(d netlab.Delays) bool { return len(d.NS) > 0 }

// An engine killed at any instant leaves a wire that passes frames at once.
func TestKilledEnginePasses(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 5 * link.Millisecond}).doc()})
	for i := range 4 {
		var at time.Time
		s := streaming(t, r.Lab, netlab.StreamOptions{For: 350 * time.Millisecond}, func() {
			time.Sleep(time.Duration(i%30) * 1700 * time.Microsecond)
			at = time.Now()
			syscall.Kill(r.Report().PID, syscall.SIGKILL)
			<-r.Done()
		})
		// The bound is 50 ms; a shared machine is given more.
		if gap, lost := s.PassedAgain(at), s.LostUntil(at); gap < 0 || lost > 150*time.Millisecond {
			t.Errorf("kill %d: passed again after %v, lost what was sent until %v", i, gap, lost)
		} else {
			t.Logf("kill %d: passed again after %v, %d lost", i, gap, s.Lost())
		}
		if r.Err() == nil {
			t.Error("no reason for the end")
		}
		r.start(t)
		if !r.Report().TakenOver {
			t.Error("the next engine did not take over")
		}
	}
	bothWays(t, r.Lab, []netlab.Kind{netlab.Sized(100)})
	if r.Stats().Ways[link.Up].Book.In == 0 {
		t.Error("the next engine does not emulate")
	}
}

// A hanging engine is passed by within the patience, and taken in again when
// it goes on.
func TestHangingEngineIsPassedBy(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 5 * link.Millisecond}).doc()})
	var at time.Time
	s := streaming(t, r.Lab, netlab.StreamOptions{For: 900 * time.Millisecond}, func() {
		at = time.Now()
		syscall.Kill(r.Report().PID, syscall.SIGSTOP)
	})
	syscall.Kill(r.Report().PID, syscall.SIGCONT)
	// Frames of the last 5 ms before the stop came out, those after it wait.
	first := s.PassedAgain(at.Add(10*time.Millisecond)) + 10*time.Millisecond
	waiting := s.LostUntil(at.Add(10*time.Millisecond)) + 10*time.Millisecond
	if first < 190*time.Millisecond || waiting > 450*time.Millisecond {
		t.Errorf("passed by after %v, what was sent until %v waits; want the patience of 250 ms, less a beat's age", first, waiting)
	}
	t.Logf("passed by after %v", first)
	time.Sleep(100 * time.Millisecond)
	before := r.Stats().Ways[link.Up].Book.In
	bothWays(t, r.Lab, []netlab.Kind{netlab.Sized(100)})
	if r.Stats().Ways[link.Up].Book.In == before {
		t.Error("not taken in again")
	}
}

func TestEngineEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l := newLab(t, netlab.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	c := Config{Pair: l.Box, A: l.PortA, B: l.PortB, Netns: l.Box}
	e, err := Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer Remove(c.Pair)
	cancel()
	select {
	case <-e.Done():
	case <-time.After(2 * time.Second):
		t.Error("still there")
	}
	e.Close()
	if _, err := e.Apply(nil); err == nil {
		t.Error("an engine that ended applies a document")
	}
	bothWays(t, l, []netlab.Kind{netlab.Sized(100)})
}

func TestTwoEnginesOnOnePort(t *testing.T) {
	r := newRig(t, netlab.Options{}, Config{})
	for _, c := range []struct{ pair, want string }{
		{r.config.Pair, "held by another engine"},
		{r.config.Pair + "x", "port a1 is held by another engine"},
	} {
		again := r.config
		again.Pair = c.pair
		if e, err := Start(t.Context(), again); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("pair %s: %v; want %q", c.pair, err, c.want)
			if err == nil {
				e.Close()
			}
		}
	}
	bothWays(t, r.Lab, []netlab.Kind{netlab.Sized(100)})
}

func TestMissingPortsAndNamespaces(t *testing.T) {
	l := newLab(t, netlab.Options{})
	ok := Config{Pair: l.Box, A: l.PortA, B: l.PortB, Netns: l.Box}
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.B = "nosuch" }, "port nosuch"},
		{func(c *Config) { c.Netns = "nosuch" }, "namespace nosuch"},
		{func(c *Config) { c.A = c.B }, "want two"},
		{func(c *Config) { c.Pair = "" }, "want a name"},
		{func(c *Config) { c.Ring = 1000 }, "power of two"},
		{func(c *Config) { c.Doc = (&plain{Fail: "no such model"}).doc() }, "no such model"},
		{func(c *Config) { c.Doc = []byte("{") }, "unexpected end"},
	} {
		conf := ok
		c.change(&conf)
		if _, err := Start(t.Context(), conf); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
	Remove(ok.Pair)
}

// A port that goes down and comes up again, while frames flow.
func TestLinkFlap(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 5 * link.Millisecond}).doc()})
	var up time.Time
	s := streaming(t, r.Lab, netlab.StreamOptions{For: 600 * time.Millisecond}, func() {
		for range 2 {
			ip(t, r.Box, "link", "set", r.PortB, "down")
			time.Sleep(50 * time.Millisecond)
			ip(t, r.Box, "link", "set", r.PortB, "up")
			time.Sleep(50 * time.Millisecond)
		}
		up = time.Now()
	})
	if again, lost := s.PassedAgain(up), s.LostUntil(up); again < 0 || lost > 150*time.Millisecond {
		t.Errorf("passed again %v after the port was up, lost what was sent until %v", again, lost)
	}
	time.Sleep(150 * time.Millisecond)
	st := r.Stats()
	b := st.Ways[link.Up].Book
	if b.Broken > 0 || b.Engine.Loss() > 0 || b.LinkDown == 0 {
		t.Errorf("%d without a link; the engine's own %+v, broken %d", b.LinkDown, b.Engine, b.Broken)
	}
	if st.Verdict != ledger.Degraded || !strings.Contains(st.Reason, "found no link") {
		t.Errorf("%v: %s", st.Verdict, st.Reason)
	}
	t.Logf("%d of %d lost, %d for want of a link", s.Lost(), len(s.SentAt), b.LinkDown)
	bothWays(t, r.Lab, []netlab.Kind{netlab.Sized(100)})
}

// A cable that is pulled out of the port to leave by, and put back, while
// frames flow: the port stays up and has no carrier. What comes meanwhile is
// accounted for as that, nearly all of it: only what was on its way when the
// cable went is not.
func TestCableOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 5 * link.Millisecond}).doc()})
	s := streaming(t, r.Lab, netlab.StreamOptions{For: 600 * time.Millisecond}, func() {
		ip(t, r.B.Netns, "link", "set", r.B.Dev, "down")
		time.Sleep(200 * time.Millisecond)
		if why := r.Stats().NotEffective; !strings.Contains(why, "no link") {
			t.Errorf("not effective: %q, want that the port has no link", why)
		}
		ip(t, r.B.Netns, "link", "set", r.B.Dev, "up")
	})
	time.Sleep(250 * time.Millisecond)
	st := r.Stats()
	b := st.Ways[link.Up].Book
	if lost, known := uint64(s.Lost()), b.LinkDown; known == 0 || known > lost+20 || known < lost*8/10 {
		t.Errorf("%d of %d lost, %d of them as without a link", lost, len(s.SentAt), known)
	}
	if b.Broken > 0 || b.Engine.Loss() > 0 || st.Verdict != ledger.Degraded || !strings.Contains(st.Reason, "found no link") || st.NotEffective != "" {
		t.Errorf("%v: %s; engine %+v; %s", st.Verdict, st.Reason, b.Engine, st.NotEffective)
	}
	bothWays(t, r.Lab, []netlab.Kind{netlab.Sized(100)})
}

// A port that is pulled out while frames flow: no crash, the loss is booked,
// and after it is back an engine starts on the new port.
func TestPortVanishes(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 5 * link.Millisecond}).doc()})
	// The endpoint keeps sending into A when B is gone.
	streaming(t, r.Lab, netlab.StreamOptions{For: 300 * time.Millisecond}, func() {
		ip(t, r.Box, "link", "del", r.PortB)
	})
	select {
	case <-r.Done():
		t.Fatalf("the engine ended: %v", r.Err())
	default:
	}
	time.Sleep(150 * time.Millisecond)
	s := r.Stats()
	if b := s.Ways[link.Up].Book; b.LinkDown == 0 || b.Broken > 0 || s.Verdict != ledger.Degraded {
		t.Errorf("%v %q, %d without a link, engine %+v", s.Verdict, s.Reason, b.LinkDown, b.Engine)
	}
	r.Engine.Close()
	ip(t, r.Box, "link", "add", r.PortB, "type", "veth", "peer", "name", "b0", "netns", r.B.Netns)
	ip(t, r.Box, "link", "set", r.PortB, "up")
	ip(t, r.B.Netns, "link", "set", "b0", "up")
	r.start(t)
	bothWays(t, r.Lab, []netlab.Kind{netlab.Sized(100)})
}

func ip(t *testing.T, netns string, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", append([]string{"-n", netns}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v %s", args, err, out)
	}
}

// A user without privileges hears what is missing.
func TestNoPrivilege(t *testing.T) {
	need.Root(t)
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "farlink-nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755)
	if err := os.WriteFile(dir+"/engine", binary, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(dir + "/engine")
	cmd.Env = []string{"FARLINK_TEST_START=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, _ := cmd.CombinedOutput()
	for _, want := range []string{"no privilege for XDP", "CAP_NET_ADMIN", "CAP_BPF"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s\nwant %q in it", out, want)
		}
	}
}
