package schedule

import (
	"math"
	"testing"

	"farlink/emulator/link"
)

const ms = link.Millisecond

// near and far are two paths with round numbers: 10 packets of 1000 bytes at
// 20 ms, and at 100 ms.
func near() Path {
	return Path{SRTT: 20 * ms, RTTVar: 2 * ms, MSS: 1000, Cwnd: 10, Ssthresh: 5}
}

func far() Path {
	return Path{SRTT: 100 * ms, RTTVar: 5 * ms, MSS: 1000, Cwnd: 10, Ssthresh: 5}
}

// two is both, with much to send and room for it; the near one's window is
// closed, and its socket holds what goes in Slack once it opens.
func two() *Snapshot {
	s := &Snapshot{Paths: []Path{near(), far()}, Chunk: 1000, Unsent: 1 << 20, Window: 1 << 20, Left: 1 << 20}
	s.Paths[0].Inflight, s.Paths[0].NotSent = 10, 5000
	return s
}

// opened is the near path with nothing in flight.
func (s *Snapshot) opened() *Snapshot {
	s.Paths[0].Inflight, s.Paths[0].NotSent = 0, 0
	return s
}

func TestAvailable(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *Path)
		want   bool
	}{
		{"idle", func(*Path) {}, true},
		{"window closed, opens soon", func(p *Path) { p.Inflight, p.NotSent = 10, 4999 }, true},
		{"window closed, so much waits", func(p *Path) { p.Inflight, p.NotSent = 10, 5000 }, false},
		{"window closed by far", func(p *Path) { p.Inflight = 15 }, false},
		{"one packet of window, far", func(p *Path) { p.SRTT, p.Inflight, p.NotSent = 200*ms, 9, 1250 }, true},
		{"what goes in 10 ms waits", func(p *Path) { p.NotSent = 5000 }, true}, // 10,000 bytes in 20 ms
		{"paced, 10 ms of it", func(p *Path) { p.Pacing, p.NotSent = 6_400_000, 8000 }, true},
		{"paced at any rate: a window of it", func(p *Path) { p.Pacing, p.NotSent = 64_000_000, 10_001 }, false},
		{"as delivered, past a window", func(p *Path) { p.Rate, p.NotSent, p.Cwnd = 64_000_000, 80_000, 90 }, true},
		{"more than that waits", func(p *Path) { p.NotSent = 5001 }, false},
		{"an eighth of the window waits, far", func(p *Path) { p.SRTT, p.NotSent = 200*ms, 1250 }, true},
		{"more than that waits, far", func(p *Path) { p.SRTT, p.NotSent = 200*ms, 1251 }, false},
		{"socket full", func(p *Path) { p.Full = true }, false},
		{"timeout", func(p *Path) { p.State = Loss }, false},
		{"silent", func(p *Path) { p.State = Stale }, false},
		{"gone", func(p *Path) { p.State = Gone }, false},
		{"backup beside one that is up", func(p *Path) { p.Backup = true }, false},
	} {
		s := two()
		s.Paths[0] = near()
		c.change(&s.Paths[0])
		if got := s.Available(0); got != c.want {
			t.Errorf("%s: available %v", c.name, got)
		}
	}
	s := two()
	s.Paths[1].Backup, s.Paths[0].State = true, Gone
	if !s.Available(1) {
		t.Error("the backup is not available though nothing else is up")
	}
	s = two()
	if s.Eager = true; !s.Available(0) {
		t.Error("an eager sender does not look at the window")
	}
}

func TestMinRTT(t *testing.T) {
	s := two()
	if got := (MinRTT{}).Next(s); got.Path != 1 {
		t.Errorf("near closed: path %d, want 1", got.Path)
	}
	s.opened()
	if got := (MinRTT{}).Next(s); got.Path != 0 {
		t.Errorf("both open: path %d, want 0", got.Path)
	}
	for _, block := range []func(s *Snapshot){
		func(s *Snapshot) { s.Unsent = 0 },
		func(s *Snapshot) { s.Left = 999 },
		func(s *Snapshot) { s.Paths[0].Full, s.Paths[1].Full = true, true },
	} {
		s := two()
		block(s)
		for _, name := range Names() {
			if got := scheduler(t, name).Next(s); got.Path != Wait {
				t.Errorf("%s: path %d with nothing to do", name, got.Path)
			}
		}
	}
}

func TestRoundRobin(t *testing.T) {
	take := func(r *RoundRobin, s *Snapshot, n int) (got []int) {
		for range n {
			got = append(got, r.Next(s).Path)
		}
		return got
	}
	open := two()
	open.opened()
	for _, c := range []struct {
		name string
		r    *RoundRobin
		s    *Snapshot
		want [6]int
	}{
		{"one segment a turn", &RoundRobin{Segments: 1}, open, [6]int{0, 1, 0, 1, 0, 1}},
		{"two segments a turn", &RoundRobin{Segments: 2}, open, [6]int{0, 0, 1, 1, 0, 0}},
		{"closed paths are passed over", &RoundRobin{Segments: 1}, two(), [6]int{1, 1, 1, 1, 1, 1}},
		{"strict waits for the closed one", &RoundRobin{Segments: 1, Strict: true}, two(), [6]int{-1, -1, -1, -1, -1, -1}},
	} {
		if got := [6]int(take(c.r, c.s, 6)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	s := two()
	s.Paths[0].State = Gone
	if got := (&RoundRobin{Segments: 1, Strict: true}).Next(s); got.Path != 1 {
		t.Errorf("strict, first path gone: %d, want 1", got.Path)
	}
}

func TestRedundant(t *testing.T) {
	s := two()
	if got := (Redundant{}).Next(s); got != (Choice{Path: 1}) {
		t.Errorf("nothing behind: %+v, want new on 1", got)
	}
	s.Paths[1].Behind = 5000
	if got := (Redundant{}).Next(s); got != (Choice{Path: 1, Copy: true}) {
		t.Errorf("behind: %+v, want a copy on 1", got)
	}
	s.Left = 0 // the window allows nothing new, copies go on
	if got := (Redundant{}).Next(s); got != (Choice{Path: 1, Copy: true}) {
		t.Errorf("window closed: %+v, want a copy on 1", got)
	}
	s.opened() // the near one has all; only the far one can copy
	if got := (Redundant{}).Next(s); got != (Choice{Path: 1, Copy: true}) {
		t.Errorf("near idle, window closed: %+v, want a copy on 1", got)
	}
}

// TestBLEST: n = 100/20 = 5; X = 1000·(10 + 4/2)·5 = 60,000 bytes;
// Y = window − 1000·(5+1).
func TestBLEST(t *testing.T) {
	s := two()
	s.Paths[1].Inflight = 5
	for _, c := range []struct {
		window int
		lambda float64
		want   int
	}{
		{65_999, 1, Wait}, // Y = 59,999
		{66_000, 1, 1},    // Y = 60,000
		{84_000, 1.3, 1},  // X·lambda = 78,000 = Y
		{83_999, 1.3, Wait},
	} {
		s.Window = c.window
		if got := (&BLEST{Lambda: c.lambda}).Next(s); got.Path != c.want {
			t.Errorf("window %d, lambda %v: path %d, want %d", c.window, c.lambda, got.Path, c.want)
		}
	}
	s.Paths[0].Ssthresh = 100 // slow start: X = 1000·10·(2⁵−1) = 310,000
	if got := Meanwhile(&s.Paths[0], &s.Paths[1]); got != 310_000 {
		t.Errorf("X in slow start %v, want 310000", got)
	}
}

// TestBLESTLambda: once per round trip of the slow path, +0.04 after a
// reinjection, −0.01 without, within 1 to 1.3.
func TestBLESTLambda(t *testing.T) {
	s, b := two(), &BLEST{Lambda: 1}
	step := func(reinjected uint64, after link.Duration, want float64) {
		t.Helper()
		s.Now += link.Time(after)
		s.Reinjected += reinjected
		if b.Next(s); math.Abs(b.Lambda-want) > 1e-9 {
			t.Errorf("at %v: lambda %v, want %v", link.Duration(s.Now), b.Lambda, want)
		}
	}
	step(0, 100*ms, 1)
	step(1, 100*ms, 1.04)
	step(1, 99*ms, 1.04) // not yet a round trip
	step(0, 1*ms, 1.08)
	step(0, 100*ms, 1.07)
	for range 20 {
		s.Now, s.Reinjected = s.Now+link.Time(100*ms), s.Reinjected+1
		b.Next(s)
	}
	step(1, 100*ms, 1.3)
}

// TestECF: c = 10,000 bytes on both, d = 5 ms.
func TestECF(t *testing.T) {
	for _, c := range []struct {
		unsent int
		waits  bool
		want   int
	}{
		{15_000, false, Wait}, // n = 2.5: 50 < 105, and 1.5·100 ≥ 45
		{40_000, false, Wait}, // n = 5: 100 < 105
		{45_000, false, 1},    // n = 5.5: 110 ≥ 105
		{45_000, true, Wait},  // 110 < 1.25·105 = 131.25
		{60_000, true, 1},     // n = 7: 140 ≥ 131.25
	} {
		s := two()
		s.Unsent = c.unsent
		if got := (&ECF{Beta: 0.25, waits: c.waits}).Next(s); got.Path != c.want {
			t.Errorf("%d bytes, waits %v: path %d, want %d", c.unsent, c.waits, got.Path, c.want)
		}
	}
	s := two() // a far path that is hardly farther: S is no worse than waiting
	s.Unsent, s.Paths[1].SRTT = 1000, 36*ms
	if got := (&ECF{Beta: 0.25}).Next(s); got.Path != 1 { // 40 < 41, but 36 < 45
		t.Errorf("path %d, want 1", got.Path)
	}
}

// TestArrival: the near path's window is closed and 5,000 bytes wait, so a
// chunk is there after 10 + 6,000 B at 500 KB/s = 22 ms; on the far path after
// 50 + 1,000 B at 100 KB/s = 60 ms.
func TestArrival(t *testing.T) {
	s := two()
	if a, b := s.arrival(0)*1e3, s.arrival(1)*1e3; math.Abs(a-22) > 1e-9 || math.Abs(b-60) > 1e-9 {
		t.Errorf("arrivals %v and %v ms, want 22 and 60", a, b)
	}
	s.Paths[0].Inflight = 12 // two more must be acknowledged first: 4 ms
	if a := s.arrival(0) * 1e3; math.Abs(a-26) > 1e-9 {
		t.Errorf("window overdrawn: arrival %v ms, want 26", a)
	}
	s = two()
	s.Unsent = 18_000 // 22 + 18,000/500 = 58 ms < 60: the tail needs no far path
	if got := (Arrival{}).Next(s); got.Path != Wait {
		t.Errorf("18,000 bytes left: path %d, want wait", got.Path)
	}
	s.Unsent = 20_000 // 62 ms
	if got := (Arrival{}).Next(s); got.Path != 1 {
		t.Errorf("20,000 bytes left: path %d, want 1", got.Path)
	}
	s.Unsent, s.Window, s.Left = 1<<20, 99_000, 19_000 // the near path needs 19,000 until then
	if got := (Arrival{}).Next(s); got.Path != Wait {
		t.Errorf("short window: path %d, want wait", got.Path)
	}
	s.Window = 100_000 // 2·500 KB/s·100 ms: ample
	if got := (Arrival{}).Next(s); got.Path != 1 {
		t.Errorf("ample window: path %d, want 1", got.Path)
	}
}

func TestNames(t *testing.T) {
	for _, name := range Names() {
		if s, err := New(name, Options{}); err != nil || s == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New("lowest", Options{}); err == nil {
		t.Error("an unknown scheduler was made")
	}
}

// No scheduler ever chooses a path that is not available, whatever it sees.
func FuzzAvailable(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		d := link.NewDraw(seed, "snapshot")
		n := uint64(0)
		draw := func(below int) int { n++; return int(d.Uint64(n) % uint64(below)) }
		s := &Snapshot{Now: link.Time(draw(1e9)), Chunk: 1 + draw(6000), Unsent: draw(1e6), Window: draw(1e6), Left: draw(1e6)}
		for range draw(5) {
			s.Paths = append(s.Paths, Path{
				SRTT: link.Duration(draw(1e9)), RTTVar: link.Duration(draw(1e8)), MSS: draw(1500), Cwnd: draw(500), Inflight: draw(500),
				NotSent: draw(9000), Ssthresh: draw(1000), Rate: link.Rate(draw(1e8)), Paced: draw(2) == 1, State: State(draw(4)),
				Full: draw(4) == 0, Backup: draw(4) == 0, Behind: draw(2) * draw(9000),
			})
		}
		for _, name := range Names() {
			sched := scheduler(t, name)
			for range 3 {
				if c := sched.Next(s); c.Path != Wait && (!s.Available(c.Path) || !c.Copy && s.Left < s.Chunk) {
					t.Errorf("%s chose %+v of %+v", name, c, s)
				}
			}
		}
	})
}
