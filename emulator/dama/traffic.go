package dama

import (
	"math"

	"farlink/emulator/link"
)

// Background is a group of simulated terminals that share the carrier with
// the real ones. They have a queue of bytes, not of packets.
type Background struct {
	Count   int           `toml:"count"`
	Traffic string        `toml:"traffic"`           // "cbr" (default), "on_off", "poisson", "self_similar", "replay"
	Rate    link.Rate     `toml:"rate,omitempty"`    // mean of IP bytes; while on, for on_off and self_similar
	On      link.Duration `toml:"on,omitempty"`      // mean length of a burst, default 1s
	Off     link.Duration `toml:"off,omitempty"`     // mean length of a pause, default 1s
	Shape   float64       `toml:"shape,omitempty"`   // self_similar: Pareto shape 1 < a < 2, default 1.4; H = (3-a)/2
	Packet  int           `toml:"packet,omitempty"`  // bytes of an IP packet, default 576
	Replay  []link.Rate   `toml:"replay,omitempty"`  // the rates of replay, one per step, over and over
	Step    link.Duration `toml:"step,omitempty"`    // of replay, default 1s
	Station StationConfig `toml:"station,omitempty"` // how they ask; default as the carrier's station
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

// source is the traffic of one background terminal. Its draws are numbered
// by terminal and superframe, so that it is the same whatever else happens.
type source struct {
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

// newSource prepares the traffic of the group for superframes of length f;
// cost is what a packet takes of burst payload.
func newSource(b *Background, f link.Duration, cost int64) source {
	s := source{cost: cost, packet: int64(b.Packet), shape: b.Shape}
	for i, name := range kinds {
		if b.Traffic == name {
			s.kind = kind(i)
		}
	}
	// IP bytes become burst payload by the overhead of the packet size.
	perFrame := func(r link.Rate) int64 {
		return muldiv(muldiv(int64(r), int64(f)<<13, 1e9), cost, s.packet)
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

// arrive returns the bytes of burst payload that come in superframe n.
func (s *source) arrive(d link.Draw, id int, n uint64) int64 {
	if !s.begun {
		// As if it had gone on for long: on with its share of the time.
		s.begun, s.turn = true, n
		s.on = d.Chance(index(id, n, 1), s.length[1]/(s.length[0]+s.length[1]))
		if s.kind == selfSimilar {
			s.on = !s.on // toggled at once, for its length
		}
	}
	switch s.kind {
	case poissonian:
		return int64(poisson(d.Float(index(id, n, 0)), s.packets)) * s.cost
	case onOff:
		p := s.begin
		if s.on {
			p = s.quit
		}
		if d.Chance(index(id, n, 0), p) {
			s.on = !s.on
		}
		if !s.on {
			return 0
		}
	case selfSimilar:
		if n >= s.turn {
			s.toggle(d.Float(index(id, n, 0)), n)
		}
		if !s.on {
			return 0
		}
	case replayed:
		return s.flow(s.steps[n/s.stay%uint64(len(s.steps))])
	}
	return s.flow(s.mean)
}

// flow returns the whole bytes of a fluid.
func (s *source) flow(mean int64) int64 {
	s.rest += mean
	bytes := s.rest >> 16
	s.rest &= 1<<16 - 1
	return bytes
}

// toggle begins a burst or a pause of Pareto length. Many such sources make
// self-similar traffic (Willinger et al., 1997).
func (s *source) toggle(u float64, n uint64) {
	s.on = !s.on
	mean := s.length[0]
	if s.on {
		mean = s.length[1]
	}
	least := mean * (s.shape - 1) / s.shape
	length := least * math.Pow(1-u, -1/s.shape)
	s.turn = n + uint64(max(1, min(length+0.5, 1e9)))
}

// poisson is the quantile u of the Poisson distribution; beyond a mean of 30
// by the normal approximation.
func poisson(u, mean float64) int {
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
