package sim

import "farlink/emulator/link"

// server is a queue of limit packets before a fixed rate: enough to check
// this package against arithmetic.
type server struct {
	rate  link.Rate
	limit int
	q     link.FIFO
	done  link.Time // of the front packet
}

func (s *server) Put(p link.Packet, out link.Sink) {
	s.Run(p.When, out)
	if s.q.Len() >= s.limit {
		out.Lose(p, link.Cause{Reason: link.QueueFull})
		return
	}
	if s.q.Len() == 0 {
		s.done = p.When.Add(s.rate.Time(int(p.Size)))
	}
	s.q.Push(p)
}
func (s *server) Next() link.Time {
	if s.q.Len() == 0 {
		return link.Never
	}
	return s.done
}
func (s *server) Run(now link.Time, out link.Sink) {
	for s.q.Len() > 0 && s.done <= now {
		p := s.q.Pop()
		p.When = s.done
		if s.q.Len() > 0 {
			s.done = s.done.Add(s.rate.Time(int(s.q.Front().Size)))
		}
		out.Deliver(p)
	}
}
func (s *server) Held() (int, int)             { return s.q.Len(), s.q.Bytes() }
func (s *server) Drain(func(link.Packet))      {}
func (s *server) Adopt(link.Time, link.Packet) {}
func (s *server) Probes(_ link.Time, yield func(link.Probe)) {
	yield(link.Probe{Name: "queue_bytes", Value: float64(s.q.Bytes())})
}

// wait is a constant delay.
type wait struct {
	delay link.Duration
	q     link.FIFO
}

func (d *wait) Put(p link.Packet, out link.Sink) {
	d.Run(p.When, out)
	p.When = p.When.Add(d.delay)
	d.q.Push(p)
}
func (d *wait) Next() link.Time {
	if d.q.Len() == 0 {
		return link.Never
	}
	return d.q.Front().When
}
func (d *wait) Run(now link.Time, out link.Sink) {
	for d.q.Len() > 0 && d.q.Front().When <= now {
		out.Deliver(d.q.Pop())
	}
}
func (d *wait) Held() (int, int)             { return d.q.Len(), d.q.Bytes() }
func (d *wait) Drain(func(link.Packet))      {}
func (d *wait) Adopt(link.Time, link.Packet) {}

// air loses, doubles or corrupts by chance.
type air struct {
	lose, double, corrupt float64
	draw                  link.Draw
}

func (a air) Put(p link.Packet, out link.Sink) {
	if a.draw.Sub("lose").Chance(p.Seq, a.lose) {
		out.Lose(p, link.Cause{Reason: link.Random})
		return
	}
	if a.draw.Sub("corrupt").Chance(p.Seq, a.corrupt) {
		p.Mark |= link.Corrupted
	}
	out.Deliver(p)
	if a.draw.Sub("double").Chance(p.Seq, a.double) {
		out.Copy(p)
		p.Mark |= link.Duplicate
		out.Deliver(p)
	}
}
func (a air) Next() link.Time          { return link.Never }
func (a air) Run(link.Time, link.Sink) {}

// way is what a test link does on one way.
type way struct {
	rate  link.Rate
	limit int
	air   air
	delay link.Duration
}

func newPair(down, up way) *Channel {
	p := &Channel{}
	for i, c := range [2]way{down, up} {
		var stages []link.Stage
		if c.rate > 0 {
			stages = append(stages, &server{rate: c.rate, limit: c.limit})
			p.Names[i] = append(p.Names[i], "queue")
		}
		stages = append(stages, c.air, &wait{delay: c.delay})
		p.Names[i] = append(p.Names[i], "air", "path")
		p.Ways[i] = link.NewChain(stages...)
	}
	return p
}
