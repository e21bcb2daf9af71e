package wire

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/netlab"
	"farlink/emulator/wire/steer"
	"farlink/profiles"
)

// needMeasure skips what takes long and judges a machine rather than code.
func needMeasure(t *testing.T) {
	if os.Getenv("FARLINK_MEASURE") == "" {
		t.Skip("set FARLINK_MEASURE=1 to measure")
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	if len(v) == 0 {
		return 0
	}
	return v[len(v)/2]
}

// TestMeasureThroughput compares, interleaved on the same veths, a kernel
// bridge, the bare wire and the bypass, native and generic.
func TestMeasureThroughput(t *testing.T) {
	needMeasure(t)
	l := newLab(t, netlab.Options{})
	got := map[string][]float64{}
	measure := func(name string) {
		tr, err := netlab.TCP(l.A, l.B, time.Second)
		if err != nil {
			t.Logf("%s: %v", name, err)
		}
		f, err := netlab.Flood(l.A, l.B, netlab.FloodOptions{For: 500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		got[name+" tcp"] = append(got[name+" tcp"], tr.Mbits())
		got[name+" kpps"] = append(got[name+" kpps"], f.PerSecond()/1e3)
		got[name+" sent"] = append(got[name+" sent"], float64(f.Sent)/f.For.Seconds()/1e3)
	}
	for range 5 {
		if err := l.Bridge(); err != nil {
			t.Fatal(err)
		}
		measure("bridge")
		if err := l.Unbridge(); err != nil {
			t.Fatal(err)
		}
		for _, how := range []steer.Attach{steer.Native, steer.Generic} {
			c := Config{Pair: l.Box, A: l.PortA, B: l.PortB, Netns: l.Box, Attach: how}
			e, err := Start(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			measure("bare " + string(how))
			s := e.Stats()
			t.Logf("%s %v %s, up %+v", how, s.Verdict, s.Reason, s.Ways[link.Up].Book.Engine)
			if err := e.SetMode(steer.Bypass); err != nil {
				t.Fatal(err)
			}
			measure("bypass " + string(how))
			e.Close()
			if err := Remove(c.Pair); err != nil {
				t.Fatal(err)
			}
		}
	}
	names := []string{}
	for n := range got {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		t.Logf("%-22s %7.0f  %.0f", n, median(got[n]), got[n])
	}
}

// TestMeasureDelay compares the delay asked for with what the kernel's stamps
// at the endpoints say, and that with the engine's own book.
func TestMeasureDelay(t *testing.T) {
	needMeasure(t)
	for _, attach := range []steer.Attach{steer.Generic, steer.Native} {
		r := newRig(t, netlab.Options{}, Config{Attach: attach})
		for _, c := range []struct {
			delay link.Duration
			load  bool
		}{{0, false}, {10 * link.Millisecond, false}, {10 * link.Millisecond, true}, {300 * link.Millisecond, false}, {300 * link.Millisecond, true}} {
			var p50, p99, own50, own99, low []float64
			for range 3 {
				if _, err := r.Run((&plain{Delay: c.delay}).doc()); err != nil {
					t.Fatal(err)
				}
				stop := background(t, r, c.load)
				d, err := netlab.Probe(r.A, r.B, netlab.ProbeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				stop()
				time.Sleep(120 * time.Millisecond)
				b := r.Stats().Ways[link.Up].Book
				us := func(x time.Duration) float64 { return float64(x-time.Duration(c.delay)) / 1e3 }
				p50, p99, low = append(p50, us(d.Quantile(.5))), append(p99, us(d.Quantile(.99))), append(low, us(d.Quantile(0)))
				own50, own99 = append(own50, float64(b.Lateness.Quantile(.5))/1e3), append(own99, float64(b.Lateness.Quantile(.99))/1e3)
			}
			t.Logf("%-8s %6v load %-5v: witness min %.1f p50 %.1f p99 %.1f us; ledger p50 %.1f p99 %.1f us; %v", attach, c.delay, c.load, median(low), median(p50), median(p99), median(own50), median(own99), r.Stats().Reason)
		}
		r.Engine.Close()
		Remove(r.config.Pair)
	}
}

// background sends 100 Mbit/s of 1250-byte frames from A until the returned
// function is called, or nothing.
func background(t *testing.T, r *rig, load bool) (stop func()) {
	if !load {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := netlab.Flood(r.A, r.B, netlab.FloodOptions{Size: 1250, Rate: 10000, For: 1100 * time.Millisecond}); err != nil {
			t.Error(err)
		}
	}()
	time.Sleep(20 * time.Millisecond)
	return func() { <-done }
}

// TestMeasureModel compares the wire with the profile clear in it, and with a
// GEO link, to the bare one.
func TestMeasureModel(t *testing.T) {
	needMeasure(t)
	r := newRig(t, netlab.Options{}, Config{})
	clear, err := profiles.Lookup("clear")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]float64{}
	for range 5 {
		for name, doc := range map[string][]byte{"bare": nil, "plain": (&plain{}).doc(), "clear": documentOf(clear.Profile)} {
			if _, err := r.Run(doc); err != nil {
				t.Fatal(err)
			}
			tr, err := netlab.TCP(r.A, r.B, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			f, err := netlab.Flood(r.A, r.B, netlab.FloodOptions{For: 500 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			got[name+" tcp"] = append(got[name+" tcp"], tr.Mbits())
			got[name+" kpps"] = append(got[name+" kpps"], f.PerSecond()/1e3)
			got[name+" loss ppm"] = append(got[name+" loss ppm"], f.Loss()*1e6)
		}
	}
	for _, what := range []string{"tcp", "kpps", "loss ppm"} {
		for _, name := range []string{"bare", "plain", "clear"} {
			t.Logf("%-6s %-9s %7.0f  %.0f", name, what, median(got[name+" "+what]), got[name+" "+what])
		}
	}
}

// TestMeasureRate floods links of known rates with more than they carry and
// counts, at the far end, what comes in a second and in tenths of one.
func TestMeasureRate(t *testing.T) {
	needMeasure(t)
	r := newRig(t, netlab.Options{}, Config{})
	for _, rate := range []link.Rate{64e3, 1e6, 10e6, 100e6, 300e6, 900e6} {
		text := fmt.Sprintf("name = \"rate\"\nabout = \"a rate\"\n[up.queue]\nrate = %q\nlimit = \"500ms\"\n", rate)
		p, problems := profiles.Parse([]byte(text))
		if p == nil {
			t.Fatal(problems)
		}
		if _, err := r.Run(documentOf(p)); err != nil {
			t.Fatal(err)
		}
		size := 1250
		if rate < 1e6 {
			size = 100
		}
		s, err := netlab.Stream(r.A, r.B, netlab.StreamOptions{Size: size, Rate: int(1.2 * float64(rate) / 8 / float64(size)), For: 1600 * time.Millisecond, Wait: 600 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		long, short := rateErrors(s, rate, size)
		t.Logf("%-9v sent at %.2f of it; over 1 s %+.3f %%, worst of 100 ms %+.2f %%; %v", rate, sentRate(s, size)/float64(rate), long*100, short*100, r.Stats().Reason)
	}
}

func sentRate(s netlab.Streamed, size int) float64 {
	n := len(s.SentAt)
	return float64(n-1) * float64(size) * 8e9 / float64(s.SentAt[n-1]-s.SentAt[0])
}

// rateErrors compares the rate at which frames came, while the queue was
// never empty, with the one asked for: over the second from the first
// arrival after 0.3 s on, and the worst over the tenths in it.
func rateErrors(s netlab.Streamed, rate link.Rate, size int) (long, short float64) {
	var came []int64
	for _, at := range s.CameAt {
		if at != 0 {
			came = append(came, at)
		}
	}
	slices.Sort(came)
	over := func(from, d int64) float64 {
		i, _ := slices.BinarySearch(came, from)
		j, _ := slices.BinarySearch(came, from+d)
		if j >= len(came) {
			j = len(came) - 1
		}
		// Whole frames between two arrivals: no rounding to the window.
		return float64(j-i)*float64(size)*8e9/float64(came[j]-came[i])/float64(rate) - 1
	}
	begin := came[0] + 300_000_000
	for k := range int64(10) {
		if e := over(begin+k*100_000_000, 100_000_000); e > short || -e > short {
			short = max(e, -e)
		}
	}
	return over(begin, 1_000_000_000), short
}

// cpu returns the processor time that a process has used, to the ns: what the
// scheduler counts for its threads.
func cpu(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("no threads of process %d: %v", pid, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var ran int64
		fmt.Sscan(string(b), &ran)
		sum += time.Duration(ran)
	}
	return sum
}

// TestMeasureIdle says what an engine costs that has nothing to do, with
// models that have no clock and with models that have one.
func TestMeasureIdle(t *testing.T) {
	needMeasure(t)
	r := newRig(t, netlab.Options{}, Config{})
	documents, err := profiles.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents {
		if !slices.Contains([]string{"clear", "geo/qirse-sat", "geo/ka-seoul-rain", "dvbrcs/clear-sky", "leo/walk"}, d.Name) && d.LTE == nil {
			continue
		}
		if _, err := r.Run(documentOf(d.Profile)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		before := cpu(t, r.Report().PID)
		time.Sleep(2 * time.Second)
		t.Logf("idle, %s: %.2f %% of a core", d.Name, (cpu(t, r.Report().PID)-before).Seconds()*50)
	}
}

// TestMeasureBusyDaemon compares delays while this process, which stands for
// the daemon, rests, and while it makes garbage.
func TestMeasureBusyDaemon(t *testing.T) {
	needMeasure(t)
	r := newRig(t, netlab.Options{}, Config{})
	var p99 [2][]float64
	for round := range 10 {
		if _, err := r.Run((&plain{Delay: 10 * link.Millisecond}).doc()); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		if round%2 == 1 {
			go garbage(stop)
		}
		done := background(t, r, true)
		time.Sleep(time.Second)
		done()
		close(stop)
		time.Sleep(120 * time.Millisecond)
		b := r.Stats().Ways[link.Up].Book
		p99[round%2] = append(p99[round%2], float64(b.Lateness.Quantile(0.99))/1e3)
	}
	t.Logf("p99 us at rest %.0f, with 200 MB/s of garbage %.0f", p99[0], p99[1])
	t.Logf("medians %.0f and %.0f: ratio %.2f", median(p99[0]), median(p99[1]), median(p99[1])/median(p99[0]))
}

var heapOf [256][]byte

// garbage makes 200 MB/s of it.
func garbage(stop chan struct{}) {
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case <-stop:
			return
		case <-tick.C:
			for i := range heapOf {
				heapOf[i] = make([]byte, 4096)
			}
		}
	}
}

// TestMeasureKills kills the engine at many instants and says how long no
// frame passed.
func TestMeasureKills(t *testing.T) {
	needMeasure(t)
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 5 * link.Millisecond}).doc()})
	var gaps []float64
	for i := range 100 {
		var at time.Time
		s := streaming(t, r.Lab, netlab.StreamOptions{For: 200 * time.Millisecond, Wait: 20 * time.Millisecond}, func() {
			time.Sleep(time.Duration(i*370) * time.Microsecond)
			at = time.Now()
			syscall.Kill(r.Report().PID, syscall.SIGKILL)
			<-r.Done()
		})
		gap := s.PassedAgain(at)
		if gap < 0 {
			t.Errorf("kill %d: nothing passed again", i)
			continue
		}
		gaps = append(gaps, float64(gap)/1e6)
		r.start(t)
	}
	slices.Sort(gaps)
	t.Logf("%d kills: passed again after ms min %.1f median %.1f p90 %.1f max %.1f", len(gaps), gaps[0], median(gaps), gaps[len(gaps)*9/10], gaps[len(gaps)-1])
}
