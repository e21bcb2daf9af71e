package link

// Packet is what the models see of a frame. It is 24 bytes, so that holding
// millions of frames costs their bytes and little more; the bytes themselves
// stay with the driver, which finds them by Ref. It has four fields, the most
// that the compiler keeps in registers: with five, stages handed packets on
// through memory, which took a quarter of a link's time.
type Packet struct {
	// When the packet came to the point where it now is: its arrival when
	// it is Put, its departure when it is delivered, the instant of its
	// loss when it is lost.
	When Time
	// Seq numbers the packets of one way of a link from 0: the index of
	// its draws.
	Seq uint64
	// Ref is the driver's handle on the frame; stages carry it untouched.
	Ref uint32
	Body
}

// Body is what the models see of a frame's bytes.
type Body struct {
	// Size in bytes: the Ethernet frame without FCS.
	Size uint16
	// Mark says what the packet is and what happened to it so far.
	Mark Mark
}

// Mark is a set of flags that travel with a packet.
type Mark uint16

const (
	// ECT: the packet declares ECN capability (RFC 3168); set by the driver.
	ECT Mark = 1 << iota
	// CE: a queue marked congestion; the driver writes it into the frame.
	CE
	// Corrupted: the driver flips a bit of the frame before it departs.
	Corrupted
	// Duplicate: this is an extra copy, not the packet itself.
	Duplicate
	// Reordered: the packet was let past its order on purpose.
	Reordered
	// MPTCP: a segment of TCP, no SYN, with an option of MPTCP (RFC 8684);
	// set by the driver where a middlebox asks for it.
	MPTCP
	// MPTCPOpening: a SYN or SYN+ACK with such an option.
	MPTCPOpening
	// Stripped: a middlebox took the option out; the driver does so before
	// the frame departs.
	Stripped
)

// MPTCPCapable: the option on the SYN or SYN+ACK is MP_CAPABLE.
const MPTCPCapable = MPTCP | MPTCPOpening

// Written are the marks that the driver writes into the frame.
const Written = CE | Corrupted | Stripped

// linkShift is where the link's index stands in a Mark.
const linkShift = 8

// Link returns the index, among the links of its pair of ports, of the link
// that carries the packet: 0..255.
func (m Mark) Link() int { return int(m >> linkShift) }

// OnLink returns m with the link's index set to i, 0..255.
func (m Mark) OnLink(i int) Mark { return m&(1<<linkShift-1) | Mark(i)<<linkShift }

// Reason says why a packet was lost.
type Reason uint8

// The reasons. None means "not lost".
const (
	None         Reason = iota
	TooBig              // larger than the MTU of the link
	Cut                 // the link was cut
	QueueFull           // droptail: no room for the arrival
	HeadDropped         // drop-head: gave way to an arrival
	EarlyDropped        // AQM: RED, CoDel, PIE
	Random              // independent or correlated loss on the air
	BitError            // at least one bit error in the frame
	Pattern             // an explicit loss pattern named it
	Outage              // no MODCOD/CQI fits; the carrier is down
	Collision           // contention on a shared channel
	RetryLimit          // HARQ or ARQ gave up
	Handover            // lost in a handover or reconfiguration
	TimedOut            // a discard timer expired (PDCP)
	NoStation           // the station is not logged on
	Middlebox           // a box on the way did not let it pass
	reasonEnd
)

var reasonNames = [reasonEnd]string{"none", "too_big", "cut", "queue_full",
	"head_dropped", "early_dropped", "random", "bit_error", "pattern",
	"outage", "collision", "retry_limit", "handover", "timed_out", "no_station", "middlebox"}

// Reasons is how many reasons there are, None included: the size of a table
// indexed by Reason.
const Reasons = int(reasonEnd)

// String returns the reason's name as it stands in metrics and captures.
func (r Reason) String() string {
	if r < reasonEnd {
		return reasonNames[r]
	}
	return "unknown"
}

// Cause says where and why a packet was lost.
type Cause struct {
	Reason Reason
	// Stage is the place of the losing stage in its chain; the chain fills
	// it in.
	Stage uint8
}

// Fate is the end of a packet: delivered at Packet.When, or lost then for a
// cause. It is the one record that counters, captures, golden tests and the
// panel share.
type Fate struct {
	Packet Packet
	Cause  Cause
}

// Lost reports whether the packet did not get through.
func (f Fate) Lost() bool { return f.Cause.Reason != None }
