package load

import (
	"farlink/emulator/link"
	"farlink/emulator/sim"
)

// Transfer is a bulk transfer over a small window-based sender, for sanity
// bounds of what TCP makes of a link: slow start and Reno's congestion
// avoidance (RFC 5681) with the loss detection of QUIC (RFC 9002): each
// transmission has a number of its own, a packet is lost once three later
// ones have been acknowledged, a timeout sends the window back to one.
//
// Every segment is acknowledged at once, with what was received of the 64
// before it, so that a lost acknowledgement does little. There is no
// handshake, no receive window, and segments are all of one size.
type Transfer struct {
	Name  string
	Way   link.Way
	Bytes int64 // of frames to be delivered; 0 is "without end"
	Start link.Time

	// Done is when all was acknowledged; 0 is "not yet".
	Done link.Time

	begun     bool
	cwnd      float64 // frames
	threshold float64
	next      uint64        // number of the next transmission
	window    []outstanding // transmissions not yet decided; [0] is number first
	first     uint64
	flight    int
	acked     int64 // frames
	lost      int64
	timeouts  int64
	recovery  uint64 // losses below it belong to the cut that was made
	smoothed  link.Duration
	variation link.Duration
	backoff   uint
	lastAck   link.Time
	received  receiver
}

// outstanding is a transmission on its way.
type outstanding struct{ decided bool }

// receiver is what the far side has seen: the highest number and, as bits,
// the 64 below it.
type receiver struct {
	highest uint64
	below   uint64
	any     bool
}

// The sender's constants.
const (
	transferFrame = 1514
	ackFrame      = 66 // Ethernet, IPv4, TCP with time stamps
	firstWindow   = 10 // RFC 6928
	reordering    = 3  // RFC 9002, kPacketThreshold
	leastTimeout  = link.Second
	leastWindow   = 2
)

// Kinds of a Transfer's packets.
const (
	segment = iota
	acknowledgement
)

// Flow names the sender.
func (t *Transfer) Flow() sim.Flow {
	return sim.Flow{Name: t.Name, TCP: true, DevicePort: 40006, NetworkPort: 5206}
}

// Wake begins the transfer, or takes a timeout.
func (t *Transfer) Wake(n *sim.Net) {
	switch {
	case !t.begun && n.Now < t.Start:
		n.At(t.Start)
		return
	case !t.begun:
		t.begun, t.cwnd, t.threshold, t.lastAck = true, firstWindow, 1<<30, n.Now
	case t.flight > 0 && n.Now >= t.deadline():
		t.timeout(n.Now)
	}
	t.fill(n)
}

// deadline is when the sender gives up waiting for an acknowledgement.
func (t *Transfer) deadline() link.Time {
	wait := leastTimeout
	if t.smoothed > 0 {
		wait = max(wait, t.smoothed+4*t.variation)
	}
	return t.lastAck.Add(wait << min(t.backoff, 6))
}

// timeout takes all that is outstanding for lost (RFC 5681, clause 3.1).
func (t *Transfer) timeout(now link.Time) {
	t.timeouts++
	t.backoff++
	t.threshold = max(t.cwnd/2, leastWindow)
	t.cwnd = 1
	for i := range t.window {
		if !t.window[i].decided {
			t.window[i].decided = true
			t.lost++
			t.flight--
		}
	}
	t.recovery, t.lastAck = t.next, now
	t.forget()
}

// fill sends what the window allows.
func (t *Transfer) fill(n *sim.Net) {
	for float64(t.flight)+1 <= t.cwnd && t.left() > 0 {
		if t.flight == 0 {
			t.lastAck = n.Now // nothing was waited for
		}
		t.window = append(t.window, outstanding{})
		t.flight++
		t.next++
		n.Send(t.Way, transferFrame, sim.Note{Kind: segment, Number: t.next - 1, Echo: n.Now})
	}
	if t.flight > 0 {
		n.At(t.deadline())
	} else {
		n.At(link.Never)
	}
}

// left is how many frames are neither acknowledged nor on their way.
func (t *Transfer) left() int64 {
	if t.Bytes == 0 {
		return 1
	}
	return (t.Bytes+transferFrame-1)/transferFrame - t.acked - int64(t.flight)
}

// Met acknowledges a segment at the far side, and takes an acknowledgement
// at the near one.
func (t *Transfer) Met(n *sim.Net, s sim.Sent, f link.Fate) {
	switch {
	case f.Lost() || f.Packet.Mark&(link.Corrupted|link.Duplicate) != 0:
	case s.Note.Kind == segment:
		t.received.take(s.Note.Number)
		n.Send(s.Way.Other(), ackFrame, sim.Note{Kind: acknowledgement, Number: t.received.highest, Bits: t.received.below, Echo: s.Note.Echo})
	default:
		t.acknowledge(n, s.Note)
	}
}

// take notes the arrival of a number.
func (r *receiver) take(number uint64) {
	switch {
	case !r.any:
		r.any, r.highest = true, number
	case number > r.highest:
		step := number - r.highest
		r.below = r.below<<step | 1<<(step-1) // shifts of 64 and more give 0
		r.highest = number
	case number < r.highest && r.highest-number <= 64:
		r.below |= 1 << (r.highest - number - 1)
	}
}

// acknowledge takes an acknowledgement: what it says arrived, and what must
// therefore be lost.
func (t *Transfer) acknowledge(n *sim.Net, a sim.Note) {
	t.measure(n, n.Now.Sub(a.Echo))
	fresh := t.arrived(a.Number)
	for i := range uint64(64) {
		if a.Bits>>i&1 == 1 && a.Number > i {
			fresh += t.arrived(a.Number - i - 1)
		}
	}
	if fresh > 0 {
		t.lastAck, t.backoff = n.Now, 0
		t.grow(fresh)
	}
	t.detect(a.Number)
	t.forget()
	if t.Bytes > 0 && t.flight == 0 && t.left() <= 0 && t.Done == 0 {
		t.Done = n.Now
	}
	t.fill(n)
}

// arrived notes that a transmission arrived; it returns 1 if that is news.
func (t *Transfer) arrived(number uint64) int {
	if number < t.first || number >= t.next || t.window[number-t.first].decided {
		return 0
	}
	t.window[number-t.first].decided = true
	t.flight--
	t.acked++
	return 1
}

// grow opens the window: a frame a frame in slow start, a frame a window
// after (RFC 5681, clause 3.1).
func (t *Transfer) grow(fresh int) {
	if t.cwnd < t.threshold {
		t.cwnd += float64(fresh)
	} else {
		t.cwnd += float64(fresh) / t.cwnd
	}
}

// detect takes for lost what three later ones have overtaken, and halves the
// window once for all that was sent before the cut.
func (t *Transfer) detect(highest uint64) {
	for number := t.first; number+reordering <= highest && number < t.next; number++ {
		if t.window[number-t.first].decided {
			continue
		}
		t.window[number-t.first].decided = true
		t.flight--
		t.lost++
		if number >= t.recovery {
			t.threshold = max(t.cwnd/2, leastWindow)
			t.cwnd, t.recovery = t.threshold, t.next
		}
	}
}

// forget drops what is decided at the window's beginning.
func (t *Transfer) forget() {
	k := 0
	for k < len(t.window) && t.window[k].decided {
		k++
	}
	t.first += uint64(k)
	t.window = t.window[k:]
}

// measure follows the round trip (RFC 6298, clause 2).
func (t *Transfer) measure(n *sim.Net, rtt link.Duration) {
	n.RTT(rtt)
	if t.smoothed == 0 {
		t.smoothed, t.variation = rtt, rtt/2
		return
	}
	off := rtt - t.smoothed
	t.variation += (max(off, -off) - t.variation) / 4
	t.smoothed += off / 8
}

// Probes yields the window, the round trip and what was lost.
func (t *Transfer) Probes(_ link.Time, yield func(link.Probe)) {
	yield(link.Probe{Name: "cwnd_packets", Value: t.cwnd})
	yield(link.Probe{Name: "flight_packets", Value: float64(t.flight)})
	yield(link.Probe{Name: "srtt_ms", Value: t.smoothed.Milliseconds()})
	yield(link.Probe{Name: "lost_packets", Value: float64(t.lost)})
	yield(link.Probe{Name: "timeouts", Value: float64(t.timeouts)})
}
