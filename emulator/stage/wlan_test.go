package stage

import (
	"math"
	"slices"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

func wlan(c WLANConfig) WLANConfig {
	if c.Rate == 0 {
		c.Rate = 4 * mbit
	}
	if c.Limit == (Limit{}) {
		c.Limit = Limit{Packets: 60}
	}
	return c
}

// TestWLANReception has the sheet's table for shadowing: margin of the mean
// power over the threshold, probability of reception, of a whole exchange,
// and of all tries failing. WL-1 to WL-4.
func TestWLANReception(t *testing.T) {
	for _, c := range []struct {
		config                           WLANConfig
		margin, received, exchange, lost float64
		tries                            float64
	}{
		{WLANConfig{Distance: 50}, 11.342, 0.997712, 0.99543, 4.2e-17, 1.0046},
		{WLANConfig{Distance: 75}, 6.587, 0.950204, 0.90289, 8.1e-8, 1.1076},
		{WLANConfig{Distance: 100}, 3.214, 0.789157, 0.62277, 1.09e-3, 1.604},
		{WLANConfig{Distance: 150}, -1.540, 0.350075, 0.12255, 0.400, 4.892},
		{WLANConfig{Distance: 50, RTS: true}, 11.342, 0.997712, 0.99088, 6.9e-9, 1.0092},
		{WLANConfig{Distance: 75, RTS: true}, 6.587, 0.950204, 0.81521, 1.17e-3, 1.2252},
		{WLANConfig{Distance: 100, RTS: true}, 3.214, 0.789157, 0.38784, 0.140, 2.216},
		{WLANConfig{Distance: 150, RTS: true}, -1.540, 0.350075, 0.01502, 0.941, 3.911},
		{WLANConfig{Distance: 250, Exponent: 2}, 9.26, 0.9897, 0.97951, 1.5e-12, 1.0209},
	} {
		w := wlan(c.config)
		for _, f := range []struct {
			what      string
			got, want float64
			within    float64
		}{
			{"margin", w.Margin(), c.margin, 0.005},
			{"received", w.Received(), c.received, 1e-4},
			{"exchange", w.exchange(), c.exchange, 1e-4},
			{"tries", w.MeanTries(), c.tries, 0.002},
			{"lost", math.Pow(1-w.exchange(), float64(w.complete().Tries)), c.lost, 0.02*c.lost + 1e-11},
		} {
			if math.Abs(f.got-f.want) > f.within {
				t.Errorf("%g m, exponent %g: %s %.6g, want %.6g", c.config.Distance, w.complete().Exponent, f.what, f.got, f.want)
			}
		}
	}
}

// Section 4 of the reference sheet: the distances at which 99, 95, 90 and 50 %
// of the frames are received.
func TestWLANDistances(t *testing.T) {
	for metres, want := range map[float64]float64{59.5: 0.99, 75.05: 0.95, 84.95: 0.90, 131.5: 0.50} {
		if got := wlan(WLANConfig{Distance: metres}).Received(); math.Abs(got-want) > 1e-3 {
			t.Errorf("%v m: received %.4f, want %.2f", metres, got, want)
		}
	}
}

// TestWLANTries: at 100 m packets take 1.604 tries of 2 ms (1000 B at
// 4 Mbit/s) and 1.09 in 1000 are given up, each at the end of its seventh.
func TestWLANTries(t *testing.T) {
	const n = 200_000
	w := NewWLAN(wlan(WLANConfig{Distance: 100}), draw("w"))
	log := linktest.Through(w, linktest.Paced(n, 1000, 0, 100*link.Millisecond))
	sum := 0.0
	for _, f := range log.Fates {
		took := f.Packet.When - link.Time(f.Packet.Seq)*100*ms
		if took%(2*ms) != 0 || took < 2*ms || took > 14*ms || f.Lost() && took != 14*ms {
			t.Fatalf("packet %d took %d ns, lost %v", f.Packet.Seq, took, f.Lost())
		}
		sum += float64(took / (2 * ms))
	}
	if got := sum / n; math.Abs(got-1.604) > 0.01 {
		t.Errorf("%.4f tries, want 1.604", got)
	}
	want := 1.09e-3
	if got := float64(log.Lost(link.RetryLimit)) / n; math.Abs(got-want) > 4*math.Sqrt(want/n) {
		t.Errorf("%.5f given up, want %.5f", got, want)
	}
}

// TestWLANBuffer: WL-5. A queue of 30, 60 or 90 packets of 1000 B at 4 Mbit/s
// and 50 m, full, keeps the last one waiting for 60, 120 or 180 ms, and a
// twentieth of a percent more for what is tried again; 50,000 B for 100 ms.
func TestWLANBuffer(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		want  float64
	}{{Limit{Packets: 30}, 60}, {Limit{Packets: 60}, 120}, {Limit{Packets: 90}, 180}, {Limit{Bytes: 50_000}, 100}} {
		w := NewWLAN(wlan(WLANConfig{Distance: 20, QueueConfig: QueueConfig{Limit: c.limit}}), draw("w"))
		var log linktest.Log
		for _, p := range linktest.Burst(200, 1000, 0) {
			w.Put(p, &log)
		}
		w.Run(1000*ms, &log)
		last := log.Delivered()[len(log.Delivered())-1]
		if wait := (last.When - 2*ms); float64(wait)/1e6 != c.want {
			t.Errorf("%v: the last waited %v ns, want %v ms", c.limit, wait, c.want)
		}
	}
}

// TestWLANPHY: as the rate on the air, 4 Mbit/s carry 1000 B of UDP in
// 3002 us: 50 + 310 + 192 + 2136 (1068 B) + 10 + 304; with RTS and CTS 676 us
// more. The frame is 1054 B here, 1000 + 40 + 14.
func TestWLANPHY(t *testing.T) {
	for _, c := range []struct {
		rts  bool
		want link.Time
	}{{false, 3_002_000}, {true, 3_678_000}} {
		w := NewWLAN(wlan(WLANConfig{Distance: 5, PHY: true, RTS: c.rts}), draw("w"))
		if got := linktest.Through(w, linktest.Burst(1, 1054, 0)).Whens(); !slices.Equal(got, []link.Time{c.want}) {
			t.Errorf("RTS %v: took %v ns, want %d", c.rts, got, c.want)
		}
	}
}
