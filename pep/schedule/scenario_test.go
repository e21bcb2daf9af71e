package schedule

import (
	"testing"

	"farlink/emulator/link"
)

// goodput of one scheduler over carriers with a window in bytes, as a share
// of what.
func share(t testing.TB, name string, window int, d link.Duration, of float64, carriers ...carrier) float64 {
	t.Helper()
	return newSim(scheduler(t, name), window/simMSS, carriers...).run(d) / of
}

func sum(carriers ...carrier) (all, best float64) {
	for _, c := range carriers {
		all += float64(c.rate)
		best = max(best, float64(c.rate))
	}
	return all, best
}

// TestSeed: on the two operators with an ample window every scheduler fills
// both paths, and Redundant carries what the best single path does.
func TestSeed(t *testing.T) {
	all, best := sum(skt, kt)
	for _, name := range Names() {
		got, least, most := share(t, name, 4<<20, 10*link.Second, all, skt, kt), 0.9, 1.001
		if name == "redundant" {
			least, most = 0.95*best/all, 1.05*best/all
		}
		t.Logf("%-10s %.3f of the sum", name, got)
		if got < least || got > most {
			t.Errorf("%s: %.3f of the sum, want %.3f to %.3f", name, got, least, most)
		}
	}
}

// TestSlowPathHurts: beside 20 Mbit/s at 20 ms a path of 1 Mbit/s at 600 ms
// holds a window of 256 KB for most of a second: minRTT fills it whenever the
// fast path's window is closed. BLEST and ECF leave it idle.
func TestSlowPathHurts(t *testing.T) {
	fast := carrier{rate: 20e6, delay: 10 * link.Millisecond, queue: 50 * link.Millisecond}
	slow := carrier{rate: 1e6, delay: 300 * link.Millisecond, queue: 500 * link.Millisecond}
	alone := share(t, "minrtt", 256<<10, 20*link.Second, 1, fast)
	got := map[string]float64{}
	for _, name := range []string{"minrtt", "blest", "ecf", "arrival"} {
		got[name] = share(t, name, 256<<10, 20*link.Second, alone, fast, slow)
		t.Logf("%-10s %.3f of the fast path alone", name, got[name])
	}
	if got["minrtt"] > 0.8 {
		t.Errorf("minRTT keeps %.2f of the fast path: the slow path is to hurt it", got["minrtt"])
	}
	for _, name := range []string{"blest", "arrival"} {
		if got[name] < 0.95 {
			t.Errorf("%s keeps %.2f of the fast path, want 0.95", name, got[name])
		}
	}
}

// TestBLESTWithBBR: a law without a threshold looks as if in slow start for
// ever. Taken as such, F could always fill any window and S never sends.
func TestBLESTWithBBR(t *testing.T) {
	f := Path{SRTT: 40 * link.Millisecond, MSS: simMSS, Cwnd: 276, Ssthresh: 1<<31 - 1, Rate: 40e6, Paced: true}
	s := Path{SRTT: 500 * link.Millisecond, MSS: simMSS}
	if got := Meanwhile(&f, &s); got != 2.5e6 { // 40 Mbit/s for 500 ms
		t.Errorf("X = %.0f bytes, want 2500000", got)
	}
	f.Paced = false
	if got := Meanwhile(&f, &s); got < 1e9 { // 276 · 1448 · (2^12.5 − 1)
		t.Errorf("X by slow start = %.0f, want it past all windows", got)
	}
	geo := carrier{rate: 37e6, delay: 250 * link.Millisecond, queue: 100 * link.Millisecond, bbr: true}
	near := skt
	near.bbr = true
	all, _ := sum(geo, near)
	if got := share(t, "blest", 8<<20, 20*link.Second, all, near, geo); got < 0.85 {
		t.Errorf("BLEST over BBR on 26 and 500 ms: %.2f of the sum, want 0.85", got)
	}
}

// TestSatellite: a window of two bandwidth-delay products carries 90 % of the
// sum at 600 + 40 ms and at 700 + 700 ms.
func TestSatellite(t *testing.T) {
	geo := carrier{rate: 20e6, delay: 300 * link.Millisecond, queue: 200 * link.Millisecond, bbr: true}
	lte := carrier{rate: 30e6, delay: 20 * link.Millisecond, queue: 100 * link.Millisecond, bbr: true}
	far := carrier{rate: 25e6, delay: 350 * link.Millisecond, queue: 200 * link.Millisecond, bbr: true}
	for _, pair := range [][]carrier{{geo, lte}, {far, far}} {
		all, _ := sum(pair...)
		rtt := 2 * max(pair[0].delay, pair[1].delay)
		window := int(2 * all / 8 * (rtt + pair[0].queue).Seconds())
		got := share(t, "arrival", window, 30*link.Second, all, pair...)
		t.Logf("%v + %v: %.3f of the sum, window %d KB", 2*pair[0].delay, 2*pair[1].delay, got, window>>10)
		if got < 0.9 {
			t.Errorf("%v + %v: %.2f of the sum, want 0.9", 2*pair[0].delay, 2*pair[1].delay, got)
		}
	}
}

// TestNeverBelowBest: over random pairs of paths the own scheduler never
// carries less than 0.95 of the best path alone.
func TestNeverBelowBest(t *testing.T) {
	pairs := uint64(100)
	if testing.Short() {
		pairs = 20
	}
	for n := range pairs {
		draw := link.NewDraw(n, "pair")
		var two []carrier
		for i := range uint64(2) {
			two = append(two, carrier{
				rate:  link.Rate(1e6 + 17e6*draw.Float(3*i)),
				delay: 2*link.Millisecond + link.Duration(150e6*draw.Float(3*i+1)),
				queue: 30*link.Millisecond + link.Duration(120e6*draw.Float(3*i+2)),
			})
		}
		all, _ := sum(two...)
		loaded := max(2*two[0].delay+two[0].queue, 2*two[1].delay+two[1].queue)
		window := int(2 * all / 8 * loaded.Seconds()) // the relay's rule
		best := max(share(t, "arrival", window, 6*link.Second, 1, two[0]), share(t, "arrival", window, 6*link.Second, 1, two[1]))
		if got := share(t, "arrival", window, 6*link.Second, best, two...); got < 0.95 {
			t.Errorf("pair %d: %.3f of the best path alone (%+v)", n, got, two)
		}
	}
}

// TestThinNearPath: 2 Mbit/s at 1 ms beside 100 Mbit/s at 10 ms.
func TestThinNearPath(t *testing.T) {
	thin := carrier{rate: 2e6, delay: 500 * link.Microsecond, queue: 50 * link.Millisecond}
	wide := carrier{rate: 100e6, delay: 5 * link.Millisecond, queue: 20 * link.Millisecond}
	alone := share(t, "arrival", 2<<20, 4*link.Second, 1, wide)
	if got := share(t, "arrival", 2<<20, 4*link.Second, alone, thin, wide); got < 0.95 {
		t.Errorf("%.3f of the wide path alone, want 0.95", got)
	}
}
