package queue

import (
	"fmt"
	"strconv"
	"strings"

	"farlink/emulator/link"
)

// Limit is how much may wait in a queue, besides the packet in service: a
// number of bytes ("500kB"), of packets ("60packets") or a time at the rate
// of the queue ("100ms"). The zero Limit is "not set".
type Limit struct {
	Bytes   link.Size
	Packets int
	Time    link.Duration
}

// ParseLimit reads "500kB", "60packets" or "100ms".
func ParseLimit(text string) (Limit, error) {
	if number, ok := strings.CutSuffix(text, "packets"); ok {
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil || n < 1 {
			return Limit{}, fmt.Errorf(`limit %q: want a positive whole number before "packets"`, text)
		}
		return Limit{Packets: n}, nil
	}
	if b, err := link.ParseSize(text); err == nil && b > 0 {
		return Limit{Bytes: b}, nil
	}
	if d, err := link.ParseDuration(text); err == nil && d > 0 {
		return Limit{Time: d}, nil
	}
	return Limit{}, fmt.Errorf(`limit %q: want bytes "500kB", packets "60packets" or time "100ms"`, text)
}

func (l Limit) String() string {
	switch {
	case l.Packets > 0:
		return strconv.Itoa(l.Packets) + "packets"
	case l.Time > 0:
		return l.Time.String()
	}
	return l.Bytes.String()
}

// MarshalText writes the limit as ParseLimit reads it; nothing when not set.
func (l Limit) MarshalText() ([]byte, error) {
	if l == (Limit{}) {
		return nil, nil
	}
	return []byte(l.String()), nil
}

// UnmarshalText reads the limit as ParseLimit does.
func (l *Limit) UnmarshalText(b []byte) (err error) { *l, err = ParseLimit(string(b)); return }

// Holds returns how many bytes l lets wait at rate r, packets taken as full
// frames of 1514 bytes.
func (l Limit) Holds(r link.Rate) link.Size {
	switch {
	case l.Packets > 0:
		return link.Size(l.Packets) * fullFrame
	case l.Time > 0:
		return r.Bytes(l.Time)
	}
	return l.Bytes
}

// fullFrame is an Ethernet frame of 1500 bytes of payload, without FCS.
const fullFrame = 1514
