package trace

import (
	"errors"
	"fmt"
	"io"

	"farlink/emulator/link"
	"farlink/emulator/opportunity"
	"farlink/emulator/pcap"
	"farlink/emulator/trace/lines"
)

// Capture reads a capture of packets that left a saturated link as the
// opportunities that it had. It fits only where the link never waited for
// packets.
// Packets go by their time stamps, which must not decrease; only those of the
// interface named are read, all if it is "".
func Capture(f lines.File, interfaceName string) (Way, error) {
	r, err := pcap.NewReader(f)
	if err != nil {
		return Way{}, &lines.Error{File: f.Name, Text: err.Error()}
	}
	c := captured{file: f.Name}
	for n := 0; ; n++ {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Way{}, &lines.Error{File: f.Name, Text: err.Error()}
		}
		face := r.Interfaces()[p.Interface]
		if interfaceName != "" && face.Name != interfaceName {
			continue
		}
		if err := c.take(n, p, face.LinkType); err != nil {
			return Way{}, err
		}
	}
	w, err := c.served.Way()
	if err != nil {
		err = &lines.Error{File: f.Name, Text: err.Error()}
	}
	return w, err
}

// captured is a capture being turned into opportunities.
type captured struct {
	file   string
	begin  int64 // ns
	seen   bool
	served Served
}

func (c *captured) take(n int, p pcap.Packet, linkType uint16) error {
	if p.Time == pcap.NoTime {
		return c.fault("packet %d has no time stamp", n)
	}
	if !c.seen {
		c.seen, c.begin = true, p.Time
	}
	at := p.Time - c.begin
	if at > lines.MaxSeconds*1e9 {
		return c.fault("packet %d comes more than a year after the first", n)
	}
	if err := c.served.Add(link.Time(at), ipLength(p.Length, linkType)); err != nil {
		return c.fault("packet %d: %v", n, err)
	}
	return nil
}

func (c *captured) fault(format string, args ...any) error {
	return (&lines.Reader{Name: c.file}).Whole(format, args...)
}

// Served turns what a saturated link let through into the opportunities that
// it had: whenever 1500 bytes of IP have come together there was one.
type Served struct {
	last   int64 // ms
	credit int
	times  []int64
}

// Add notes bytes of IP that left at an instant, not before the last.
func (s *Served) Add(at link.Time, size int) error {
	ms := int64(at / link.Time(link.Millisecond))
	if at < 0 || ms < s.last {
		return errors.New("left before what left before it: not monotonic")
	}
	s.last = ms
	for s.credit += size; s.credit >= mahimahiSize; s.credit -= mahimahiSize {
		if len(s.times) == lines.Most {
			return fmt.Errorf("more than %d opportunities", lines.Most)
		}
		s.times = append(s.times, ms)
	}
	return nil
}

// Way returns the opportunities; the last instant is the length of a round.
func (s *Served) Way() (Way, error) {
	switch {
	case len(s.times) == 0:
		return Way{}, errors.New("less than 1500 bytes, want those of one opportunity or more")
	case s.last == 0:
		return Way{}, errors.New("all packets within a millisecond: a round would have no length")
	}
	times := s.times
	if times[len(times)-1] < s.last {
		times = append(times, s.last)
	}
	return Way{Delivery: &opportunity.DeliveryConfig{Times: times, Size: mahimahiSize}}, nil
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
