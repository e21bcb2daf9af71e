package sim

import "farlink/emulator/link"

// Greedy keeps a link saturated without knowing its rate: it offers twice
// what the link has lately served until the queue overflows, then half as
// much again, so that the queue stays full but a slow link is not flooded
// with frames that are only dropped.
//
// Served is what got through or was lost for another reason than a queue's
// limit; so losses on the air do not make it slow down.
type Greedy struct {
	Name string
	Way  link.Way
	Size int       // bytes of a frame
	Max  link.Rate // most it offers; 0 is 1 Gbit/s

	rate   link.Rate
	served int64 // bits in the running interval
	full   bool  // the queue overflowed in it
	quiet  int   // intervals in a row without anything served
	turn   link.Time
}

const (
	// greedyInterval is how often the offered rate follows the served one.
	greedyInterval = 100 * link.Millisecond
	// greedyFirst is offered until something has been served.
	greedyFirst = 10 * link.MegabitPerSecond
	// greedyFloor is the least it offers, 20 frames a second of 1,514
	// bytes, so that it comes back after an outage.
	greedyFloor = 256 * link.KilobitPerSecond
	// greedyPatience is after how many silent intervals it takes the link
	// for down: 2 s, longer than a round trip over a double satellite hop.
	greedyPatience = 20
)

// Flow names the sender.
func (g *Greedy) Flow() Flow { return Flow{Name: g.Name, DevicePort: 40005, NetworkPort: 5205} }

// Wake sends a frame and, once an interval, adapts the rate.
func (g *Greedy) Wake(n *Net) {
	if g.rate == 0 {
		g.rate = greedyFirst
		g.turn = link.Time(greedyInterval)
		if g.Max == 0 {
			g.Max = link.GigabitPerSecond
		}
	}
	if n.Now >= g.turn {
		g.adapt()
		g.turn = g.turn.Add(greedyInterval)
	}
	n.Send(g.Way, g.Size, Note{})
	n.At(n.Now.Add(g.rate.Time(g.Size)))
}

// adapt sets the rate for the interval to come.
func (g *Greedy) adapt() {
	served, full := link.Rate(float64(g.served)/greedyInterval.Seconds()), g.full
	g.served, g.full = 0, false
	switch {
	case served == 0:
		if g.quiet++; g.quiet > greedyPatience {
			g.rate = greedyFloor
		}
		return
	case full:
		served += served / 2
	default:
		served *= 2
	}
	g.quiet = 0
	g.rate = min(max(served, greedyFloor), g.Max)
}

// Met counts what was served.
func (g *Greedy) Met(_ *Net, _ Sent, f link.Fate) {
	switch f.Cause.Reason {
	case link.QueueFull, link.HeadDropped, link.EarlyDropped, link.TimedOut:
		g.full = true
	case link.TooBig:
	default:
		g.served += int64(f.Packet.Size) * 8
	}
}
