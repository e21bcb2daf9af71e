// Package pcap reads capture files and writes them with what became of each
// packet.
//
// It reads classic pcap (microseconds and nanoseconds, both byte orders;
// draft-ietf-opsawg-pcap) and pcapng (sections of either byte order, several
// interfaces, every time resolution that fits 64 bits; enhanced, simple and
// obsolete packet blocks; draft-ietf-opsawg-pcapng), as a stream, in memory
// bounded by the longest packet. It writes pcapng with nanoseconds, with a
// comment, direction, number and drop count per packet.
//
//	pcapng:  SHB  IDB "a"  IDB "b"  EPB  EPB  EPB  …  ISB
//	         └ section ─ interfaces ─ packets ─ statistics
//
// Units: times in integer nanoseconds since 1970-01-01 UTC, lengths in bytes.
package pcap

import (
	"fmt"
	"math"
)

// Link types (the registry at tcpdump.org) that Ethernet understands.
const (
	LinkNull     = 0   // BSD loopback: 4-byte family, then IP
	LinkEthernet = 1   // Ethernet without FCS
	LinkRaw      = 101 // IPv4 or IPv6, nothing before it
	LinkCooked   = 113 // Linux "any" device, SLL
	LinkIPv4     = 228 // IPv4
	LinkIPv6     = 229 // IPv6
	LinkCooked2  = 276 // Linux "any" device, SLL2
)

// NoTime is the Time of a packet that has none: a simple packet block.
const NoTime = math.MinInt64

// What the reader holds at most; a file that wants more is refused. The
// packet limit is libpcap's MAXIMUM_SNAPLEN.
const (
	maxPacket     = 256 << 10
	maxBlock      = 1 << 20
	maxInterfaces = 1024
	maxName       = 256
)

// Interface is where packets of a capture were seen.
type Interface struct {
	Name        string // "a", "eth0"; may be empty; at most 256 bytes are kept
	Description string
	LinkType    uint16 // LinkEthernet and others
	SnapLen     uint32 // most bytes kept of a packet; 0 is "all"

	resolution resolution // of its time stamps in the file being read
}

// Direction says which way a packet passed its interface.
type Direction uint8

// Directions, as bits 0 and 1 of epb_flags.
const (
	Unknown Direction = iota
	Inbound
	Outbound
)

// String returns "in", "out" or "unknown".
func (d Direction) String() string {
	switch d {
	case Inbound:
		return "in"
	case Outbound:
		return "out"
	}
	return "unknown"
}

// Packet is one record of a capture.
type Packet struct {
	Interface int    // index among the interfaces of its section
	Time      int64  // ns since 1970; NoTime if the record has none
	Data      []byte // what was kept of the packet
	Length    int    // bytes it had on the wire; at least len(Data)

	Comment   string    // the first comment; "" is none
	Direction Direction // which way it passed the interface
	ID        uint64    // epb_packetid, the same wherever one packet is seen; see HasID
	HasID     bool
	Drops     uint64 // epb_dropcount: lost at this interface since the packet before
	Verdict   Verdict
}

// Verdict is epb_verdict: what the thing that saw the packet decided. It is
// written when Known.
type Verdict struct {
	Known bool
	Kind  uint8  // 0 hardware, 1 Linux eBPF at TC, 2 Linux eBPF at XDP
	Code  uint64 // TC_ACT_* or XDP_*
}

// Verdicts of XDP (linux/bpf.h) for captures of what left and what did not.
var (
	Dropped    = Verdict{Known: true, Kind: 2, Code: 1} // XDP_DROP
	Redirected = Verdict{Known: true, Kind: 2, Code: 4} // XDP_REDIRECT
)

// Error is a fault of a capture file: where it is and what it is.
type Error struct {
	Offset int64 // of the record or block at fault, in bytes from the start
	Text   string
	Cause  error // io.ErrUnexpectedEOF if the file ends too early; may be nil
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("capture: byte %d: %s: %v", e.Offset, e.Text, e.Cause)
	}
	return fmt.Sprintf("capture: byte %d: %s", e.Offset, e.Text)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }
