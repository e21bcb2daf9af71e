package load

import (
	"math"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/sim"
)

// TestTransferFills: over 10 Mbit/s and 100 ms with a buffer of one
// bandwidth-delay product (83 frames), Reno keeps the link busy: halving two
// products leaves one in flight.
func TestTransferFills(t *testing.T) {
	e := newLink(
		way{rate: 10 * link.MegabitPerSecond, limit: 84, delay: 50 * link.Millisecond},
		way{rate: 10 * link.MegabitPerSecond, limit: 84, delay: 50 * link.Millisecond})
	tr := &Transfer{Name: "tcp", Way: link.Down}
	r := run(t, sim.Config{Emulator: e, Senders: []sim.Sender{tr}, From: link.Time(20 * link.Second), Until: link.Time(80 * link.Second), Series: true})
	if r.Down.Rate < 9.8e6 || r.Down.Rate > 10e6 {
		t.Errorf("rate %v, want 9.8..10 Mbit/s", r.Down.Rate)
	}
	if tr.timeouts != 0 || tr.lost == 0 || tr.lost != r.Down.Lost {
		t.Errorf("%d timeouts, %d taken for lost, %d lost by the link", tr.timeouts, tr.lost, r.Down.Lost)
	}
	if c := r.Series.Column("tcp.cwnd_packets"); c == nil || len(c.Values) != 800 {
		t.Error("no series of the window")
	}
}

// TestTransferLoss: with independent loss p, no queue and RTT of 100 ms, the
// rate is near the square-root law of Mathis et al. (1997), whose constant for
// random losses and an acknowledgement a packet is 1.31:
// 1.31/sqrt(0.01)/0.1 s = 131 frames/s of 12,112 bit = 1.587 Mbit/s.
func TestTransferLoss(t *testing.T) {
	e := newLink(
		way{lose: 0.01, seed: 5, delay: 50 * link.Millisecond},
		way{delay: 50 * link.Millisecond})
	r := run(t, sim.Config{Emulator: e, Senders: []sim.Sender{&Transfer{Name: "tcp", Way: link.Down}},
		From: link.Time(20 * link.Second), Until: link.Time(620 * link.Second)})
	if math.Abs(r.Down.Rate/1.587e6-1) > 0.1 {
		t.Errorf("rate %.0f bit/s, want 1.587 Mbit/s within 10 %%", r.Down.Rate)
	}
}

// TestTransferDone: slow start doubles each round: 10, 20, 40, 80 frames are
// sent in rounds beginning at 0, 100, 200, 300 ms; frame 150 is acknowledged
// at 400 ms over a link without a rate.
func TestTransferDone(t *testing.T) {
	e := newLink(way{delay: 50 * link.Millisecond}, way{delay: 50 * link.Millisecond})
	tr := &Transfer{Name: "tcp", Way: link.Up, Bytes: 150 * transferFrame, Start: link.Time(link.Second)}
	r := run(t, sim.Config{Emulator: e, Senders: []sim.Sender{tr}, Until: link.Time(5 * link.Second)})
	if tr.Done != link.Time(1400*link.Millisecond) || r.Up.Delivered != 150 || r.Down.Delivered != 150 {
		t.Errorf("done at %d, %d segments, %d acknowledgements", tr.Done, r.Up.Delivered, r.Down.Delivered)
	}
}

// TestTransferTimeout: a link that takes all for 10 s and nothing after that
// makes the sender back off: timeouts at doubling distances from 1 s.
func TestTransferTimeout(t *testing.T) {
	e := newLink(way{lose: 1, seed: 1}, way{})
	tr := &Transfer{Name: "tcp", Way: link.Down}
	r := run(t, sim.Config{Emulator: e, Senders: []sim.Sender{tr}, Until: link.Time(20 * link.Second)})
	// Lost at 0; timeouts at 1, 3, 7, 15 s: ten frames, then one each.
	if tr.timeouts != 4 || r.Down.Lost != 14 {
		t.Errorf("%d timeouts, %d frames, want 4 and 14", tr.timeouts, r.Down.Lost)
	}
}

// TestTransferAcks: half of all acknowledgements lost hardly matter.
func TestTransferAcks(t *testing.T) {
	e := newLink(way{delay: 50 * link.Millisecond},
		way{lose: 0.5, seed: 3, delay: 50 * link.Millisecond})
	tr := &Transfer{Name: "tcp", Way: link.Down, Bytes: 2000 * transferFrame}
	r := run(t, sim.Config{Emulator: e, Senders: []sim.Sender{tr}, Until: link.Time(60 * link.Second)})
	if tr.Done == 0 || tr.lost > 20 || r.Down.Delivered < 2000 {
		t.Errorf("done %d, %d taken for lost of %d", tr.Done, tr.lost, r.Down.Delivered)
	}
}

func TestReceiver(t *testing.T) {
	var r receiver
	for _, n := range []uint64{0, 1, 3, 2, 10} {
		r.take(n)
	}
	// Below 10: 9..4 missing (bits 0..5), 3, 2, 1, 0 there (bits 6..9).
	if r.highest != 10 || r.below != 0b1111000000 {
		t.Errorf("highest %d, below %b", r.highest, r.below)
	}
	r.take(200)
	if r.highest != 200 || r.below != 0 {
		t.Errorf("after a jump: %d, %b", r.highest, r.below)
	}
}
