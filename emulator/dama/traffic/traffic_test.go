package traffic

import (
	"cmp"
	"math"
	"testing"

	"farlink/emulator/link"
)

const superframe = 26500 * link.Microsecond

// whole is m with the defaults of a profile.
func (m Model) whole() Model {
	m.On, m.Off, m.Shape = cmp.Or(m.On, link.Second), cmp.Or(m.Off, link.Second), cmp.Or(m.Shape, 1.4)
	m.Packet, m.Step = 576, cmp.Or(m.Step, link.Second)
	return m
}

// Each model brings its mean rate over a long run: packets of 576 bytes cost
// 580 with RLE in a burst of 599, so 57.6 kbit/s of IP are 58 kbit/s of
// payload, 192.1 bytes in 26.5 ms.
func TestTrafficMeans(t *testing.T) {
	d := link.NewDraw(11, "traffic")
	for _, v := range []struct {
		b         Model
		share     float64 // of the rate
		tolerance float64
	}{
		{Model{Kind: "cbr", Rate: 57_600}, 1, 1e-4},
		{Model{Kind: "poisson", Rate: 57_600}, 1, 0.02},
		{Model{Kind: "on_off", Rate: 57_600, On: 2 * link.Second, Off: 6 * link.Second}, 0.25, 0.1},
		{Model{Kind: "self_similar", Rate: 57_600, On: link.Second, Off: 3 * link.Second, Shape: 1.9}, 0.25, 0.1},
		{Model{Kind: "replay", Replay: []link.Rate{57_600, 0}, Step: 10 * superframe}, 0.5, 1e-4},
	} {
		b := v.b.whole()
		var sum int64
		terminals, length := 20, uint64(20000)
		for id := range terminals {
			s := New(b, superframe, 580)
			for n := range length {
				sum += s.Arrive(d, uint64(id)<<44^n, n)
			}
		}
		got := float64(sum) / float64(terminals) / float64(length)
		if want := 192.125 * v.share; math.Abs(got-want) > v.tolerance*want {
			t.Errorf("%s: %.3f bytes a superframe, want %.3f ± %v", b.Kind, got, want, v.tolerance)
		}
	}
}

// variance of sums over blocks of m superframes, by their mean squared.
func burstiness(t *testing.T, b Model, m int) float64 {
	b = b.whole()
	d := link.NewDraw(4, "traffic")
	var sources []Source
	for range 30 {
		sources = append(sources, New(b, superframe, 580))
	}
	var sum, squares float64
	blocks := 40000 / m
	for k := range blocks {
		total := 0.0
		for n := k * m; n < (k+1)*m; n++ {
			for id := range sources {
				total += float64(sources[id].Arrive(d, uint64(id)<<44^uint64(n), uint64(n)))
			}
		}
		sum += total
		squares += total * total
	}
	mean := sum / float64(blocks)
	return squares/float64(blocks)/mean/mean - 1
}

// Self-similar traffic stays bursty where Poisson traffic has become smooth:
// over 100 times longer blocks the variance of the one falls far slower than
// by 100 (H = 0.8: by 100^0.4 = 6.3), that of the other by just that.
func TestSelfSimilar(t *testing.T) {
	self := Model{Kind: "self_similar", Rate: 57_600, On: 200 * link.Millisecond, Off: 200 * link.Millisecond, Shape: 1.4}
	smooth := Model{Kind: "poisson", Rate: 57_600}
	if fall := burstiness(t, self, 4) / burstiness(t, self, 400); fall > 30 {
		t.Errorf("self-similar: variance falls by %.1f, want about 6", fall)
	}
	if fall := burstiness(t, smooth, 4) / burstiness(t, smooth, 400); fall < 60 || fall > 160 {
		t.Errorf("poisson: variance falls by %.1f, want about 100", fall)
	}
}

// Poisson quantiles: mean 2 has P(0) = 0.1353, P(≤1) = 0.4060, P(≤2) = 0.6767.
func TestPoisson(t *testing.T) {
	for _, v := range []struct {
		u, mean float64
		want    int
	}{{0.13, 2, 0}, {0.14, 2, 1}, {0.41, 2, 2}, {0.67, 2, 2}, {0.68, 2, 3}, {0.5, 0, 0}, {0.5, 100, 100}, {0.8413447, 100, 110}, {0, 100, 30}} {
		if got := Poisson(v.u, v.mean); got != v.want {
			t.Errorf("poisson(%v, %v) = %d, want %d", v.u, v.mean, got, v.want)
		}
	}
}
