package sim

import "farlink/emulator/link"

// Constant sends frames of one size at a constant rate.
type Constant struct {
	Name  string
	Way   link.Way
	Size  int       // bytes of a frame
	Rate  link.Rate // bits per second of frames
	Start link.Time
	Stop  link.Time // 0 is "never"

	sent int64
}

// Flow names the sender.
func (c *Constant) Flow() Flow { return Flow{Name: c.Name, DevicePort: 40001, NetworkPort: 5201} }

// Wake sends a frame. Frame n goes out n sizes of time after the first, so
// that rounding does not add up.
func (c *Constant) Wake(n *Net) {
	at := c.Start.Add(spread(c.sent, c.Size, c.Rate))
	if n.Now >= at && !stopped(n.Now, c.Stop) {
		n.Send(c.Way, c.Size, Note{})
		c.sent++
		at = c.Start.Add(spread(c.sent, c.Size, c.Rate))
	}
	if !stopped(at, c.Stop) {
		n.At(at)
	}
}

// Met does nothing.
func (c *Constant) Met(*Net, Sent, link.Fate) {}

// spread returns how long n frames take at a rate: n·size·8 s / rate, without
// overflow for centuries of frames.
func spread(n int64, size int, rate link.Rate) link.Duration {
	bits := int64(size) * 8
	whole, rest := n*bits/int64(rate), n*bits%int64(rate)
	return link.Duration(whole)*link.Second + link.Duration(float64(rest)*1e9/float64(rate))
}

func stopped(now, stop link.Time) bool { return stop != 0 && now >= stop }

// Poisson sends frames of one size with exponential gaps.
type Poisson struct {
	Name  string
	Way   link.Way
	Size  int
	Rate  link.Rate // mean
	Draw  link.Draw
	Start link.Time
	Stop  link.Time // 0 is "never"

	sent uint64
	next link.Time
}

// Flow names the sender.
func (s *Poisson) Flow() Flow { return Flow{Name: s.Name, DevicePort: 40002, NetworkPort: 5202} }

// Wake sends a frame and draws the next gap.
func (s *Poisson) Wake(n *Net) {
	if s.sent == 0 {
		s.next = s.Start.Add(s.gap())
	} else if n.Now >= s.next {
		n.Send(s.Way, s.Size, Note{})
		s.next = s.next.Add(s.gap())
	}
	if !stopped(s.next, s.Stop) {
		n.At(s.next)
	}
}

func (s *Poisson) gap() link.Duration {
	s.sent++
	return link.Duration(s.Draw.Exponential(s.sent) * float64(s.Rate.Time(s.Size)))
}

// Met does nothing.
func (s *Poisson) Met(*Net, Sent, link.Fate) {}

// Burst sends trains of frames back to back.
type Burst struct {
	Name  string
	Way   link.Way
	Size  int
	Count int           // frames in a burst
	Every link.Duration // from one burst to the next; 0 is "only once"
	Start link.Time
	Stop  link.Time // 0 is "never"

	next  link.Time
	going bool
}

// Flow names the sender.
func (b *Burst) Flow() Flow { return Flow{Name: b.Name, DevicePort: 40003, NetworkPort: 5203} }

// Wake sends a burst.
func (b *Burst) Wake(n *Net) {
	if !b.going {
		b.going, b.next = true, b.Start
	}
	if n.Now >= b.next {
		for range b.Count {
			n.Send(b.Way, b.Size, Note{})
		}
		if b.Every == 0 {
			return
		}
		b.next = b.next.Add(b.Every)
	}
	if !stopped(b.next, b.Stop) {
		n.At(b.next)
	}
}

// Met does nothing.
func (b *Burst) Met(*Net, Sent, link.Fate) {}

// Ping sends requests and answers them from the other side, as ping does: it
// measures round trips through both ways.
type Ping struct {
	Name  string
	From  link.Way // way of the requests; replies take the other
	Size  int      // of request and reply; 98 is ping's default frame
	Every link.Duration
	Start link.Time
	Stop  link.Time // 0 is "never"

	next  link.Time
	going bool
}

// Kinds of a Ping's packets.
const (
	request = iota
	reply
)

// Flow names the sender.
func (p *Ping) Flow() Flow { return Flow{Name: p.Name, DevicePort: 40004, NetworkPort: 7} }

// Wake sends a request.
func (p *Ping) Wake(n *Net) {
	if !p.going {
		p.going, p.next = true, p.Start
	}
	if n.Now >= p.next && !stopped(n.Now, p.Stop) {
		n.Send(p.From, p.Size, Note{Kind: request, Echo: n.Now})
		p.next = p.next.Add(p.Every)
	}
	if !stopped(p.next, p.Stop) {
		n.At(p.next)
	}
}

// Met answers a request, and takes the round trip from a reply.
func (p *Ping) Met(n *Net, s Sent, f link.Fate) {
	switch {
	case f.Lost() || f.Packet.Mark&link.Duplicate != 0:
	case s.Note.Kind == request:
		n.Send(s.Way.Other(), p.Size, Note{Kind: reply, Echo: s.Note.Echo})
	default:
		n.RTT(f.Packet.When.Sub(s.Note.Echo))
	}
}
