package cwnd

import (
	"math"

	"farlink/emulator/link"
)

// XLayer sets the window from the capacity that the link itself has granted:
// one bandwidth-delay product, whatever was lost. Loss changes nothing: the
// link layer has told the truth about capacity already.
type XLayer struct {
	// Gain is how much more than the product is kept in flight, so that
	// delayed acknowledgements do not stall the pacer. 0 is 1.25.
	Gain float64
	// Floor is the least window in packets; 0 is 10.
	Floor float64
	// Overhead is the bytes a frame has beyond the TCP payload; 0 is 66
	// (Ethernet 14, IPv4 20, TCP with timestamps 32).
	Overhead int
}

// Share is what one of n active flows may use of the granted rate, as TCP
// payload: the wire carries Overhead bytes for every mss bytes of it.
func (x XLayer) Share(granted link.Rate, active, mss int) link.Rate {
	overhead := x.Overhead
	if overhead == 0 {
		overhead = 66
	}
	payload := float64(granted) * float64(mss) / float64(mss+overhead)
	return link.Rate(payload / float64(max(active, 1)))
}

// Window returns the window in packets and the pacing rate (payload) for a
// share of the capacity at the least round-trip time.
func (x XLayer) Window(share link.Rate, rtt link.Duration, mss int) (packets float64, pacing link.Rate) {
	gain, floor := x.Gain, x.Floor
	if gain == 0 {
		gain = 1.25
	}
	if floor == 0 {
		floor = 10
	}
	product := float64(share) / 8 * rtt.Seconds() / float64(mss)
	return math.Max(math.Ceil(product*gain), floor), share
}

// Level corrects a share of the pacing rate by what waits before the link,
// so that the queue stays at a level: at the level the rate is the share, one
// span below twice as much, one above nothing but a sixteenth. The grant is
// then used in full whatever the overhead. A packet that was paced cannot be
// sent sooner, so no pause may be longer than the queue takes to come down to
// the level and give off a frame more: else a few frames too many on a slow
// link would leave it without any.
func (XLayer) Level(share link.Rate, queue, level, span, frame link.Size) link.Rate {
	factor := 1 + (float64(level)-float64(queue))/float64(span)
	least := 1.0 / 16
	if queue > level {
		least = math.Max(least, float64(frame)/float64(frame+queue-level))
	}
	return link.Rate(float64(share) * math.Max(least, math.Min(2, factor)))
}
