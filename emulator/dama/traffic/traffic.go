// Package traffic is what simulated terminals send: bytes that come in each
// superframe, at a constant rate, in bursts, as Poisson packets, self-similar,
// or along a list of rates.
//
//	on_off, self_similar   ▁▁▁███▁▁▁▁▁█▁▁██████▁▁   pauses and bursts
//
// Units: bit/s of IP, bytes of burst payload, superframes.
package traffic

import (
	"math"

	"farlink/emulator/link"
)

// Model is the traffic of a terminal; each model takes what it needs.
type Model struct {
	Kind    string        // one of Kinds
	Rate    link.Rate     // mean of IP bytes; while on, for on_off and self_similar
	On, Off link.Duration // mean length of a burst, and of a pause
	Shape   float64       // self_similar: Pareto shape, more than 1
	Packet  int           // bytes of an IP packet
	Replay  []link.Rate   // the rates of replay, one per step, over and over
	Step    link.Duration
}

// kind is a traffic model.
type kind uint8

const (
	cbr kind = iota
	onOff
	poissonian
	selfSimilar
	replayed
)

var kinds = [...]string{"cbr", "on_off", "poisson", "self_similar", "replay"}

// Kinds lists the models by name.
func Kinds() []string { return kinds[:] }

// Source is the traffic of one terminal. Its draws are numbered by terminal and
// superframe, so that it is the same whatever else happens.
type Source struct {
	kind    kind
	begun   bool
	on      bool
	mean    int64   // bytes a superframe, 16 fractional bits
	rest    int64   // the fraction not yet arrived
	cost    int64   // bytes of burst payload per packet
	packet  int64   // bytes of IP
	packets float64 // mean a superframe
	turn    uint64  // superframe of the next change, self_similar
	quit    float64 // probability to change, on and off (on_off)
	begin   float64
	shape   float64
	length  [2]float64 // mean pause and burst, superframes
	steps   []int64    // replay: like mean
	stay    uint64     // superframes a step
}

// New prepares the traffic of a terminal for superframes of length f;
// cost is what a packet takes of burst payload.
func New(b Model, f link.Duration, cost int64) Source {
	s := Source{cost: cost, packet: int64(b.Packet), shape: b.Shape}
	for i, name := range kinds {
		if b.Kind == name {
			s.kind = kind(i)
		}
	}
	// IP bytes become burst payload by the overhead of the packet size.
	perFrame := func(r link.Rate) int64 {
		return link.Ratio(uint64(link.Ratio(uint64(r), uint64(f)<<13, 1e9)), uint64(cost), uint64(s.packet))
	}
	s.mean = perFrame(b.Rate)
	s.packets = float64(s.mean) / (1 << 16) / float64(cost)
	s.length = [2]float64{frames(b.Off, f), frames(b.On, f)}
	s.begin, s.quit = 1/s.length[0], 1/s.length[1]
	for _, r := range b.Replay {
		s.steps = append(s.steps, perFrame(r))
	}
	s.stay = uint64(max(1, frames(b.Step, f)))
	return s
}

// frames returns d in superframes, at least one.
func frames(d, superframe link.Duration) float64 {
	return max(1, float64(d)/float64(superframe))
}

// Arrive returns the bytes of burst payload that come in superframe n. Its draws
// are number at of d and, with bit 40 turned, another.
func (s *Source) Arrive(d link.Draw, at, n uint64) int64 {
	if !s.begun {
		// As if it had gone on for long: on with its share of the time.
		s.begun, s.turn = true, n
		s.on = d.Chance(at^1<<40, s.length[1]/(s.length[0]+s.length[1]))
		if s.kind == selfSimilar {
			s.on = !s.on // toggled at once, for its length
		}
	}
	switch s.kind {
	case poissonian:
		return int64(Poisson(d.Float(at), s.packets)) * s.cost
	case onOff:
		p := s.begin
		if s.on {
			p = s.quit
		}
		if d.Chance(at, p) {
			s.on = !s.on
		}
		if !s.on {
			return 0
		}
	case selfSimilar:
		if n >= s.turn {
			s.toggle(d.Float(at), n)
		}
		if !s.on {
			return 0
		}
	case replayed:
		return s.flow(s.steps[n/s.stay%uint64(len(s.steps))])
	}
	return s.flow(s.mean)
}

// Inherit goes on where the source was that stood in this place.
func (s *Source) Inherit(was *Source) {
	s.begun, s.on, s.turn, s.rest = was.begun, was.on, was.turn, was.rest
}

// flow returns the whole bytes of a fluid.
func (s *Source) flow(mean int64) int64 {
	s.rest += mean
	bytes := s.rest >> 16
	s.rest &= 1<<16 - 1
	return bytes
}

// toggle begins a burst or a pause of Pareto length. Many such sources make
// self-similar traffic (Willinger et al., 1997).
func (s *Source) toggle(u float64, n uint64) {
	s.on = !s.on
	mean := s.length[0]
	if s.on {
		mean = s.length[1]
	}
	least := mean * (s.shape - 1) / s.shape
	length := least * math.Pow(1-u, -1/s.shape)
	s.turn = n + uint64(max(1, min(length+0.5, 1e9)))
}

// Poisson is the quantile u of the Poisson distribution; beyond a mean of 30
// by the normal approximation.
func Poisson(u, mean float64) int {
	if mean > 30 {
		z := link.Quantile(min(max(u, 1e-12), 1-1e-12))
		return int(max(0, math.Round(mean+z*math.Sqrt(mean))))
	}
	p := math.Exp(-mean)
	k, sum := 0, p
	for u > sum && k < 200 {
		k++
		p *= mean / float64(k)
		sum += p
	}
	return k
}
