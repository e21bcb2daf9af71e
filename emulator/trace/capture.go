package trace

import (
	"errors"
	"io"

	"farlink/emulator/link"
	"farlink/emulator/pcap"
	"farlink/emulator/stage"
)

// Capture reads a capture of packets that left a saturated link as the
// opportunities that it had: whenever 1500 bytes of IP have come together
// there was one. It fits only where the link never waited for packets.
// Packets go by their time stamps, which must not decrease; only those of the
// interface named are read, all if it is "".
func Capture(f File, interfaceName string) (Way, error) {
	r, err := pcap.NewReader(f)
	if err != nil {
		return Way{}, &Error{File: f.Name, Text: err.Error()}
	}
	c := captured{file: f.Name}
	for n := 0; ; n++ {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Way{}, &Error{File: f.Name, Text: err.Error()}
		}
		face := r.Interfaces()[p.Interface]
		if interfaceName != "" && face.Name != interfaceName {
			continue
		}
		if err := c.take(n, p, face.LinkType); err != nil {
			return Way{}, err
		}
	}
	return c.finish()
}

// captured is a capture being turned into opportunities.
type captured struct {
	file   string
	begin  int64 // ns
	last   int64 // ms
	credit int
	seen   bool
	times  []int64
}

func (c *captured) take(n int, p pcap.Packet, linkType uint16) error {
	if p.Time == pcap.NoTime {
		return c.fault("packet %d has no time stamp", n)
	}
	if !c.seen {
		c.seen, c.begin = true, p.Time
	}
	at := p.Time - c.begin
	if at < 0 || at/1e6 < c.last {
		return c.fault("packet %d is stamped before the one before it: not monotonic", n)
	}
	if at > maxSeconds*1e9 {
		return c.fault("packet %d comes more than a year after the first", n)
	}
	c.last = at / 1e6
	c.credit += ipLength(p.Length, linkType)
	for c.credit >= mahimahiSize {
		if len(c.times) == Most {
			return c.fault("more than %d opportunities", Most)
		}
		c.times = append(c.times, c.last)
		c.credit -= mahimahiSize
	}
	return nil
}

func (c *captured) fault(format string, args ...any) error {
	return (&lines{file: c.file}).whole(format, args...)
}

// ipLength is how many bytes of a packet are IP.
func ipLength(length int, linkType uint16) int {
	header := 0
	switch linkType {
	case pcap.LinkEthernet:
		header = 14
	case pcap.LinkCooked:
		header = 16
	case pcap.LinkCooked2:
		header = 20
	case pcap.LinkNull:
		header = 4
	}
	return max(length-header, 0)
}

func (c *captured) finish() (Way, error) {
	switch {
	case len(c.times) == 0:
		return Way{}, c.fault("less than 1500 bytes, want those of one opportunity or more")
	case c.last == 0:
		return Way{}, c.fault("all packets within a millisecond: a round would have no length")
	}
	if c.times[len(c.times)-1] < c.last {
		c.times = append(c.times, c.last)
	}
	return Way{Delivery: &stage.DeliveryConfig{Times: c.times, Size: mahimahiSize}}, nil
}

// Length returns how long a course is: its period, or its last instant.
func (w Way) Length() link.Duration {
	switch {
	case w.Trace != nil && w.Trace.Period > 0:
		return w.Trace.Period
	case w.Trace != nil && len(w.Trace.Steps) > 0:
		return w.Trace.Steps[len(w.Trace.Steps)-1].At
	case w.Delivery != nil && len(w.Delivery.Times) > 0:
		return link.Duration(w.Delivery.Times[len(w.Delivery.Times)-1]) * link.Millisecond
	case w.Train != nil && len(w.Train.Lines) > 0:
		return w.Train.Lines[len(w.Train.Lines)-1].At
	}
	return 0
}
