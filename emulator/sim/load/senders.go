package load

import (
	"farlink/emulator/link"
	"farlink/emulator/sim"
)

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
func (c *Constant) Flow() sim.Flow {
	return sim.Flow{Name: c.Name, DevicePort: 40001, NetworkPort: 5201}
}

// Wake sends a frame. Frame n goes out n sizes of time after the first, so
// that rounding does not add up.
func (c *Constant) Wake(n *sim.Net) {
	at := c.Start.Add(spread(c.sent, c.Size, c.Rate))
	if n.Now >= at && !stopped(n.Now, c.Stop) {
		n.Send(c.Way, c.Size, sim.Note{})
		c.sent++
		at = c.Start.Add(spread(c.sent, c.Size, c.Rate))
	}
	if !stopped(at, c.Stop) {
		n.At(at)
	}
}

// Met does nothing.
func (c *Constant) Met(*sim.Net, sim.Sent, link.Fate) {}

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
func (s *Poisson) Flow() sim.Flow {
	return sim.Flow{Name: s.Name, DevicePort: 40002, NetworkPort: 5202}
}

// Wake sends a frame and draws the next gap.
func (s *Poisson) Wake(n *sim.Net) {
	if s.sent == 0 {
		s.next = s.Start.Add(s.gap())
	} else if n.Now >= s.next {
		n.Send(s.Way, s.Size, sim.Note{})
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
func (s *Poisson) Met(*sim.Net, sim.Sent, link.Fate) {}

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
func (b *Burst) Flow() sim.Flow { return sim.Flow{Name: b.Name, DevicePort: 40003, NetworkPort: 5203} }

// Wake sends a burst.
func (b *Burst) Wake(n *sim.Net) {
	if !b.going {
		b.going, b.next = true, b.Start
	}
	if n.Now >= b.next {
		for range b.Count {
			n.Send(b.Way, b.Size, sim.Note{})
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
func (b *Burst) Met(*sim.Net, sim.Sent, link.Fate) {}
