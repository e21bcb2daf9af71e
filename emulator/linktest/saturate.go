package linktest

import "farlink/emulator/link"

// Saturate offers packets of size bytes at twice the rate for a time and
// returns what came out in it, in bit/s.
func Saturate(s link.Stage, rate link.Rate, size uint16, d link.Duration) float64 {
	sink := &rateSink{from: link.Time(d) / 10, until: link.Time(d)}
	gap := rate.Time(int(size)) / 2
	p := link.Packet{Body: link.Body{Size: size}}
	for ; p.When < link.Time(d); p.When += link.Time(gap) {
		s.Put(p, sink)
		s.Run(p.When, sink)
		p.Seq++
	}
	return sink.bits / sink.span().Seconds()
}

// rateSink counts bits delivered between two instants, from the first packet
// after one to the last before the other.
type rateSink struct {
	Counter
	from, until, first, last link.Time
	bits                     float64
}

func (s *rateSink) Deliver(p link.Packet) {
	if p.When < s.from || p.When > s.until {
		return
	}
	if s.first == 0 {
		s.first, s.last = p.When, p.When
		return
	}
	s.last = p.When
	s.bits += float64(p.Size) * 8
}

func (s *rateSink) span() link.Duration { return s.last.Sub(s.first) }
