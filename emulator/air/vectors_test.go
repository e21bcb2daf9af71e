package air

import (
	"math"
	"testing"

	"farlink/emulator/link"
)

// Section 5.1 of the reference sheet whole: the probability that a frame of 40,
// 52, 576, 1000, 1500 and 1514 bytes is hit at a bit error rate.
func TestBitErrorTable(t *testing.T) {
	sizes := [6]uint16{40, 52, 576, 1000, 1500, 1514}
	for _, row := range []struct {
		ber  float64
		lost [6]float64
	}{
		{1e-10, [6]float64{3.2000e-08, 4.1600e-08, 4.6080e-07, 8.0000e-07, 1.2000e-06, 1.2112e-06}},
		{1e-9, [6]float64{3.2000e-07, 4.1600e-07, 4.6080e-06, 8.0000e-06, 1.2000e-05, 1.2112e-05}},
		{1e-8, [6]float64{3.2000e-06, 4.1600e-06, 4.6079e-05, 7.9997e-05, 1.1999e-04, 1.2111e-04}},
		{1e-7, [6]float64{3.1999e-05, 4.1599e-05, 4.6069e-04, 7.9968e-04, 1.1993e-03, 1.2105e-03}},
		{1e-6, [6]float64{3.1995e-04, 4.1591e-04, 4.5974e-03, 7.9681e-03, 1.1928e-02, 1.2039e-02}},
		{1e-5, [6]float64{3.1949e-03, 4.1514e-03, 4.5035e-02, 7.6884e-02, 1.1308e-01, 1.1407e-01}},
		{1e-4, [6]float64{3.1495e-02, 4.0749e-02, 3.6924e-01, 5.5069e-01, 6.9882e-01, 7.0218e-01}},
		// The inverse: rates at which a frame of 1500 bytes is lost in 0.1,
		// 1, 2, 5 and 10 % of the cases; NaN is not in the sheet.
		{8.337e-8, only(1e-3)}, {8.375e-7, only(1e-2)}, {1.684e-6, only(2e-2)}, {4.274e-6, only(5e-2)}, {8.780e-6, only(1e-1)},
	} {
		within := 1e-4
		if math.IsNaN(row.lost[0]) { // the rate has four digits
			within = 3e-4
		}
		for i, size := range sizes {
			b := newBitErrors(row.ber, 0, draw("b"))
			b.loses(link.Packet{Body: link.Body{Size: size}})
			if want := row.lost[i]; math.Abs(b.lost/want-1) > within { // false for NaN
				t.Errorf("BER %g, %d B: %.5g, want %.5g", row.ber, size, b.lost, want)
			}
		}
	}
}

// only is a row of the inverse: a frame of 1500 bytes.
func only(lost float64) [6]float64 {
	n := math.NaN()
	return [6]float64{n, n, n, n, lost, n}
}

// LMS-1: SNS3's matrix, a step a packet, is 92.93 % of the time in the good
// state, for 31.65 steps, and 7.07 % in the bad one, for 2.407.
func TestLandMobileMatrix(t *testing.T) {
	const n = 2_000_000
	c := GilbertConfig{P: .0316, R: .4155}
	lost := lostOf(LossConfig{Gilbert: &c}, 1, n)
	turns := 0
	for i := 1; i < n; i++ {
		if lost[i] && !lost[i-1] {
			turns++
		}
	}
	bad := share(lost)
	for _, v := range []struct {
		what             string
		got, want, wider float64
	}{{"bad", bad, .0707, .01}, {"steps bad", bad * n / float64(turns), 2.407, .01}, {"steps good", (1 - bad) * n / float64(turns), 31.65, .01}} {
		if math.Abs(v.got/v.want-1) > v.wider {
			t.Errorf("%s %.4f, want %.4f", v.what, v.got, v.want)
		}
	}
}

// LMS-2 and LMS-3: lengths of the two states over speed are a channel that is
// out 24.37 % of the time for 1.044 s on a highway at 100 km/h, and 88.6 % for
// 5.04 s in a city at 50 km/h.
func TestLandMobileInTime(t *testing.T) {
	for _, v := range []struct {
		good, bad, kmh        float64 // lengths in m
		outage, seconds, fine float64
	}{{90, 29, 100, .2437, 1.044, 3.24}, {9, 70, 50, .886, 5.04, .648}} {
		metres := v.kmh / 3.6
		c := GilbertTimeConfig{Bad: link.Duration(v.bad / metres * 1e9), Good: link.Duration(v.good / metres * 1e9)}
		if math.Abs(c.Bad.Seconds()-v.seconds) > .005 || math.Abs(c.Good.Seconds()-v.fine) > .005 {
			t.Errorf("%v: bad for %v, good for %v, want %v and %v s", v, c.Bad, c.Good, v.seconds, v.fine)
		}
		l := NewLoss(LossConfig{GilbertTime: &c}, draw("lms"))
		const n, step = 4_000_000, 10 * link.Millisecond
		out, turns, was := 0.0, 0.0, false
		var s counter
		for i := range int64(n) {
			before := s.lost
			l.Put(link.Packet{Seq: uint64(i), When: link.Time(i * int64(step)), Body: link.Body{Size: 100}}, &s)
			is := s.lost > before
			if is {
				out++
			}
			if is && !was {
				turns++
			}
			was = is
		}
		if got := out / n; math.Abs(got/v.outage-1) > .03 {
			t.Errorf("%v: out %.4f of the time, want %.4f", v, got, v.outage)
		}
		// Outages shorter than a step are not seen: the mean of those seen is
		// that of an exponential law beyond it, to first order a step more.
		if got := out / turns * step.Seconds(); math.Abs(got/v.seconds-1) > .04 {
			t.Errorf("%v: outages of %.3f s, want %.3f", v, got, v.seconds)
		}
	}
}

// counter counts losses.
type counter struct{ lost int }

func (c *counter) Deliver(link.Packet)          {}
func (c *counter) Lose(link.Packet, link.Cause) { c.lost++ }
func (c *counter) Copy(link.Packet)             {}
