package congestion

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"farlink/emulator/link"
	"farlink/emulator/need"
	"farlink/pep/cwnd"
)

// path, flow and step are the structs of bpf/flow.h.
type path struct {
	Cwnd, SRTT uint32
	Length     uint64
}

type flow struct {
	Cwnd, Ssthresh, Clamp, Frac, SRTT, MinRTT, Self, Paths uint32
	Path                                                   [8]path
	State                                                  [4]uint64
}

type step struct {
	Flow         flow
	Event, Count uint32
}

const (
	acked = iota
	lost
	round
)

func (f *flow) window() float64 { return float64(f.Cwnd) + float64(f.Frac)/(1<<20) }

// machine drives one law's own bytecode.
type machine struct {
	t    *testing.T
	prog *ebpf.Program
	flow flow
}

func newMachine(t *testing.T, name string) *machine {
	t.Helper()
	for _, l := range laws {
		if l.name != name {
			continue
		}
		spec, err := l.spec()
		if err != nil {
			t.Fatal(err)
		}
		spec.Programs = map[string]*ebpf.ProgramSpec{name + "_step": spec.Programs[name+"_step"]}
		delete(spec.Maps, name)
		c, err := ebpf.NewCollection(spec)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		t.Cleanup(c.Close)
		return &machine{t: t, prog: c.Programs[name+"_step"]}
	}
	t.Fatalf("no law %q", name)
	return nil
}

// do runs one step of the law on f.
func (m *machine) do(f *flow, event, count uint32) {
	m.t.Helper()
	s := step{*f, event, count}
	if _, err := m.prog.Run(&ebpf.RunOptions{Context: s, ContextOut: &s}); err != nil {
		m.t.Fatal(err)
	}
	*f = s.Flow
}

// pair is one subflow in both worlds.
type pair struct {
	kernel flow
	ref    *cwnd.Flow
}

func newPair(self uint32, window uint32, rtt link.Duration) *pair {
	us := uint32(rtt / link.Microsecond)
	return &pair{
		flow{Cwnd: window, Ssthresh: window, SRTT: us, MinRTT: us, Self: self, Paths: 8},
		&cwnd.Flow{Cwnd: float64(window), Ssthresh: float64(window), SRTT: rtt, MinRTT: rtt},
	}
}

// share shows every kernel flow the others.
func share(pairs []*pair) {
	for _, p := range pairs {
		for i, q := range pairs {
			length := max(q.kernel.State[0], q.kernel.State[1])
			p.kernel.Path[i] = path{q.kernel.Cwnd, q.kernel.SRTT, length}
		}
	}
}

// compare fails when the window of the bytecode is further than 2 % and slack
// packets from the reference's. At a loss the kernel works in whole packets.
func (p *pair) compare(t *testing.T, what string, slack float64) {
	t.Helper()
	if got, want := p.kernel.window(), p.ref.Cwnd; math.Abs(got-want) > slack+0.02*want {
		t.Fatalf("%s: kernel window %.3f, reference %.3f", what, got, want)
	}
}

// resync gives the reference the kernel's whole-packet window after a loss,
// where the two round differently.
func (p *pair) resync() {
	p.ref.Cwnd, p.ref.Ssthresh = p.kernel.window(), float64(p.kernel.Ssthresh)
}

// TestLawsAgainstReference drives each law's bytecode and its reference over
// the same trace of acknowledgements, losses and round-trip times on two
// paths, and compares the windows at every step.
func TestLawsAgainstReference(t *testing.T) {
	need.Root(t)
	cases := map[string]func(*cwnd.Group) []cwnd.Law{
		"hybla": func(*cwnd.Group) []cwnd.Law { return []cwnd.Law{cwnd.Hybla{}, cwnd.Hybla{}} },
		"lia":   func(g *cwnd.Group) []cwnd.Law { return []cwnd.Law{cwnd.LIA{Group: g}, cwnd.LIA{Group: g}} },
		"balia": func(g *cwnd.Group) []cwnd.Law { return []cwnd.Law{cwnd.Balia{Group: g}, cwnd.Balia{Group: g}} },
		"olia": func(g *cwnd.Group) []cwnd.Law {
			o := cwnd.OLIA{Group: g, History: []*cwnd.History{{}, {}}}
			return []cwnd.Law{o, o}
		},
		"predict": func(*cwnd.Group) []cwnd.Law { return []cwnd.Law{&cwnd.Predictor{}, &cwnd.Predictor{}} },
	}
	for name, build := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, name)
			pairs := []*pair{newPair(0, 20, 26*link.Millisecond), newPair(1, 40, 40*link.Millisecond)}
			law := build(&cwnd.Group{Flows: []*cwnd.Flow{pairs[0].ref, pairs[1].ref}})
			draw := link.NewDraw(1, name)
			for n := range uint64(3000) {
				i := int(draw.Uint64(3*n) % 2)
				p := pairs[i]
				queue := link.Duration(draw.Float(3*n+1) * float64(10*link.Millisecond))
				p.ref.SRTT = p.ref.MinRTT + queue/link.Microsecond*link.Microsecond
				p.kernel.SRTT = uint32(p.ref.SRTT / link.Microsecond)
				share(pairs)
				if draw.Chance(3*n+2, 0.01) {
					m.do(&p.kernel, lost, 0)
					law[i].Lost(p.ref)
					p.compare(t, fmt.Sprintf("loss at step %d on path %d", n, i), 1.5)
					p.resync()
					continue
				}
				count := uint32(1 + draw.Uint64(3*n+2)%3)
				m.do(&p.kernel, acked, count)
				law[i].Acked(p.ref, int(count))
				if name == "olia" && math.Abs(pairs[0].ref.Cwnd-pairs[1].ref.Cwnd) < 1 {
					// The kernel sees two largest windows in whole packets
					// where the reference sees one.
					p.resync()
					continue
				}
				p.compare(t, fmt.Sprintf("step %d on path %d", n, i), 0.5)
				if name == "olia" {
					// Its zero-sum terms keep windows small, where whole
					// packets drift: each step is compared on its own.
					p.resync()
				}
			}
		})
	}
}

// TestSlowStartOfHybla: 50 ms is rho 2, +3 packets per acknowledgement, to
// the threshold and not beyond.
func TestSlowStartOfHybla(t *testing.T) {
	need.Root(t)
	m := newMachine(t, "hybla")
	f := flow{Cwnd: 10, Ssthresh: 100, SRTT: 50000, MinRTT: 50000}
	for _, want := range []uint32{13, 16, 19} {
		if m.do(&f, acked, 1); f.Cwnd != want {
			t.Fatalf("window %d, want %d", f.Cwnd, want)
		}
	}
	if m.do(&f, acked, 100); f.Cwnd != 100 {
		t.Errorf("window %d, want the threshold 100", f.Cwnd)
	}
}

// TestWVegasAgainstReference drives rounds of both.
func TestWVegasAgainstReference(t *testing.T) {
	need.Root(t)
	m := newMachine(t, "wvegas")
	pairs := []*pair{newPair(0, 20, 26*link.Millisecond), newPair(1, 40, 40*link.Millisecond)}
	v := cwnd.WVegas{
		Group: &cwnd.Group{Flows: []*cwnd.Flow{pairs[0].ref, pairs[1].ref}},
		Paths: []*cwnd.VegasPath{{Alpha: 2}, {Alpha: 2}},
	}
	draw := link.NewDraw(2, "wvegas")
	for n := range uint64(2000) {
		i := int(n % 2)
		p := pairs[i]
		// The queue grows with the window, as on a real path.
		rtt := p.ref.MinRTT + link.Duration((p.ref.Cwnd/10+draw.Float(n))*1e6)/link.Microsecond*link.Microsecond
		share(pairs)
		m.do(&p.kernel, round, uint32(rtt/link.Microsecond))
		v.Round(i, rtt)
		if got, want := float64(p.kernel.Cwnd), p.ref.Cwnd; math.Abs(got-want) > 2 { // one packet up against one down, on a tie
			t.Fatalf("round %d on path %d: kernel window %v, reference %.3f", n, i, got, want)
		}
		p.ref.Cwnd = float64(p.kernel.Cwnd)
		p.ref.SRTT, p.kernel.SRTT = rtt, uint32(rtt/link.Microsecond)
	}
}

// TestXLayerAgainstReference asks both for the window of a capacity.
func TestXLayerAgainstReference(t *testing.T) {
	need.Root(t)
	m := newMachine(t, "xlayer")
	draw := link.NewDraw(3, "xlayer")
	for n := range uint64(500) {
		rate := link.Rate(64000 + draw.Uint64(4*n)%100e6)
		rtt := link.Duration(1+draw.Uint64(4*n+1)%700) * link.Millisecond
		active, mss := int(1+draw.Uint64(4*n+2)%6), int(536+draw.Uint64(4*n+3)%1000)
		level := uint32(n%3) * uint32(1514+rate.Bytes(20*link.Millisecond))
		span := level * uint32(1+n%7)
		queue := uint32(draw.Uint64(4*n) % uint64(level+2*span+1))
		pace := rate * link.Rate(1+n%2)
		ask := struct {
			Pace, Carry                                                         uint64
			Active, RTT, MSS, Gain, Floor, Overhead, Queue, Level, Span, Unused uint32
			Pacing, Window                                                      uint64
		}{uint64(pace) / 8, uint64(rate) / 8, uint32(active), uint32(rtt / link.Microsecond), uint32(mss), 320, 10, 66, queue, level, span, 0, 0, 0}
		if _, err := m.prog.Run(&ebpf.RunOptions{Context: ask, ContextOut: &ask}); err != nil {
			t.Fatal(err)
		}
		var x cwnd.XLayer
		window, _ := x.Window(x.Share(rate, active, mss), rtt, mss)
		pacing := x.Share(pace, active, mss)
		if level > 0 {
			pacing = x.Level(pacing, link.Size(queue), link.Size(level), link.Size(span), link.Size(mss+66))
		}
		if math.Abs(float64(ask.Window)-window) > 1+0.001*window || math.Abs(float64(ask.Pacing)*8-float64(pacing)) > 16+0.02*float64(pacing)+float64(pace)/256 {
			t.Fatalf("rate %v, %d flows, rtt %v, mss %d, queue %d: kernel %d packets at %d B/s, reference %v at %v",
				rate, active, rtt, mss, queue, ask.Window, ask.Pacing, window, pacing)
		}
	}
}

// TestShelf registers every law, uses each on a real socket, and leaves
// nothing behind.
func TestShelf(t *testing.T) {
	need.Root(t)
	feed, err := NewFeed()
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	s := Open(feed)
	s.Load(Names()...)
	for name, err := range s.Missing() {
		t.Errorf("%s: %+v", name, err)
	}
	for _, name := range Names() {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		used, err := s.Use(fd, name, "cubic", Place{Column: 3, Group: 7, Slot: 1})
		if err != nil || used != name {
			t.Errorf("use %s: %q, %v", name, used, err)
		}
		kernel, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		if err != nil || s.Law(kernel) != name {
			t.Errorf("the socket uses %q, want %s", kernel, name)
		}
		unix.Close(fd)
	}
	if _, err := s.Use(0, "vegas2", "cubic", Place{}); err == nil {
		t.Error("an unknown control was accepted")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if after := available(t); strings.Contains(after, s.tag) { // others' come and go
		t.Errorf("controls after the shelf is closed: %q, want none of %s", after, s.tag)
	}
}

// TestResumeAgainstReference drives the phases of a flow that resumes, and
// their reference, over random traces, and compares them at every step.
func TestResumeAgainstReference(t *testing.T) {
	need.Root(t)
	m := newMachine(t, "resume")
	draw := link.NewDraw(5, "resume")
	var seen [cwnd.Normal + 1]bool
	for n := range uint64(200) {
		saved := float64(draw.Uint64(1000*n) % 3000)
		rtt := link.Duration(100+draw.Uint64(1000*n+1)%900) * link.Millisecond
		now := link.Duration(40+draw.Uint64(1000*n+2)%3000) * link.Millisecond
		f, r := cwnd.NewFlow(now), &cwnd.Resume{Saved: cwnd.Saved{Cwnd: saved, MinRTT: rtt}}
		k := resumeJump{Cwnd: 10, Ssthresh: math.MaxInt32, Saved: uint32(saved), SavedRttUs: uint32(rtt / link.Microsecond), RttUs: uint32(now / link.Microsecond)}
		inflight := int(draw.Uint64(1000*n+3) % 20)
		step := func(event, count int) {
			k.Event, k.Count, k.Inflight = uint32(event), uint32(count), uint32(inflight)
			if _, err := m.prog.Run(&ebpf.RunOptions{Context: k, ContextOut: &k}); err != nil {
				t.Fatal(err)
			}
		}
		r.FirstRound(f, now, 0, inflight)
		step(0, 0)
		for i := range uint64(60) {
			seen[r.Phase] = true
			if int(k.Phase) != int(r.Phase) || math.Abs(float64(k.Cwnd)-f.Cwnd) > 1 {
				t.Fatalf("trace %d, step %d: kernel in phase %d with %d packets, reference in %d with %v", n, i, k.Phase, k.Cwnd, r.Phase, f.Cwnd)
			}
			inflight = int(f.Cwnd) * 3 / 4
			if draw.Uint64(1000*n+10+2*i)%40 == 0 {
				below := r.Lost(f, inflight)
				if step(2, 0); (k.Below == 1) != below {
					t.Fatalf("trace %d: loss is for the law below: kernel %d, reference %v", n, k.Below, below)
				}
				continue
			}
			acked := 1 + int(draw.Uint64(1000*n+11+2*i)%max(uint64(f.Cwnd)/8, 1))
			r.Acked(f, acked, inflight)
			step(1, acked)
			if r.Phase == cwnd.Normal && !math.IsInf(f.Ssthresh, 1) && math.Abs(float64(k.Ssthresh)-f.Ssthresh) > 1 {
				t.Fatalf("trace %d: threshold %d, reference %v", n, k.Ssthresh, f.Ssthresh)
			}
		}
	}
	for phase := cwnd.Unvalidated; phase <= cwnd.Normal; phase++ {
		if !seen[phase] {
			t.Errorf("no trace came to phase %d", phase)
		}
	}
}

// TestFallback: a law that did not load gives way to a named kernel control.
func TestFallback(t *testing.T) {
	s := &Shelf{tag: "x_", laws: map[string]*law{}, missing: map[string]error{"hybla": os.ErrInvalid}}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if used, err := s.Use(fd, "hybla", "cubic", Place{}); err != nil || used != "cubic" {
		t.Errorf("used %q, %v; want cubic", used, err)
	}
}

func available(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var _ = [1]struct{}{}[unsafe.Sizeof(step{})-200] // struct step of flow.h is 200 bytes
