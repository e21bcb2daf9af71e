package cwnd

import (
	"math"
	"testing"

	"farlink/emulator/link"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if math.Abs(got-want) > tol {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, tol)
	}
}

func flow(cwnd, ssthresh float64, rtt link.Duration) *Flow {
	return &Flow{Cwnd: cwnd, Ssthresh: ssthresh, SRTT: rtt, MinRTT: rtt}
}

func TestReno(t *testing.T) {
	f := NewFlow(100 * link.Millisecond)
	Reno{}.Acked(f, 10)
	near(t, "slow start doubles", f.Cwnd, 20, 0)
	f.Ssthresh = 22
	Reno{}.Acked(f, 4) // two to the threshold, two of 1/22 and 1/22.045
	near(t, "beyond the threshold", f.Cwnd, 22+1/22.0+1/(22+1/22.0), 1e-12)
	Reno{}.Lost(f)
	near(t, "half", f.Cwnd, (22+1/22.0+1/(22+1/22.0))/2, 1e-12)
}

// TestHybla: 500 ms against 25 ms is rho 20, bounded to 16; 100 ms is rho 4:
// +15 per ACK in slow start, 16 packets per round beyond, as four rounds of
// four packets each on the reference path.
func TestHybla(t *testing.T) {
	f := flow(10, math.Inf(1), 100*link.Millisecond)
	Hybla{}.Acked(f, 2)
	near(t, "slow start", f.Cwnd, 40, 1e-9)
	f = flow(1000, 100, 100*link.Millisecond)
	Hybla{}.Acked(f, 1000)
	near(t, "a round", f.Cwnd, 1016, 0.2)
	near(t, "bounded", Hybla{}.Rho(flow(10, 10, 500*link.Millisecond)), 16, 0)
	near(t, "short path", Hybla{}.Rho(flow(10, 10, 5*link.Millisecond)), 1, 0)
}

// two returns subflows of 10 packets at 100 ms and 20 at 50 ms: x = 100 and
// 400 packets/s, w/r² = 1000 and 8000, sum x = 500.
func two() *Group {
	return &Group{Flows: []*Flow{flow(10, 2, 100*link.Millisecond), flow(20, 2, 50*link.Millisecond)}}
}

// TestLIA: max(w/r²)/(sum w/r)² = 8000/250000 = 0.032 for both, below 1/10
// and 1/20. A lone subflow is Reno.
func TestLIA(t *testing.T) {
	g := two()
	near(t, "slow path", LIA{g}.Increase(g.Flows[0]), 0.032, 1e-12)
	near(t, "fast path", LIA{g}.Increase(g.Flows[1]), 0.032, 1e-12)
	alone := &Group{Flows: []*Flow{flow(10, 2, 100*link.Millisecond)}}
	near(t, "alone", LIA{alone}.Increase(alone.Flows[0]), 0.1, 1e-12)
}

// TestBalia. Slow path: A = 4, 100/(0.1·250000)·5/2·8/5 = 0.004·4 = 0.016;
// loss: 10 − 5·1.5 = 2.5. Fast path: A = 1, 400/(0.05·250000)·1·1 = 0.032;
// loss: 20 − 10 = 10.
func TestBalia(t *testing.T) {
	g := two()
	b := Balia{g}
	near(t, "slow path", b.Increase(g.Flows[0]), 0.016, 1e-12)
	near(t, "fast path", b.Increase(g.Flows[1]), 0.032, 1e-12)
	b.Lost(g.Flows[1])
	near(t, "fast path after loss", g.Flows[1].Cwnd, 10, 1e-12)
	g = two()
	Balia{g}.Lost(g.Flows[0])
	near(t, "slow path after loss", g.Flows[0].Cwnd, 2.5, 1e-12)
}

// TestOLIA. Base terms: 1000/250000 = 0.004 and 8000/250000 = 0.032. With the
// slow path best by l/r² and the fast one largest: e = +1/2 and −1/2, so
// 0.004 + 0.5/10 = 0.054 and 0.032 − 0.5/20 = 0.007.
func TestOLIA(t *testing.T) {
	g := two()
	o := OLIA{g, []*History{{Since: 5000}, {Since: 1000}}} // l/r²: 500,000 and 400,000
	near(t, "slow path", o.Increase(0), 0.054, 1e-12)
	near(t, "fast path", o.Increase(1), 0.007, 1e-12)
	o.History[1].Between = 2000 // 800,000: the best path has the largest window
	near(t, "nothing to move", o.Epsilon(0)+o.Epsilon(1), 0, 0)
	o.Lost(g.Flows[0])
	if h := o.History[0]; h.Between != 5000 || h.Since != 0 {
		t.Errorf("history after a loss: %+v", *h)
	}
}

// TestWVegas: 20 packets at base 50 ms and 60 ms now queue 20·10/60 = 3.33;
// alpha 2 → the share: own 20/0.06 = 333.3 of 433.3 → alpha 7.69, so the
// window grows. At 100 ms, 10 are queued: own 210... one packet less.
func TestWVegas(t *testing.T) {
	g := two()
	v := WVegas{g, []*VegasPath{{Alpha: 2}, {Alpha: 2}}}
	v.Round(1, 60*link.Millisecond)
	near(t, "alpha", v.Paths[1].Alpha, 10*333.333333/433.333333, 1e-6)
	near(t, "grows below its share", g.Flows[1].Cwnd, 21, 0)
	v.Paths[1].QueueDelay = 40 * link.Millisecond // so that nothing is drained
	v.Round(1, 100*link.Millisecond)              // 21·50/100 = 10.5 > alpha 6.77
	near(t, "gives one up", g.Flows[1].Cwnd, 20, 0)
	v.Paths[1].QueueDelay = 20 * link.Millisecond // 50 ≥ 2·20: cut by 50/200
	v.Round(1, 100*link.Millisecond)
	near(t, "drains", g.Flows[1].Cwnd, 19*0.25, 1e-9)
}

func TestPredictor(t *testing.T) {
	p, f := &Predictor{}, flow(20, 2, 10*link.Millisecond)
	p.Acked(f, 1)
	p.Lost(f) // SRTT is still the base: the radio lost it
	if p.Limit != 0 {
		t.Errorf("a loss on an idle path set a limit of %v", p.Limit)
	}
	f.Cwnd, f.SRTT = 20, 120*link.Millisecond
	p.Lost(f)
	if p.Limit != 120*link.Millisecond {
		t.Errorf("limit %v after a loss by congestion, want 120ms", p.Limit)
	}
	f.Cwnd, f.SRTT = 20, 110*link.Millisecond
	p.Acked(f, 1)
	if p.Limit != 130*link.Millisecond || f.Cwnd <= 20 {
		t.Errorf("limit %v, cwnd %v: want 130ms and growth", p.Limit, f.Cwnd)
	}
	f.SRTT = 131 * link.Millisecond
	p.Acked(f, 1)
	near(t, "steps back before the loss", f.Cwnd, (20+1/20.0)/2, 1e-9)
}

// TestXLayer: 8 Mbit/s of frames at MSS 1448 is 8·1448/1514 = 7.651 Mbit/s of
// payload; 500 ms of it is 478.2 kB or 330.25 packets, with gain 1.25 412.8.
func TestXLayer(t *testing.T) {
	var x XLayer
	share := x.Share(8*link.MegabitPerSecond, 1, 1448)
	near(t, "payload", float64(share), 7651254, 1)
	packets, pacing := x.Window(share, 500*link.Millisecond, 1448)
	near(t, "window", packets, 413, 0)
	near(t, "pacing", float64(pacing), float64(share), 0)
	near(t, "half of it for each of two", float64(x.Share(8*link.MegabitPerSecond, 2, 1448)), 3825627, 1)
	packets, _ = x.Window(share, link.Millisecond, 1448)
	near(t, "floor", packets, 10, 0)
}

// TestLevel: a level of 20000 bytes, with a span as long, and with one of five
// times that; frames of 1000 bytes. At 40000 the sixteenth
// holds: the queue is 20 frames above, and the pause 16.
func TestLevel(t *testing.T) {
	var x XLayer
	const share = 7 * link.MegabitPerSecond
	for queue, want := range map[link.Size]float64{0: 14e6, 10000: 10.5e6, 20000: 7e6, 30000: 3.5e6, 38000: 0.7e6, 40000: 7e6 / 16} {
		near(t, "rate", float64(x.Level(share, queue, 20000, 20000, 1000)), want, 500)
	}
	for queue, want := range map[link.Size]float64{0: 8.4e6, 20000: 7e6, 70000: 3.5e6, 900000: 7e6 / 16} {
		near(t, "soft", float64(x.Level(share, queue, 20000, 100000, 1000)), want, 500)
	}
	// A level of four frames, five more waiting: one is sent in six.
	near(t, "no pause beyond the level", float64(x.Level(share, 9000, 4000, 4000, 1000)), 7e6/6, 1)
}

func TestResume(t *testing.T) {
	const rtt = 600 * link.Millisecond
	saved := Saved{Cwnd: 1000, MinRTT: rtt}
	start := func() (*Resume, *Flow) { return &Resume{Saved: saved}, NewFlow(rtt) }

	r, f := start()
	r.FirstRound(f, rtt, 0, 10)
	if r.Phase != Unvalidated || f.Cwnd != 500 {
		t.Fatalf("phase %d, window %v: want a jump to 500", r.Phase, f.Cwnd)
	}
	r.Acked(f, 10, 490) // those before the jump say nothing of it
	if r.Phase != Unvalidated {
		t.Fatalf("phase %d: want none of the jump validated", r.Phase)
	}
	r.Acked(f, 2, 488)
	if r.Phase != Validating || f.Cwnd != 490 { // what was in flight
		t.Errorf("phase %d, window %v: want 490 to be validated", r.Phase, f.Cwnd)
	}
	for range 244 {
		r.Acked(f, 2, 400)
	}
	if r.Phase != Normal || f.Cwnd != 490 {
		t.Errorf("phase %d, window %v after a validated jump", r.Phase, f.Cwnd)
	}

	r, f = start()
	r.FirstRound(f, rtt, 0, 10)
	r.Acked(f, 100, 400)
	if r.Lost(f, 400) || r.Phase != SafeRetreat || f.Cwnd != 50 { // (10+90)/2
		t.Errorf("phase %d, window %v: want the retreat to half of the 100 proven", r.Phase, f.Cwnd)
	}
	r.Acked(f, 100, 300)
	r.Acked(f, 300, 0)
	if r.Phase != Normal || f.Ssthresh != 250 { // (100+400)/2
		t.Errorf("phase %d, threshold %v after the retreat", r.Phase, f.Ssthresh)
	}

	for name, rtt := range map[string]link.Duration{"far shorter": 200 * link.Millisecond, "far longer": 7 * link.Second} {
		r, f = start()
		if r.FirstRound(f, rtt, 0, 10); r.Phase != Normal || f.Cwnd != 10 {
			t.Errorf("%s path: phase %d, window %v: want no jump", name, r.Phase, f.Cwnd)
		}
	}
	r, f = start()
	if r.FirstRound(f, rtt, link.Time(3601*link.Second), 10); r.Phase != Normal {
		t.Error("jumped on a path saved over an hour ago")
	}
	r, f = start()
	if !r.Lost(f, 10) {
		t.Error("a loss in the first round is for the law below")
	}
}
